"""The macros that take arguments or have effects, each a function of its call, and a line of help
for every macro.

To add one: write a function from `MacroCall` to the text that replaces it, which raises
`NotExpanded` for arguments it cannot use, and add it to `MACROS`, `MAX_ARGUMENTS` and `MACRO_HELP`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tui_chat.context.macros.environment import CHANCE, LASTING_CHANCE
from tui_chat.context.macros.syntax import Macro, parse
from tui_chat.models.envelope import Level

MAX_DICE = 100


class NotExpanded(Exception):
    """A macro is not expanded; the message says why."""


class ExpansionContext(Protocol):
    """What the macros of a text can read and change."""

    def read(self, word: str) -> str | None:
        """Return the value of a word of the environment."""
        ...

    def draw(self, chance: str, macro: Macro, *more: object) -> int:
        """Draw a large number for a macro of this text."""
        ...

    def value(self, name: str) -> str | None:
        """Return a variable's value, expanded; None if it is not set."""
        ...

    def set(self, name: str, value: str) -> None:
        """Set a variable."""
        ...

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro."""
        ...

    def profile(self) -> str:
        """Return the profile's text, its own macros expanded."""
        ...


@dataclass(slots=True)
class MacroCall:
    """A macro with its arguments expanded."""

    text: ExpansionContext
    macro: Macro
    arguments: list[str]

    def argument(self, index: int) -> str:
        """Return an argument. Raises NotExpanded if it is missing."""
        if index >= len(self.arguments):
            raise NotExpanded("lacks an argument")
        return self.arguments[index]

    def draw(self, chance: str, below: int, *more: object) -> int:
        """Draw a number from 0 up to, but not including, `below`."""
        return self.text.draw(chance, self.macro, *more) % below


def _choices(call: MacroCall) -> list[str]:
    """Return the choices: the arguments, or a single argument split at its commas."""
    if len(call.arguments) == 1:
        return _split(call.arguments[0])
    return call.arguments or [call.argument(0)]


_COMMA = re.compile(r"(?<!\\),")


def _split(text: str) -> list[str]:
    """Split a list at its commas. A macro that was not expanded is not split."""
    if "," not in text:
        return [text.strip()]
    items: list[list[str]] = [[]]
    at = 0
    stayed = [(node.start, node.stop) for node in parse(text) if isinstance(node, Macro)]
    for start, stop in (*stayed, (len(text), len(text))):
        first, *more = (part.replace("\\,", ",") for part in _COMMA.split(text[at:start]))
        items[-1].append(first)
        items += [[part] for part in more]
        items[-1].append(text[start:stop])
        at = stop
    return ["".join(item).strip() for item in items]


def _random(call: MacroCall) -> str:
    choices = _choices(call)
    return choices[call.draw(CHANCE, len(choices))]


def _pick(call: MacroCall) -> str:
    choices = _choices(call)
    return choices[call.draw(LASTING_CHANCE, len(choices))]


_DICE = re.compile(r"\s*(\d{0,4})\s*[dD]\s*(\d{1,9})\s*([+-]\s*\d{1,9})?\s*\Z", re.ASCII)


def _roll(call: MacroCall) -> str:
    written = call.argument(0).strip()
    found = _DICE.match(f"d{written}" if written.isdecimal() and written.isascii() else written)
    if found is None:
        raise NotExpanded("is not a dice roll such as 2d6 or d20+1")
    dice, faces = int(found[1] or 1), int(found[2])
    if not 1 <= dice <= MAX_DICE or not faces:
        raise NotExpanded(f"takes 1 to {MAX_DICE:,} dice of at least one face")
    total = sum(call.draw(CHANCE, faces, die) + 1 for die in range(dice))
    return str(total + int((found[3] or "0").replace(" ", "")))


def _setvar(call: MacroCall) -> str:
    """Set a variable. A value may contain `::`: only the first one ends the name."""
    name = call.argument(0).strip()
    call.argument(1)
    if not name:
        raise NotExpanded("does not name a variable")
    call.text.set(name, "::".join(call.arguments[1:]))
    return ""


def _getvar(call: MacroCall) -> str:
    value = call.text.value(call.argument(0).strip())
    if value is None:
        what = "reads a variable that is not set; it expands to nothing."
        call.text.tell(Level.INFO, "unset-variable", call.macro, what)
    return value or ""


def _repeated(character: str) -> Callable[[MacroCall], str]:
    def repeat(call: MacroCall) -> str:
        times = call.arguments[0].strip() if call.arguments else "1"
        if not (times.isdecimal() and times.isascii() and len(times) <= 4):
            raise NotExpanded("takes a number up to 9999")
        return character * int(times)

    return repeat


MACROS: Mapping[str, Callable[[MacroCall], str]] = {
    "random": _random,
    "pick": _pick,
    "roll": _roll,
    "setvar": _setvar,
    "getvar": _getvar,
    "persona": lambda call: call.text.profile(),
    "newline": _repeated("\n"),
    "space": _repeated(" "),
    "noop": lambda _: "",
}
"""By name, in lower case."""
MAX_ARGUMENTS: Mapping[str, int] = {
    "roll": 1,
    "getvar": 1,
    "persona": 0,
    "newline": 1,
    "space": 1,
    "noop": 0,
    "trim": 0,
}
"""Maximum number of arguments; a call with more is not expanded, so that no text is lost."""


@dataclass(frozen=True, slots=True)
class MacroHelp:
    """A macro offered for completion."""

    name: str
    """In lower case."""
    written: str
    """The inserted text, such as `{{random::a::b}}`."""
    words: str


MACRO_HELP = (
    MacroHelp("user", "{{user}}", "the profile's name"),
    MacroHelp("char", "{{char}}", "the role's name"),
    MacroHelp("persona", "{{persona}}", "the profile's text"),
    MacroHelp("preset", "{{preset}}", "the preset's name"),
    MacroHelp("model", "{{model}}", "the selected model"),
    MacroHelp("date", "{{date}}", "the day, as 2025-06-30"),
    MacroHelp("time", "{{time}}", "the time, as 18:05"),
    MacroHelp("weekday", "{{weekday}}", "the day of the week"),
    MacroHelp("lastmessage", "{{lastMessage}}", "the newest message or the draft"),
    MacroHelp("lastusermessage", "{{lastUserMessage}}", "the user's last message"),
    MacroHelp("lastcharmessage", "{{lastCharMessage}}", "the model's last message"),
    MacroHelp("random", "{{random::a::b}}", "one of them at random, for each request"),
    MacroHelp("pick", "{{pick::a::b}}", "one of them at random, once for a session"),
    MacroHelp("roll", "{{roll::2d6}}", "a dice roll"),
    MacroHelp("setvar", "{{setvar::name::value}}", "sets a variable; expands to nothing"),
    MacroHelp("getvar", "{{getvar::name}}", "a variable's value"),
    MacroHelp("newline", "{{newline}}", "a line break"),
    MacroHelp("space", "{{space}}", "a space"),
    MacroHelp("trim", "{{trim}}", "removes the line breaks around it"),
    MacroHelp("noop", "{{noop}}", "nothing"),
    MacroHelp("//", "{{// comment}}", "nothing: a comment"),
)
"""In the order in which they are offered."""


def complete_macro(typed: str, variables: tuple[str, ...] = ()) -> tuple[MacroHelp, ...]:
    """Return the macros that begin with `typed`, the text after `{{`; variables go last."""
    wanted = typed.casefold()
    own = tuple(
        MacroHelp(name.casefold(), f"{{{{getvar::{name}}}}}", "a variable of this preset")
        for name in variables
    )
    return tuple(macro for macro in (*MACRO_HELP, *own) if macro.name.startswith(wanted))
