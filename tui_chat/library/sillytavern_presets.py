"""SillyTavern's chat completion presets as ours.

1. What is sent, and in which order, is in the order list of character 100001; without it, in
   SillyTavern's own order. A prompt that stands in no such list is never sent; of one that stands
   there twice only the first counts.
2. A relative prompt stays where it is in the list. One in the chat at depth d >= 1 gets the
   `insertionPoint` -d, because the draft is the newest message there; one at depth 0 stands after
   the history. At one depth the lower `injection_order` comes first, then the assistant's, the
   user's and the system's; 100, the usual order, is our 0.
3. Its markers: the chat history and the persona are anchors with us; the character's
   description, personality and scenario are variables of the preset, to be filled in, and what
   is sent of them requires that they are; world info is a placeholder that entries can name;
   example dialogues have no place.
4. The line that SillyTavern puts before a new chat is a message before the history.
5. System messages stay where they are put. What would not be sent there is switched off here,
   and told, as is all that a preset of ours does not say: sampling, names, squashing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, read_text
from tui_chat.library.file_reader import JsonFile, as_list, as_object
from tui_chat.models.envelope import Level
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage

_GLOBAL_ORDER = 100_001
"""The character whose order list counts for all."""
_USUAL_ORDER = 100
_MAIN, _JAILBREAK = "main", "jailbreak"
# fmt: off
_BUILT_IN = (
    _MAIN, "worldInfoBefore", "personaDescription", "charDescription", "charPersonality",
    "scenario", "enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples",
    "chatHistory", _JAILBREAK,
)
# fmt: on
"""SillyTavern's own order, for a preset that has none."""
_APPENDED = (
    *("worldInfoBefore", "worldInfoAfter", "charDescription"),
    *("charPersonality", "scenario", "personaDescription"),
)
"""Markers that are put behind all others where the order list does not name them."""
_VARIABLES = {
    "charDescription": ("Character's description", "{{description}}"),
    "charPersonality": ("Character's personality", "{{personality}}"),
    "scenario": ("Scenario", "{{scenario}}"),
}
_FORMATS = {"charPersonality": "personality_format", "scenario": "scenario_format"}
_NAMES = {
    "chatHistory": "Chat history",
    "personaDescription": "Persona",
    "worldInfoBefore": "World info, before the character",
    "worldInfoAfter": "World info, after the character",
}
_ROLES = ("assistant", "user", "system")
"""As they follow one another at one depth and order."""
_ALIASES = {"<user>": "{{user}}", "<bot>": "{{char}}", "<char>": "{{char}}"}
_ALIAS = re.compile("|".join(_ALIASES), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImportNote:
    """What could not be taken over as it was."""

    level: Level
    sentence: str


@dataclass(frozen=True, slots=True)
class ImportedPreset:
    """A preset of SillyTavern's as one of ours, and what is to be known of it."""

    preset: Preset
    notes: tuple[ImportNote, ...]


_Deep: TypeAlias = tuple[tuple[int, int, int], PresetMessage]
"""A message in the chat, behind what it is sorted by: depth, order, role."""


def is_sillytavern(value: object) -> bool:
    """Whether a JSON value looks like a chat completion preset of SillyTavern's."""
    found = as_object(value)
    return found is not None and isinstance(found.get("prompts"), list)


def load_sillytavern_preset(path: Path, name: str = "") -> ImportedPreset:
    """Read SillyTavern's preset from a file, after which it is called if nothing names it.

    Raises InputError naming the file and the fault.
    """
    text = read_text(path, max_bytes=MAX_BYTES)
    return parse_sillytavern_preset(text, str(path), name or path.stem)


def parse_sillytavern_preset(text: str, source: str, name: str) -> ImportedPreset:
    """Read SillyTavern's preset from JSON text; `source` is what errors call it.

    Raises InputError where it is none.
    """
    file = JsonFile(text)
    file.raise_errors(source)
    found = as_object(file.value)
    if found is None or not is_sillytavern(found):
        advice = "It has “prompts”, and mostly “prompt_order”. One of ours needs no import."
        raise InputError(f"{source} is no chat completion preset of SillyTavern's.", advice=advice)
    return _PresetImporter(found).convert(name)


@dataclass(slots=True)
class _Prompt:
    """A prompt of the order list."""

    id: str
    found: Mapping[str, Any]
    enabled: bool

    @property
    def name(self) -> str:
        name = self.found.get("name")
        return name if isinstance(name, str) and name.strip() else _NAMES.get(self.id, self.id)

    @property
    def is_in_chat(self) -> bool:
        return self.found.get("injection_position") == 1


@dataclass(slots=True)
class _PresetImporter:
    """One import: what was found, and what is told of it."""

    found: Mapping[str, Any]
    notes: list[ImportNote] = field(default_factory=list[ImportNote])
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def convert(self, name: str) -> ImportedPreset:
        """Return the preset, and what there is to say."""
        messages: list[PresetMessage] = []
        deep: list[_Deep] = []
        ids: set[str] = set()
        for prompt in self._ordered():
            ids.add(prompt.id)
            message = self._message(prompt)
            if message is None:
                continue
            if prompt.is_in_chat and message.type == "message":
                place = self._in_chat(prompt, message)
                if place is not None:
                    deep.append(place)
                    continue
                message = replace(message, enabled=False)
            messages.append(message)
        if "chatHistory" not in ids:
            sentence = "It has no chat history: there nothing of a chat is sent; here it goes last."
            self._note(Level.WARNING, sentence)
        deep = self._joined(deep)
        after_history = next(
            (n + 1 for n, each in enumerate(messages) if each.type == "chat_history"), len(messages)
        )
        messages[after_history:after_history] = [
            m for _, m in sorted(deep, key=lambda each: each[0])
        ]
        preset = Preset(
            name,
            tuple(self._with_new_chat(messages)),
            system_placement="in_place",
            variables=MappingProxyType(dict(self.variables)),
        )
        return ImportedPreset(preset, (*self.notes, *lost_settings(self.found)))

    def _note(self, level: Level, sentence: str) -> None:
        self.notes.append(ImportNote(level, sentence))

    # --- which prompts, in which order -----------------------------------------------------

    def _ordered(self) -> Iterator[_Prompt]:
        prompts: dict[str, Mapping[str, Any]] = {}
        for each in as_list(self.found.get("prompts")):
            prompt = as_object(each) or {}
            if isinstance(identity := prompt.get("identifier"), str) and identity:
                prompts.setdefault(identity, prompt)
        listing = self._order_list()
        seen: set[str] = set()
        for identity, enabled in listing:
            if identity in seen:
                sentence = f"“{identity}” stands twice in the order; the first place counts."
                self._note(Level.INFO, sentence)
            elif identity in prompts or identity in _BUILT_IN:
                yield _Prompt(identity, prompts.get(identity, {}), enabled)
            seen.add(identity)
        for identity in _APPENDED:
            if identity not in seen:
                yield _Prompt(identity, prompts.get(identity, {}), True)
        unlisted = [
            _Prompt(identity, found, False).name
            for identity, found in prompts.items()
            if identity not in seen and identity not in _BUILT_IN
        ]
        if unlisted:
            some = ", ".join(f"“{name}”" for name in unlisted[:5])
            more = f" and {len(unlisted) - 5} more" if len(unlisted) > 5 else ""
            sentence = f"Left out, for its order does not name them: {some}{more}."
            self._note(Level.INFO, sentence)

    def _order_list(self) -> list[tuple[str, bool]]:
        for each in as_list(self.found.get("prompt_order")):
            entry = as_object(each) or {}
            if entry.get("character_id") == _GLOBAL_ORDER:
                rows = [as_object(row) or {} for row in as_list(entry.get("order"))]
                return [
                    (row["identifier"], row.get("enabled") is not False)
                    for row in rows
                    if isinstance(row.get("identifier"), str)
                ]
        sentence = f"It has no order for character {_GLOBAL_ORDER}; SillyTavern's own is taken."
        self._note(Level.INFO, sentence)
        return [(identity, identity != "enhanceDefinitions") for identity in _BUILT_IN]

    # --- one prompt ------------------------------------------------------------------------

    def _message(self, prompt: _Prompt) -> PresetMessage | None:
        """Return what a prompt becomes; None where it has no place with us."""
        role = prompt.found.get("role")
        role = role if role in _ROLES else "system"
        plain = PresetMessage(prompt.id, role, name=prompt.name, enabled=prompt.enabled)
        match prompt.id:
            case "chatHistory":
                return replace(plain, role="user", type="chat_history")
            case "personaDescription":
                if prompt.is_in_chat:
                    return replace(plain, content="{{persona}}")
                return replace(plain, type="user_profile")
            case "worldInfoBefore" | "worldInfoAfter":
                return replace(plain, role="user", type="placeholder")
            case "dialogueExamples":
                sentence = "Example dialogues are not taken over: write them as messages."
                self._note(Level.INFO, sentence)
                return None
            case identity if identity in _VARIABLES:
                return self._of_character(identity, plain)
            case _:
                return self._written(prompt, plain)

    def _of_character(self, identity: str, plain: PresetMessage) -> PresetMessage:
        """Return the message that has something of the character: a variable, in its format.

        A format is applied to a value only: without one SillyTavern sends nothing.
        """
        called, macro = _VARIABLES[identity]
        variable = macro[2:-2]
        self.variables[variable] = ""
        sentence = f"{called} is the variable “{variable}” of the preset (p in the editor)."
        self._note(Level.INFO, sentence)
        written = self.found.get(_FORMATS.get(identity, ""))
        has_format = isinstance(written, str) and written.strip()
        content = _spoken(cast("str", written)) if has_format else macro
        return replace(plain, content=content, requires=variable)

    def _written(self, prompt: _Prompt, plain: PresetMessage) -> PresetMessage:
        content = prompt.found.get("content")
        text = _spoken(content) if isinstance(content, str) else ""
        message = replace(plain, content=text)
        if not text:
            return replace(message, enabled=False)
        why = self._why_never(prompt)
        if why and prompt.enabled:
            sentence = f"“{prompt.name}” is switched off: SillyTavern {why}."
            self._note(Level.WARNING, sentence)
        return replace(message, enabled=prompt.enabled and not why)

    @staticmethod
    def _why_never(prompt: _Prompt) -> str:
        """Say why SillyTavern does not send a prompt in an ordinary request."""
        found = prompt.found
        is_custom = prompt.id not in _BUILT_IN
        if is_custom and not prompt.is_in_chat and found.get("system_prompt") is not False:
            return "sends no prompt of one's own that calls itself “system_prompt”"
        if prompt.is_in_chat and found.get("role") not in _ROLES:
            return "sends nothing into the chat that has no role"
        triggers = [
            each for each in as_list(found.get("injection_trigger")) if isinstance(each, str)
        ]
        if triggers and "normal" not in triggers:
            return f"sends it only with {', '.join(triggers)}"
        return ""

    def _in_chat(self, prompt: _Prompt, message: PresetMessage) -> _Deep | None:
        """Return where a message stands in the chat, to be sorted by; None where nowhere."""
        depth = prompt.found.get("injection_depth")
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 0:
            sentence = f"“{prompt.name}” has no depth that SillyTavern knows; it is switched off."
            self._note(Level.WARNING, sentence)
            return None
        order = _number(prompt.found.get("injection_order", _USUAL_ORDER)) - _USUAL_ORDER
        sorted_by = (-depth, order, _ROLES.index(cast("Any", message.role)))
        if depth:
            return sorted_by, replace(message, insertion_point=-depth, order=order)
        placed = replace(message, anchor_point="after", anchor_target=CHAT_HISTORY, order=order)
        return sorted_by, placed

    def _joined(self, deep: list[_Deep]) -> list[_Deep]:
        """Tell of messages that SillyTavern would send as one; it trims what it sends."""
        groups: dict[tuple[int, int, int], list[PresetMessage]] = {}
        for place, message in deep:
            groups.setdefault(place, []).append(message)
        for messages in groups.values():
            names = [f"“{message.name}”" for message in messages if message.enabled]
            if len(names) > 1:
                sentence = f"{', '.join(names[:-1])} and {names[-1]} stand at one depth: "
                sentence += "SillyTavern sends them as one message, here they are several."
                self._note(Level.INFO, sentence)
            else:
                messages[:] = [replace(each, content=each.content.strip()) for each in messages]
        return [(place, message) for place, group in groups.items() for message in group]

    # --- the rest --------------------------------------------------------------------------

    def _with_new_chat(self, messages: list[PresetMessage]) -> Iterator[PresetMessage]:
        """Yield the messages, before the history the line that begins a new chat."""
        line = self.found.get("new_chat_prompt")
        convert = {message.id for message in messages}
        for message in messages:
            if message.type == "chat_history" and isinstance(line, str) and line:
                numbered = (f"newChat-{require_number}" for require_number in count(2))
                identity = next(n for n in chain(("newChat",), numbered) if n not in convert)
                yield PresetMessage(identity, content=_spoken(line), name="New chat")
            yield message


def _spoken(text: str) -> str:
    """Return a text with SillyTavern's short names as macros."""
    return _ALIAS.sub(lambda found: _ALIASES[found[0].lower()], text)


def _number(value: object) -> int:
    """Return an order; one that is written as text counts too."""
    try:
        return int(cast("Any", value))
    except (TypeError, ValueError):
        return _USUAL_ORDER


_NEUTRAL = {
    "top_p": 1,
    "top_k": 0,
    "min_p": 0,
    "top_a": 0,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "repetition_penalty": 1,
    "seed": -1,
    "reasoning_effort": "auto",
}
"""What these settings are where they do nothing, so that they need not be told."""
_SAMPLING = ("temperature", *_NEUTRAL)


def lost_settings(found: Mapping[str, Any]) -> Iterator[ImportNote]:
    """Yield what of a preset of SillyTavern's is said elsewhere with us, or not at all."""
    sampling = [
        f"{key} {found[key]}"
        for key in _SAMPLING
        if found.get(key) not in (None, "", _NEUTRAL.get(key))
    ]
    limits = [
        f"{words} {found[key]}"
        for key, words in (("openai_max_context", "context"), ("openai_max_tokens", "reply"))
        if isinstance(found.get(key), int)
    ]
    if sampling or limits:
        sentence = f"Settings are no part of a preset here: {', '.join([*sampling, *limits])}."
        yield ImportNote(Level.INFO, sentence)
    if found.get("names_behavior") in (1, 2):
        sentence = "Names are not put before or beside what is said (“names_behavior”)."
        yield ImportNote(Level.WARNING, sentence)
    if found.get("squash_system_messages") is True:
        sentence = "System messages are not joined (“squash_system_messages”)."
        yield ImportNote(Level.WARNING, sentence)
    if isinstance(lore := found.get("wi_format"), str) and lore.strip() not in ("", "{0}"):
        sentence = "Nothing is put around world info (“wi_format”)."
        yield ImportNote(Level.WARNING, sentence)
    if isinstance(prefill := found.get("assistant_prefill"), str) and prefill.strip():
        sentence = "“assistant_prefill” is not taken over: write it as an assistant's message."
        yield ImportNote(Level.WARNING, sentence)
    extensions = as_object(found.get("extensions")) or {}
    if as_list(extensions.get("regex_scripts")):
        sentence = "Its regex scripts are not taken over."
        yield ImportNote(Level.WARNING, sentence)
