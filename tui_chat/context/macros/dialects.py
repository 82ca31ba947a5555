"""What SillyTavern's two macro engines take for a macro: the present one (`takes`), and the old one
(`is_legacy`), with the order in which that one expands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.context.macros.syntax import Macro

# fmt: off
_ONE = (
    *("//", "comment", "reverse", "roll", "banned", "outlet", "datetimeformat", "hasextension"),
    *(f"{verb}{scope}var" for verb in ("inc", "dec", "get", "has", "delete", "flush")
      for scope in ("", "global")),
    *("varexists", "globalvarexists"),
)
_TWO = (
    *("if", "timediff", "setvar", "addvar", "setglobalvar", "addglobalvar"),
    *(f"get{scope}var{key}" for scope in ("", "global") for key in ("key", "index")),
)
_THREE = tuple(f"set{scope}var{key}" for scope in ("", "global") for key in ("key", "index"))
_NONE_OR_ONE = ("trim", "space", "newline", "time", "greeting", "charfirstmessage")
# fmt: on
ARGUMENTS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(_NONE_OR_ONE, (0, 1)),
    **dict.fromkeys(_ONE, (1, 1)),
    **dict.fromkeys(_TWO, (2, 2)),
    **dict.fromkeys(_THREE, (3, 3)),
}
"""How many arguments macros of SillyTavern take, at least and at most; others take none."""
LISTS = frozenset(("random", "pick"))
"""Macros that take any number of arguments, but nothing between them and an end."""


def takes(name: str, arguments: int) -> bool:
    """True if SillyTavern expands a macro with so many arguments."""
    least, most = ARGUMENTS.get(name, (0, 0))
    return name in LISTS or name in (".", "$") or least <= arguments <= most


def opens(name: str, arguments: int) -> bool:
    """True if a macro with so many arguments may have an end in SillyTavern."""
    least, most = ARGUMENTS.get(name, (0, 0))
    return least <= arguments + 1 <= most


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
    if macro.name == "datetimeformat":
        return after[:1].isspace()
    if macro.name == "banned":
        return after.startswith(' "')
    if macro.name in ("reverse", "outlet"):
        return after.startswith(_SEPARATORS[macro.name])
    return macro.name in _WITH_ARGUMENTS or after.startswith(("}}", "_"))


_SEPARATORS = {"reverse": ":", "outlet": "::"}
_WITH_ARGUMENTS = ("random", "pick", "roll", "timediff")


def one_argument(text: str, macro: Macro, arguments: list[str]) -> list[str]:
    """Return the only argument of a macro whose name ends at one colon in the old engine."""
    after = text[macro.start + 2 + len(macro.name) :]
    return [":" * after.startswith("::") + "::".join(arguments)]
