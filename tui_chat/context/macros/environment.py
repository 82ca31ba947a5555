"""The macro environment: names, clock, conversation, seeds and variables.

1. Every value is a string and is read by a word. An expansion records the words it read, and is
   repeated only when one of them has another value.
2. The clock has minutes, nothing finer: a text that reads it would otherwise be expanded again
   with every keystroke.
3. Variables of the session override those of the preset; `{{setvar}}` overrides both, for the rest
   of this request. Their names ignore case.
4. Values of the preset and the session may contain macros, which are expanded where the value is
   used. A value set by `{{setvar}}` was expanded when it was set: it may quote a message, and
   messages are never expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256

from tui_chat.context.inputs import Inputs
from tui_chat.context.parameters import parameters
from tui_chat.models.message import MessageRole

VARIABLE = "variable "
"""Prefix of the words that read a variable of the preset or the session."""
SET_VARIABLE = "set variable "
"""Prefix of the words that read a variable set by `{{setvar}}`."""
CHANCE = "chance"
LASTING_CHANCE = "lasting chance"

MAX_EXPANSION = 2_000_000
"""Maximum total length of all expansions of a request, in characters."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class MacroEnvironment:
    """The values that macros read while one request is composed."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._variables = _folded(inputs.preset.variables) | _folded(inputs.variables)
        self._set: dict[str, str] = {}
        self.room = MAX_EXPANSION
        """Characters that macros may still expand to."""

    def read(self, word: str) -> str | None:
        """Return the value of a word; None if it has none."""
        if word.startswith(SET_VARIABLE):
            return self._set.get(word.removeprefix(SET_VARIABLE))
        if word.startswith(VARIABLE):
            return self._variables.get(word.removeprefix(VARIABLE))
        return _WORDS[word](self._inputs)

    def set(self, name: str, value: str) -> None:
        """Set a variable for all texts expanded later."""
        self._set[name.casefold()] = value


def is_value_macro(name: str) -> bool:
    """True if a name (in lower case) is a macro that reads a value and takes no arguments."""
    return name in _WORDS and name not in (CHANCE, LASTING_CHANCE)


def draw_number(chance: str, *where: object) -> int:
    """Draw a number below 2**64: the same for the same seed (`chance`) and place."""
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
