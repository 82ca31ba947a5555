"""What SillyTavern's old macro engine takes for a macro, and in which order it expands."""

from __future__ import annotations

from tui_chat.context.macros.syntax import Macro

# fmt: off
LEGACY_ORDER = tuple(
    f"{verb}{scope}var" for scope in ("", "global") for verb in ("set", "add", "inc", "dec", "get")
)
# fmt: on
"""The macros about variables in the order in which SillyTavern's old engine expands them."""

# fmt: off
_NEW = frozenset((
    "if", "else", ".", "$", "space", "hasvar", "deletevar", "hasglobalvar",
    "deleteglobalvar", "charcreatornotes", "ismobile", "lastgenerationtype",
    "varexists", "flushvar", "globalvarexists", "flushglobalvar", "comment",
    "setvarkey", "getvarkey", "setvarindex", "getvarindex", "setglobalvarkey", "getglobalvarkey",
    "setglobalvarindex", "getglobalvarindex",
    "greeting", "charfirstmessage", "chardescription", "charpersonality", "charscenario",
    "authorsnote", "charauthorsnote", "defaultauthorsnote", "hasextension", "version",
    "exampleseparator",
))
# fmt: on
"""Macros that SillyTavern's old engine does not have."""


def is_legacy(macro: Macro, text: str) -> bool:
    """True if the old engine takes a macro as it is written in a text."""
    if macro.scope is not None or macro.name in _NEW:
        return False
    if text[macro.start] == "<":
        return True
    after = text[macro.start + 2 :]
    if after[:1].isspace():
        return False
    after = after[len(macro.name) :]
    if macro.name in LEGACY_ORDER:
        return after.startswith("::")
    if macro.name == "banned":
        return after.startswith(' "')
    return macro.name not in ("user", "char", "newline") or after.startswith("}}")


def one_argument(text: str, macro: Macro, arguments: list[str]) -> list[str]:
    """Return the only argument of a macro whose name ends at one colon in the old engine."""
    after = text[macro.start + 2 + len(macro.name) :]
    return [":" * after.startswith("::") + "::".join(arguments)]
