"""The macros that take arguments, or do more than to be read. Each is a function of its call.

To add one: a function from `Call` to what it becomes, which raises `Stays` where it is given what
it cannot use, and a line in `MACROS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tui_chat.context.macro_syntax import Macro, parse
from tui_chat.context.scene import CHANCE, LASTING_CHANCE
from tui_chat.models.envelope import Level

MOST_DICE = 100


class Stays(Exception):
    """A macro stays as it is; the message says why."""


class Asker(Protocol):
    """The text that is being expanded, as far as its macros may know it."""

    def read(self, word: str) -> str | None:
        """Read a word of the scene."""
        ...

    def draw(self, chance: str, macro: Macro, *more: object) -> int:
        """Return a large number, drawn for a macro of this text."""
        ...

    def value(self, name: str) -> str | None:
        """Return a variable's value, expanded; None where nobody set it."""
        ...

    def set(self, name: str, value: str) -> None:
        """Give a variable a value."""
        ...

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro."""
        ...

    def profile(self) -> str:
        """Return what the profile says, its own macros expanded."""
        ...


@dataclass(slots=True)
class Call:
    """A macro with its arguments expanded."""

    text: Asker
    macro: Macro
    arguments: list[str]

    def argument(self, index: int) -> str:
        """Return an argument; the macro stays where there is none."""
        if index >= len(self.arguments):
            raise Stays("lacks an argument")
        return self.arguments[index]

    def draw(self, chance: str, below: int, *more: object) -> int:
        """Draw a number from 0 to below `below`, this macro's own."""
        return self.text.draw(chance, self.macro, *more) % below


def _choices(call: Call) -> list[str]:
    """Return what to choose from: arguments, or one argument parted at its commas."""
    if len(call.arguments) == 1:
        return _items(call.arguments[0])
    return call.arguments or [call.argument(0)]


_COMMA = re.compile(r"(?<!\\),")


def _items(text: str) -> list[str]:
    """Part a list at its commas. A macro that stayed is not parted, or half of it would be lost."""
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


def _random(call: Call) -> str:
    choices = _choices(call)
    return choices[call.draw(CHANCE, len(choices))]


def _pick(call: Call) -> str:
    choices = _choices(call)
    return choices[call.draw(LASTING_CHANCE, len(choices))]


_DICE = re.compile(r"\s*(\d{0,4})\s*[dD]\s*(\d{1,9})\s*([+-]\s*\d{1,9})?\s*\Z", re.ASCII)


def _roll(call: Call) -> str:
    written = call.argument(0).strip()
    found = _DICE.match(f"d{written}" if written.isdecimal() and written.isascii() else written)
    if found is None:
        raise Stays("is no roll of dice such as 2d6 or d20+1")
    dice, faces = int(found[1] or 1), int(found[2])
    if not 1 <= dice <= MOST_DICE or not faces:
        raise Stays(f"takes 1 to {MOST_DICE:,} dice of at least one face")
    total = sum(call.draw(CHANCE, faces, die) + 1 for die in range(dice))
    return str(total + int((found[3] or "0").replace(" ", "")))


def _setvar(call: Call) -> str:
    """Set a variable. A value may hold `::`: only the first one parts it from the name."""
    name = call.argument(0).strip()
    call.argument(1)
    if not name:
        raise Stays("names no variable")
    call.text.set(name, "::".join(call.arguments[1:]))
    return ""


def _getvar(call: Call) -> str:
    value = call.text.value(call.argument(0).strip())
    if value is None:
        what = "asks for a variable that nobody set; nothing is put there."
        call.text.tell(Level.INFO, "unset-variable", call.macro, what)
    return value or ""


def _repeated(character: str) -> Callable[[Call], str]:
    def repeat(call: Call) -> str:
        times = call.arguments[0].strip() if call.arguments else "1"
        if not (times.isdecimal() and times.isascii() and len(times) <= 4):
            raise Stays("takes a number up to 9999")
        return character * int(times)

    return repeat


MACROS: Mapping[str, Callable[[Call], str]] = {
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
"""By their names, in lower case."""
MOST_ARGUMENTS: Mapping[str, int] = {
    "roll": 1,
    "getvar": 1,
    "persona": 0,
    "newline": 1,
    "space": 1,
    "noop": 0,
    "trim": 0,
}
"""Of macros that take only so many: with more they stay, for what stands there would be lost."""
