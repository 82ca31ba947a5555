"""The macros that take arguments, or do more than to be read. Each is a function of its call.

To add one: a function from `Call` to what it becomes, which raises `Stays` where it is given what
it cannot use, and a line in `MACROS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tui_chat.context.macro_syntax import Macro
from tui_chat.context.scene import CHANCE, LASTING_CHANCE, VARIABLE, drawn
from tui_chat.model.envelope import Level
from tui_chat.model.text import Origin

MOST_DICE = 100


class Stays(Exception):
    """A macro stays as it is; the message says why."""


class Asker(Protocol):
    """The text that is being expanded, as far as its macros may know it."""

    origin: Origin

    def read(self, word: str) -> str | None:
        """Read a word of the scene."""
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
        origin, seed = self.text.origin, self.text.read(chance) or ""
        return drawn(seed, origin.kind, origin.id, self.macro.start, *more) % below


def _choices(call: Call) -> list[str]:
    """Return what to choose from: arguments, or one argument parted at its commas."""
    if len(call.arguments) == 1:
        parts = re.split(r"(?<!\\),", call.arguments[0])
        return [part.strip().replace("\\,", ",") for part in parts]
    return call.arguments or [call.argument(0)]


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
    call.text.set(call.argument(0).strip(), call.argument(1))
    return ""


def _getvar(call: Call) -> str:
    value = call.text.read(VARIABLE + call.argument(0).strip().casefold())
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
