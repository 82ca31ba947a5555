"""SillyTavern's two macro engines, the present one and the old one (`legacy`), as dialects.

1. Both take `<user>`, `<bot>`, `<char>` and `<group>` for macros. Lore is none, unless a text
   requires it. The fields of a character card are empty in each other, and set variables before
   the preset does. Fields, lore and what goes into the conversation are expanded twice.
2. In the present engine flags may stand before a name. All but `#` mean nothing. Only a name that
   ends at `::` has several arguments; white space around an argument does not count. A macro takes
   a certain number of arguments; with arguments that it cannot use it is nothing.
3. The old engine has neither escapes nor flags nor ends, and fewer macros, each written in one way.
   It expands the macros about variables kind by kind, then all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tui_chat.context.examples import EXAMPLES
from tui_chat.context.macros.dialect import CORE_DIALECT, MacroDialect, MacroFunction
from tui_chat.context.macros.environment import (
    CHANCE,
    LASTING_CHANCE,
    VARIABLE,
    MacroEnvironment,
)
from tui_chat.context.macros.expander import expand_stored
from tui_chat.context.macros.functions import (
    MACROS,
    MacroCall,
    UnknownMacro,
    argument_fault,
    choices,
    choose,
    moment,
)
from tui_chat.context.macros.syntax import (
    COMMENT,
    Literal,
    Macro,
    MacroSyntax,
    Node,
    split_arguments,
)
from tui_chat.context.macros.times import time_at
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.plugins.sillytavern.context.macro_words import FURTHER_WORDS, MAIN_PROMPT, WORDS

# fmt: off
_EXTENSIONS = frozenset((
    "assets", "attachments", "caption", "connection-manager", "expressions", "gallery", "memory",
    "quick-reply", "regex", "stable-diffusion", "token-counter", "translate", "tts", "vectors",
))
# fmt: on
"""The extensions that SillyTavern has when it is installed."""


def has_extension(call: MacroCall) -> str:
    """Return “true” for the name of such an extension, else “false”."""
    return str(call.argument(0).strip().lower() in _EXTENSIONS).lower()


# --- both engines ------------------------------------------------------------------------------

_BARE = re.compile("<(user|bot|char|group|charifnotgroup)>", re.IGNORECASE)


def _is_expanded_twice(line: ResolvedMessage) -> bool:
    message = line.message
    in_chat = message.insertion_point is not None or (
        message.anchor_target == CHAT_HISTORY and message.anchor_point == "after"
    )
    is_field = line.is_card and message.id != EXAMPLES
    return in_chat or is_field or bool(message.requires)


_BOTH = replace(
    CORE_DIALECT,
    words=WORDS,
    further_words=FURTHER_WORDS,
    has_lore_words=False,
    keeps_blanks=True,
    nested_fields=frozenset(),
    nested_values={"systemprompt": MAIN_PROMPT},
    is_expanded_twice=_is_expanded_twice,
)

_CARD_FIELDS = (
    *("charprompt", "mesexamplesraw", "description", "personality", "scenario"),
    *("charinstruction", "chardepthprompt", "charcreatornotes", "charfirstmessage"),
)
"""The fields of a card that are expanded before the preset's messages, in this order."""
_SETS = re.compile(r"\{\{[#\s]*(?:set(?:global)?var|[.$])", re.IGNORECASE)


def set_variables_of_card(environment: MacroEnvironment) -> None:
    """Set what the fields of the character card set."""
    for field in _CARD_FIELDS:
        value = environment.read(VARIABLE + field) or ""
        if _SETS.search(value):
            expand_stored(f"{{{{{field}}}}}", environment)


# --- the present engine ------------------------------------------------------------------------

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
_ARGUMENTS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(_NONE_OR_ONE, (0, 1)),
    **dict.fromkeys(_ONE, (1, 1)),
    **dict.fromkeys(_TWO, (2, 2)),
    **dict.fromkeys(_THREE, (3, 3)),
}
"""How many arguments macros take, at least and at most; others take none."""
_ANY_NUMBER = ("random", "pick", ".", "$")
"""Macros that take any number of arguments, but nothing between them and an end."""


def _opens(name: str, arguments: int) -> bool:
    """True if a macro with so many arguments may have an end."""
    least, most = _ARGUMENTS.get(name, (0, 0))
    return least <= arguments + 1 <= most


def _fault(macro: Macro, _source: str) -> str:
    """Return why a macro is not expanded; empty if it is."""
    name = macro.name
    is_known = name in MACROS or name in (COMMENT, "if", "outlet", "hasextension")
    if name in _ANY_NUMBER or not is_known:
        return ""
    least, most = _ARGUMENTS.get(name, (0, 0))
    count = len(macro.arguments) + (macro.scope is not None)
    return "" if least <= count <= most else "has too few or too many arguments"


def _trimmed_arguments(
    source: str, nodes: list[Node], separator: str
) -> tuple[tuple[Node, ...], ...]:
    """Return the arguments: several only after `::`, without the white space around each."""
    split = split_arguments(source, nodes, separator) if separator == "::" else (tuple(nodes),)
    arguments = tuple(tuple(_stripped(source, argument)) for argument in split)
    return arguments if separator or any(arguments) else ()


def _stripped(source: str, nodes: Sequence[Node]) -> list[Node]:
    """Return nodes without the literal white space at both ends."""
    found = list(nodes)
    if found and isinstance(first := found[0], Literal):
        text = source[first.start : first.stop]
        found[:1] = _literals(first.stop - len(text.lstrip()), first.stop)
    if found and isinstance(last := found[-1], Literal):
        text = source[last.start : last.stop]
        found[-1:] = _literals(last.start, last.start + len(text.rstrip()))
    return found


def _literals(start: int, stop: int) -> list[Literal]:
    return [Literal(start, stop)] if start < stop else []


_SYNTAX = MacroSyntax(
    tokens=re.compile(
        rf"\\\{{(?!\{{)|\\\}}|\{{\{{(?!\{{)|\}}\}}|{_BARE.pattern}",  # each brace is escaped alone
        re.IGNORECASE,
    ),
    signs=("{{", "\\{", "\\}"),
    bare=_BARE,
    bare_names={"bot": "char"},
    joined_argument=re.compile(r"(time)_(UTC[+-]\d+)", re.IGNORECASE),
    has_flags=True,
    opens=_opens,
    arguments=_trimmed_arguments,
    reads_comments=True,
)


def _choices(call: MacroCall) -> list[str]:
    """Return the choices: one that is empty if there are none."""
    if len(call.arguments) == 1 and "::" in call.arguments[0]:
        return [item.strip() for item in call.arguments[0].split("::")]
    return choices(call) if call.arguments else [""]


def _else(call: MacroCall) -> str:
    if call.arguments:
        raise UnknownMacro("is not a macro or variable")
    return ""


_FUNCTIONS: Mapping[str, MacroFunction] = {
    "else": _else,
    "random": choose(CHANCE, _choices),
    "pick": choose(LASTING_CHANCE, _choices),
    "time": lambda call: time_at(moment(call), call.argument(0)),
}


def _is_never_parsed(name: str, value: str) -> bool:
    """True for the result of a macro that is not parsed again."""
    return name == "authorsnote" or value is MAIN_PROMPT


_PRESENT = replace(
    _BOTH,
    syntax=_SYNTAX,
    functions=_FUNCTIONS,
    fault=_fault,
    reads_numbers=True,
    is_lenient=True,
    empty_conditions=frozenset(("trim", "else", "noop", "random", "pick")),
    stays_whole=frozenset(("if",)),
    is_never_parsed=_is_never_parsed,
    is_profile_nested=True,
)

# --- the old engine ----------------------------------------------------------------------------

# fmt: off
_LEGACY_ORDER = tuple(
    f"{verb}{scope}var" for scope in ("", "global") for verb in ("set", "add", "inc", "dec", "get")
)
# fmt: on
"""The macros about variables in the order in which they are expanded."""

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
"""Macros that the old engine does not have."""
_SEPARATORS = {"reverse": ":", "outlet": "::"}
_WITH_ARGUMENTS = ("random", "pick", "roll", "timediff")


def _is_legacy(macro: Macro, source: str) -> bool:
    """True if the old engine takes a macro as it is written in a text."""
    if macro.name in _NEW:
        return False
    if source[macro.start] == "<":
        return True
    after = source[macro.start + 2 :]
    if after[:1].isspace():
        return False
    after = after[len(macro.name) :]
    if macro.name in _LEGACY_ORDER:
        return after.startswith("::")
    if macro.name == "datetimeformat":
        return after[:1].isspace()
    if macro.name == "banned":
        return after.startswith(' "')
    if macro.name in ("reverse", "outlet"):
        return after.startswith(_SEPARATORS[macro.name])
    return macro.name in _WITH_ARGUMENTS or after.startswith(("}}", "_"))


def _legacy_fault(macro: Macro, source: str) -> str:
    """Return why a macro is not expanded; empty if it is."""
    if macro.name != "reverse" and (fault := argument_fault(macro, source)):
        return fault
    is_trim = macro.name == "trim" and not macro.arguments  # white space may stand before its name
    is_taken = is_trim or _is_legacy(macro, source)
    return "" if is_taken else "is no macro of the legacy engine"


def _argument(call: MacroCall) -> str:
    """Return the only argument of a macro whose name ends at one colon."""
    after = call.written[2 + len(call.macro.name) :]
    return ":" * after.startswith("::") + "::".join(call.arguments or [call.argument(0)])


def _reverse(call: MacroCall) -> str:
    return _argument(call)[::-1]


def _roll(call: MacroCall) -> str:
    dice = _argument(call)
    return "" if dice[:1] == ":" else MACROS["roll"](replace(call, arguments=[dice]))


_LEGACY_SYNTAX = MacroSyntax(
    tokens=re.compile(rf"\{{\{{(?!\{{)|\}}\}}|{_BARE.pattern}", re.IGNORECASE),
    signs=("{{",),
    bare_names={"bot": "char"},
    has_ends=False,
)
_LEGACY_ALONE = replace(
    CORE_DIALECT,
    syntax=_LEGACY_SYNTAX,
    card_words={"charjailbreak": "charinstruction"},
    functions={"reverse": _reverse, "roll": _roll},
    fault=_legacy_fault,
    first=_LEGACY_ORDER,
)
_LEGACY = replace(
    _BOTH,
    syntax=replace(_LEGACY_SYNTAX, bare=_BARE, joined_argument=_SYNTAX.joined_argument),
    card_words=_LEGACY_ALONE.card_words,
    functions=_LEGACY_ALONE.functions,
    fault=_legacy_fault,
    nested_fields=frozenset(("version", "charversion", "char_version")),
    first=_LEGACY_ORDER,
)


def macro_dialect(*, is_whole: bool, is_legacy: bool) -> MacroDialect:
    """Return a preset's dialect: all of SillyTavern's macros, or the core's in the old order."""
    if is_legacy:
        return _LEGACY if is_whole else _LEGACY_ALONE
    return _PRESENT if is_whole else CORE_DIALECT
