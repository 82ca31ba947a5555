"""What macros may read: the names, the clock, the conversation, chance and the variables.

1. Everything is read by a word, as a string. A reader notes what it read, so that what was
   expanded once is expanded again only when one of its words means something else.
2. The clock is read in minutes and days, never finer: what changes with every keystroke
   would make everything that reads it be expanded with every keystroke.
3. Variables are the preset's, over them the session's, over them what `{{setvar}}` set
   further up. Their names ignore case. What is set lasts for this request only.
4. A value of the preset's or the session's is written with macros, and is expanded where it is
   put. A value that `{{setvar}}` set was expanded when it was set: it may quote a message, and
   what a message says is never read for macros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256

from tui_chat.context.inputs import Inputs
from tui_chat.context.parameters import parameters
from tui_chat.models.message import MessageRole

VARIABLE = "variable "
"""Begins the word by which the value is read that the preset or the session gives a variable."""
SET_VARIABLE = "set variable "
"""Begins the word by which the value is read that `{{setvar}}` gave a variable."""
CHANCE = "chance"
LASTING_CHANCE = "lasting chance"

ROOM = 2_000_000
"""Characters that all macros of a request may become together."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Scene:
    """What can be read while one request is composed."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._variables = _folded(inputs.preset.variables) | _folded(inputs.variables)
        self._set: dict[str, str] = {}
        self.room = ROOM
        """Characters that macros may still become."""

    def read(self, word: str) -> str | None:
        """Return what a word means; None where nobody said."""
        if word.startswith(SET_VARIABLE):
            return self._set.get(word.removeprefix(SET_VARIABLE))
        if word.startswith(VARIABLE):
            return self._variables.get(word.removeprefix(VARIABLE))
        return _WORDS[word](self._inputs)

    def set(self, name: str, value: str) -> None:
        """Give a variable a value, for what is expanded after this."""
        self._set[name.casefold()] = value


def is_word(name: str) -> bool:
    """Whether a name (in lower case) means something that is read and takes no arguments."""
    return name in _WORDS and name not in (CHANCE, LASTING_CHANCE)


def drawn(chance: str, *where: object) -> int:
    """Draw a number below 2**64: the same for the same chance and place."""
    key = "\x00".join((chance, *map(str, where)))
    return int.from_bytes(sha256(key.encode(errors="replace")).digest()[:8])


def _folded(variables: Mapping[str, str]) -> dict[str, str]:
    return {name.casefold(): value for name, value in variables.items()}


def _moment(inputs: Inputs) -> datetime:
    return inputs.now


def _weekday(inputs: Inputs) -> str:
    return _WEEKDAYS[_moment(inputs).weekday()]


def _date(inputs: Inputs) -> str:
    return _moment(inputs).date().isoformat()


def _time(inputs: Inputs) -> str:
    return _moment(inputs).time().isoformat("minutes")


def _newest(*roles: MessageRole) -> Callable[[Inputs], str]:
    def newest(inputs: Inputs) -> str:
        if inputs.has_draft and "user" in roles:
            return inputs.draft
        said = (message for message in reversed(inputs.history) if message.role in roles)
        return next((message.content for message in said), "")

    return newest


_WORDS: Mapping[str, Callable[[Inputs], str]] = {
    "user": lambda inputs: inputs.user_name,
    "char": lambda inputs: inputs.char_name,
    "persona": lambda inputs: inputs.profile.content if inputs.profile else "",
    "preset": lambda inputs: inputs.preset.name,
    "model": lambda inputs: parameters(inputs).model.value,
    "date": _date,
    "time": _time,
    "weekday": _weekday,
    "lastmessage": _newest("user", "assistant"),
    "lastusermessage": _newest("user"),
    "lastcharmessage": _newest("assistant"),
    CHANCE: lambda inputs: str(inputs.seed),
    LASTING_CHANCE: lambda inputs: str(inputs.session_seed),
}
