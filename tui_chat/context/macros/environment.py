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

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.times import time_text
from tui_chat.context.parameters import parameters
from tui_chat.models.message import MessageRole
from tui_chat.models.role import Character
from tui_chat.models.text import Text

VARIABLE = "variable "
"""Prefix of the words that read a variable of the preset or the session."""
SET_VARIABLE = "set variable "
"""Prefix of the words that read a variable set by `{{setvar}}`."""
CHANCE = "chance"
LASTING_CHANCE = "lasting chance"
MOMENT = "moment now"
"""The word that reads the current time, to the minute."""

GLOBAL = "global variable "
"""Prefix of the names of global variables."""
OUTLET = "outlet "
"""Prefix of the words that read an outlet."""

NO_TEXTS: Mapping[str, Text] = MappingProxyType({})
LORE_WORDS = ("worldinfobefore", "worldinfoafter")
"""Words that read the lore entries before and after the character."""

MAX_EXPANSION = 2_000_000
"""Maximum total length of all expansions of a request, in characters."""


class MacroEnvironment:
    """The values that macros read while one request is composed."""

    def __init__(self, inputs: Inputs, texts: Mapping[str, Text] = NO_TEXTS) -> None:
        self._inputs = inputs
        self._variables = _folded(inputs.preset.variables) | _folded(inputs.variables)
        for name, value in inputs.global_variables.items():
            self._variables[GLOBAL + name.casefold()] = value
        self._set: dict[str, str | None] = {}
        self._read: dict[str, str | None] = {}
        """The values that were read; they do not change while one request is composed."""
        self.texts = dict(texts)
        """Values whose characters have origins of their own, by word: lore."""
        self.dialect = inputs.rules.macros
        self.room = MAX_EXPANSION
        """Characters that macros may still expand to."""

    def read(self, word: str) -> str | None:
        """Return the value of a word; None if it has none."""
        if word.startswith(SET_VARIABLE):
            return self._set.get(word.removeprefix(SET_VARIABLE))
        if word.startswith(VARIABLE) and word.removeprefix(VARIABLE) in self._set:  # deleted
            return None
        if word not in self._read:
            self._read[word] = self._value(word)
        return self._read[word]

    def _value(self, word: str) -> str | None:
        if word.startswith(VARIABLE):
            name = word.removeprefix(VARIABLE)
            return self._variables.get(name) or self._default(name)
        if (text := self.texts.get(word)) is not None:
            return text.plain
        if word.startswith(OUTLET):
            return ""
        return (self.dialect.words.get(word) or _WORDS[word])(self._inputs)

    def _default(self, name: str) -> str | None:
        """Return the value of a variable that neither preset nor session gives a value."""
        default = card_value(self._inputs, name)
        return self._variables.get(name) if default is None else default

    @property
    def has_card(self) -> bool:
        """True if the role has a character card."""
        role = self._inputs.active_role
        return role is not None and role.character is not None

    @property
    def has_placed_profile(self) -> bool:
        """True if the profile goes where the preset places it."""
        profile = self._inputs.profile
        return profile is not None and profile.placement == "anchor"

    @property
    def read_fields(self) -> frozenset[str]:
        """The names that were read, those of card fields as the core has them."""
        names = (word.removeprefix(VARIABLE) for word in self._read)
        return frozenset(
            _CARD_ALIASES.get(name) or self.dialect.card_words.get(name, name) for name in names
        )

    def set_text(self, word: str, text: Text) -> None:
        """Give a word a value whose characters have origins of their own."""
        self.texts[word] = text
        self._read.pop(word, None)

    def set(self, name: str, value: str | None) -> None:
        """Set a variable for all texts expanded later; None deletes it."""
        self._set[name.casefold()] = value

    def variables_after(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the variables of the session and the global ones after the macros so far."""
        local = _folded(self._inputs.variables)
        global_ = _folded(self._inputs.chat.global_variables)
        for name, value in self._set.items():
            variables = global_ if name.startswith(GLOBAL) else local
            key = name.removeprefix(GLOBAL)
            if value is None:
                variables.pop(key, None)
            else:
                variables[key] = value
        return MappingProxyType(local), MappingProxyType(global_)


def is_value_macro(name: str) -> bool:
    """True if a name (in lower case) is a macro that reads a value and takes no arguments."""
    return name in _WORDS and name not in (CHANCE, LASTING_CHANCE, MOMENT)


def draw_number(chance: str, *where: object) -> int:
    """Draw a number below 2**64: the same for the same seed (`chance`) and place."""
    key = "\x00".join((chance, *map(str, where)))
    return int.from_bytes(sha256(key.encode(errors="replace")).digest()[:8])


def _folded(variables: Mapping[str, str]) -> dict[str, str]:
    return {name.casefold(): value for name, value in variables.items()}


def _weekday(inputs: Inputs) -> str:
    return time_text(inputs.now, "dddd")


def newest_message(*roles: MessageRole) -> Callable[[Inputs], str]:
    """Return a function that returns the newest message of these roles, the draft included."""

    def newest(inputs: Inputs) -> str:
        if inputs.has_draft and "user" in roles:
            return inputs.draft
        messages = (message for message in reversed(inputs.history) if message.role in roles)
        return next((message.content for message in messages), "")

    return newest


_WORDS: Mapping[str, Callable[[Inputs], str]] = {
    "user": lambda inputs: inputs.user_name,
    "char": lambda inputs: inputs.char_name,
    "persona": lambda inputs: inputs.profile.content if inputs.profile else "",
    "preset": lambda inputs: inputs.preset.name,
    "model": lambda inputs: parameters(inputs).model.value,
    "date": lambda inputs: inputs.now.date().isoformat(),
    "time": lambda inputs: inputs.now.time().isoformat("minutes"),
    "weekday": _weekday,
    "lastmessage": newest_message("user", "assistant"),
    "lastusermessage": newest_message("user"),
    "lastcharmessage": newest_message("assistant"),
    **dict.fromkeys(LORE_WORDS, lambda _: ""),
    MOMENT: lambda inputs: inputs.now.isoformat(timespec="minutes"),
    CHANCE: lambda inputs: str(inputs.seed),
    LASTING_CHANCE: lambda inputs: str(inputs.session_seed),
}


_START = re.compile("<START>", re.IGNORECASE)


def _example_blocks(card: Character) -> str:
    """Return the example dialogues, each block below a line `<START>`."""
    text = card.example_dialogues.strip().replace("\r", "")
    if not text or text == "<START>":
        return ""
    blocks = _START.split(text if text.startswith("<START>") else f"<START>\n{text}")
    return "".join(f"<START>\n{block.strip()}\n" for block in blocks[1:])


_CARD: Mapping[str, Callable[[Character], str]] = {
    "description": lambda card: card.description,
    "personality": lambda card: card.personality,
    "scenario": lambda card: card.scenario,
    "charprompt": lambda card: card.system_prompt,
    "charinstruction": lambda card: card.post_history,
    "chardepthprompt": lambda card: card.depth_prompt.content if card.depth_prompt else "",
    "charcreatornotes": lambda card: card.creator_notes,
    "charversion": lambda card: card.version,
    "mesexamples": _example_blocks,
    "mesexamplesraw": lambda card: card.example_dialogues,
    "charfirstmessage": lambda card: next(iter(card.greetings), ""),
}
_CARD_ALIASES = {
    "chardescription": "description",
    "charpersonality": "personality",
    "charscenario": "scenario",
    "creatornotes": "charcreatornotes",
    "char_version": "charversion",
    "greeting": "charfirstmessage",
    "version": "charversion",
}


def is_card_word(name: str) -> bool:
    """True if a name (in lower case) reads a field of the character card."""
    return name in _CARD or name in _CARD_ALIASES or name.startswith("greeting ")


def card_value(inputs: Inputs, name: str) -> str | None:
    """Return the value of a name that is neither a macro nor a variable; None if it has none."""
    role, dialect = inputs.active_role, inputs.rules.macros
    card = None if role is None else role.character
    field_name = _CARD_ALIASES.get(name) or dialect.card_words.get(name, name)
    if card is not None:
        if name.startswith("greeting "):
            number = int(name.removeprefix("greeting "))
            return card.greetings[number] if number < len(card.greetings) else ""
        if (field := _CARD.get(field_name)) is not None:
            text = field(card).replace("\r", "")
            return text if name == "mesexamples" else text.strip()
    elif (
        role is not None
        and inputs.rules.role_prompt == "description"
        and field_name == "description"
    ):
        return role.system_prompt
    other = dialect.further_words.get(name)
    return None if other is None else other(inputs)
