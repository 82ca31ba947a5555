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
    "if", "#if", "else", ".", "$", "space", "hasvar", "deletevar", "hasglobalvar",
    "deleteglobalvar", "charcreatornotes", "ismobile", "lastgenerationtype",
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
    after = text[macro.start + 2 :]
    if after[:1].isspace():
        return False
    after = after[len(macro.name) :]
    if macro.name in LEGACY_ORDER:
        return after.startswith("::")
    return macro.name not in ("user", "char", "newline") or after.startswith("}}")
