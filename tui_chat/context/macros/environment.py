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
from tui_chat.context.macros.times import duration, time_text
from tui_chat.context.parameters import context_limit, parameters, reply_reserve
from tui_chat.models.message import MessageRole
from tui_chat.models.role import Character
from tui_chat.models.text import Text

MAIN_PROMPT = "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}."
"""SillyTavern's default prompt."""
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
        self.aliases = inputs.rules.wide_macros
        """True if `<user>` and the like are macros."""
        self.legacy = inputs.rules.legacy_macros
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
        return _WORDS[word](self._inputs)

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


def _date(inputs: Inputs) -> str:
    if inputs.rules.wide_macros:
        return time_text(inputs.now, "LL")
    return inputs.now.date().isoformat()


def _time(inputs: Inputs) -> str:
    if inputs.rules.wide_macros:
        return time_text(inputs.now, "LT")
    return inputs.now.time().isoformat("minutes")


def _idle(inputs: Inputs) -> str:
    """Return how long ago the user's last message is, the newest message aside, as SillyTavern."""
    older = inputs.history if inputs.has_draft else inputs.history[:-1]
    times = (message.timestamp for message in reversed(older) if message.role == "user")
    at = next(times, None)
    return "just now" if at is None else duration(abs(inputs.now.timestamp() - at))


def _newest(*roles: MessageRole) -> Callable[[Inputs], str]:
    def newest(inputs: Inputs) -> str:
        if inputs.has_draft and "user" in roles:
            return inputs.draft
        # a narrator's message is a system message
        also = "system" if inputs.rules.wide_macros else ""
        wanted = (*roles, also) if "assistant" in roles else roles
        said = (message for message in reversed(inputs.history) if message.role in wanted)
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
    **dict.fromkeys(LORE_WORDS, lambda _: ""),
    MOMENT: lambda inputs: inputs.now.isoformat(timespec="minutes"),
    CHANCE: lambda inputs: str(inputs.seed),
    LASTING_CHANCE: lambda inputs: str(inputs.session_seed),
}


def _limit(inputs: Inputs) -> int:
    return context_limit(inputs, parameters(inputs)) or 0


def _reserve(inputs: Inputs) -> int:
    return reply_reserve(inputs, parameters(inputs), _limit(inputs) or None)


def _last_id(inputs: Inputs) -> int:
    return len(inputs.history) - 1 + inputs.has_draft + inputs.chat.hidden_messages


_START = re.compile("<START>", re.IGNORECASE)


def _example_blocks(card: Character) -> str:
    """Return the example dialogues as SillyTavern formats them."""
    text = card.example_dialogues.strip().replace("\r", "")
    if not text or text == "<START>":
        return ""
    blocks = _START.split(text if text.startswith("<START>") else f"<START>\n{text}")
    return "".join(f"<START>\n{block.strip()}\n" for block in blocks[1:])


def _system_prompt(inputs: Inputs) -> str:
    """Return SillyTavern's system prompt for text completion: the card's, or the default one."""
    role = inputs.active_role
    card = role.character if role else None
    return (card.system_prompt.strip() if card else "") or MAIN_PROMPT


def _author_note(inputs: Inputs) -> str:
    notes = (settings.author_note for settings, _ in inputs.setting_places)
    return next((note.text for note in notes if note is not None), "")


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
    "charjailbreak": "charinstruction",
    "creatornotes": "charcreatornotes",
    "char_version": "charversion",
    "greeting": "charfirstmessage",
    "version": "charversion",
}
_OTHER_ALIASES = {
    "idle_duration": "idleduration",
    "maxprompttokens": "maxprompt",
    "maxcontexttokens": "maxcontext",
    "maxresponsetokens": "maxresponse",
}
_OTHERS: Mapping[str, Callable[[Inputs], str]] = {
    "group": lambda inputs: inputs.char_name,
    "groupnotmuted": lambda inputs: inputs.char_name,
    "charifnotgroup": lambda inputs: inputs.char_name,
    "notchar": lambda inputs: inputs.user_name,
    "lastmessageid": lambda inputs: str(last) if (last := _last_id(inputs)) >= 0 else "",
    "lastgenerationtype": lambda inputs: inputs.chat.kind,
    "authorsnote": lambda inputs: _author_note(inputs),
    "systemprompt": _system_prompt,
    **dict.fromkeys(
        ("defaultsystemprompt", "instructsystem", "instructsystemprompt"), lambda _: MAIN_PROMPT
    ),
    "maxcontext": lambda inputs: str(_limit(inputs)),
    "maxprompt": lambda inputs: str(_limit(inputs) - _reserve(inputs)),
    "maxresponse": lambda inputs: str(_reserve(inputs)),
    "input": lambda _: "",
    "allchatrange": lambda inputs: f"0-{_last_id(inputs)}" if _last_id(inputs) >= 0 else "",
    "lastswipeid": lambda _: "",
    "currentswipeid": lambda _: "",
    "firstincludedmessageid": lambda _: "",
    "firstdisplayedmessageid": lambda inputs: "0" if _last_id(inputs) >= 0 else "",
    "isotime": lambda inputs: time_text(inputs.now, "HH:mm"),
    "isodate": lambda inputs: time_text(inputs.now, "YYYY-MM-DD"),
    "idleduration": _idle,
    "ismobile": lambda _: "false",
    "charauthorsnote": lambda _: "",
    "defaultauthorsnote": lambda _: "",
    **dict.fromkeys(("chatstart", "chatseparator", "exampleseparator"), lambda _: "***"),
    **dict.fromkeys(("instructinput", "instructuserprefix", "instructstop"), lambda _: ""),
}
"""Further values. A variable of the same name goes before them, and they need SillyTavern's
policies: other presets may use such words for something else."""


def is_card_word(name: str) -> bool:
    """True if a name (in lower case) reads a field of the character card."""
    return name in _CARD or name in _CARD_ALIASES or name.startswith("greeting ")


CARD_FIELDS = (
    *("charprompt", "mesexamplesraw", "description", "personality", "scenario"),
    *("charinstruction", "chardepthprompt", "charcreatornotes", "charfirstmessage"),
)
"""The fields of a card that SillyTavern expands before the preset's messages, in its order."""


def card_value(inputs: Inputs, name: str) -> str | None:
    """Return the value of a name that is neither a macro nor a variable; None if it has none."""
    role = inputs.active_role
    card = None if role is None else role.character
    if card is not None:
        if name.startswith("greeting "):
            number = int(name.removeprefix("greeting "))
            return card.greetings[number] if number < len(card.greetings) else ""
        if name == "charjailbreak" and not inputs.rules.legacy_macros:
            return None
        if (field := _CARD.get(_CARD_ALIASES.get(name, name))) is not None:
            text = field(card).replace("\r", "")
            return text if name == "mesexamples" else text.strip()
    elif (
        role is not None
        and inputs.rules.role_prompt == "description"
        and _CARD_ALIASES.get(name, name) == "description"
    ):
        return role.system_prompt
    if inputs.rules.wide_macros and (other := _OTHERS.get(_OTHER_ALIASES.get(name, name))):
        return other(inputs)
    return None
