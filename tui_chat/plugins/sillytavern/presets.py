"""Imports SillyTavern's chat completion presets.

1. The order list of character 100001 says which prompts are sent, and in which order; without it,
   SillyTavern's default order. A prompt in no such list is never sent; of duplicates the first
   counts.
2. Every prompt keeps its place in the list, which is also the order in which macros are expanded.
   A prompt in the chat at depth d >= 1 gets the `insertionPoint` -d, because the draft is the
   newest message there; one at depth 0 is placed after the history. `injection_order` becomes
   `order`, less 100, the default.
3. Markers: the chat history, the persona and the example dialogues become anchors. World info and
   the fields of the character become messages with a macro that they require.
4. The line that SillyTavern sends before a new chat becomes a message before the history.
5. System messages stay in place, and the preset has SillyTavern's policies: see
   `policies`. A prompt that SillyTavern would not send is disabled, with a note.
6. Samplers and sizes are the preset's settings; see `sillytavern_settings`, which names all other
   keys. The file is kept for an export; see `sillytavern_export`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import chain, count
from types import MappingProxyType
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, choose
from tui_chat.library.foreign_files import ImportedPreset, ImportNote
from tui_chat.models.envelope import Level
from tui_chat.models.generation import GenerationKind
from tui_chat.models.json_text import as_array, object_or_none
from tui_chat.models.preset import CHAT_HISTORY, OTHERWISE, CardField, Preset, PresetMessage
from tui_chat.plugins.sillytavern.context.macros import MAIN_PROMPT
from tui_chat.plugins.sillytavern.policies import (
    GENERATION_KINDS,
    NamesPolicy,
    Policies,
    PostProcessing,
    policy_values,
)
from tui_chat.plugins.sillytavern.preset_settings import (
    kept,
    key_notes,
    settings_of,
    some,
)
from tui_chat.plugins.sillytavern.scripts import scripts_in

GLOBAL_ORDER = 100_001
"""The id of the character whose order list is the global one."""
DEFAULT_ORDER = 100
_MAIN, _JAILBREAK = "main", "jailbreak"
# fmt: off
BUILT_IN = (
    _MAIN, "worldInfoBefore", "personaDescription", "charDescription", "charPersonality",
    "scenario", "enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples",
    "chatHistory", _JAILBREAK,
)
# fmt: on
"""SillyTavern's default order, for a preset without an order list."""
APPENDED = (
    *("worldInfoBefore", "worldInfoAfter", "charDescription"),
    *("charPersonality", "scenario", "personaDescription"),
)
"""Markers that come last if the order list does not have them."""
_DEFAULT_CONTENT = {
    _MAIN: MAIN_PROMPT,
    "enhanceDefinitions": (
        "If you have more knowledge of {{char}}, add to the character's lore and personality to "
        "enhance them but keep the Character Sheet's definitions absolute."
    ),
}
"""What SillyTavern sends for prompts that a preset lists but does not contain."""
CARD_FIELDS: Mapping[str, CardField] = {_MAIN: "system_prompt", _JAILBREAK: "post_history"}
NAMES_POLICIES: Mapping[object, NamesPolicy] = {-1: "none", 1: "name", 2: "content"}
POST_PROCESSING: Mapping[object, PostProcessing] = {
    name: cast("PostProcessing", name.removesuffix("_tools"))
    for kind in ("merge", "semi", "strict", "single")
    for name in (kind, f"{kind}_tools")
}
_CONTINUE = "[Continue your last message without repeating its original content.]"
_IMPERSONATE = (
    "[Write your next reply from the point of view of {{user}}, using the chat history so far as a "
    "guideline for the writing style of {{user}}. Don't write as {{char}} or system. "
    "Don't describe actions of {{char}}.]"
)
"""SillyTavern's defaults."""
_VARIABLES = {
    "charDescription": ("Character's description", "{{description}}"),
    "charPersonality": ("Character's personality", "{{personality}}"),
    "scenario": ("Scenario", "{{scenario}}"),
}
FORMATS = {"charPersonality": "personality_format", "scenario": "scenario_format"}
_MARKERS = (*APPENDED, "dialogueExamples", "chatHistory")
"""Prompts whose text is not theirs."""
_NAMES = {
    "charDescription": "Character's description",
    "charPersonality": "Character's personality",
    "chatHistory": "Chat history",
    "dialogueExamples": "Example dialogues",
    "personaDescription": "Persona",
    "scenario": "Scenario",
    "worldInfoBefore": "World info, before the character",
    "worldInfoAfter": "World info, after the character",
}
_ROLES = ("assistant", "user", "system")
"""In their order at the same depth and `injection_order`."""
_ALIASES = {"<user>": "{{user}}", "<bot>": "{{char}}", "<char>": "{{char}}"}
_ALIAS = re.compile("|".join(_ALIASES), re.IGNORECASE)


def is_sillytavern(value: object) -> bool:
    """Return True if a JSON value looks like a chat completion preset of SillyTavern."""
    found = object_or_none(value)
    return found is not None and isinstance(found.get("prompts"), list)


def parse_sillytavern_preset(text: str, source: str, name: str) -> ImportedPreset:
    """Import a preset from JSON text; `source` is what errors call it.

    Raises InputError if it is not a SillyTavern preset.
    """
    file = JsonFile(text)
    file.raise_errors(source)
    found = object_or_none(file.value)
    if found is None or not is_sillytavern(found):
        advice = "Such a preset has “prompts”. Presets of tui-chat need no import."
        raise InputError(f"{source} is not a SillyTavern chat completion preset.", advice=advice)
    return import_preset(found, name)


def import_preset(found: Mapping[str, Any], name: str) -> ImportedPreset:
    """Import a preset from a JSON object."""
    return _PresetImporter(found).convert(name)


@dataclass(slots=True)
class _Prompt:
    """A prompt of the order list."""

    id: str
    found: Mapping[str, Any]
    enabled: bool
    is_otherwise: bool = False
    """True if it stands for the one of its id with other kinds of generation."""

    @property
    def triggers(self) -> list[object]:
        """The kinds of generation with which it is sent; empty for all."""
        return as_array(self.found.get("injection_trigger"))

    @property
    def name(self) -> str:
        name = self.found.get("name")
        return name if isinstance(name, str) and name.strip() else _NAMES.get(self.id, self.id)

    @property
    def is_in_chat(self) -> bool:
        return self.found.get("injection_position") == 1


@dataclass(slots=True)
class _PresetImporter:
    """Converts one preset, and collects notes and variables."""

    found: Mapping[str, Any]
    notes: list[ImportNote] = field(default_factory=list[ImportNote])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    never: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    """The names of prompts that are never sent, by the reason."""

    def convert(self, name: str) -> ImportedPreset:
        """Return the preset with its notes."""
        messages: list[PresetMessage] = []
        ids: set[str] = set()
        for prompt in self._ordered():
            ids.add(prompt.id)
            message = self._message(prompt)
            if prompt.is_in_chat and message.type == "message":
                message = self._in_chat(prompt, message)
            messages.append(message)
        if "chatHistory" not in ids:
            sentence = "It has no chat history, so no conversation is sent, as in SillyTavern."
            self._note(Level.WARNING, sentence)
        settings, faults = settings_of(self.found)
        preset = Preset(
            name,
            tuple(self._with_new_chat(messages)),
            system_placement="in_place",
            variables=MappingProxyType(dict(self.variables)),
            settings=settings,
            policies=policy_values(self._policies()),
            scripts=scripts_in(self.found.get("extensions")),
        )
        preset = with_source(preset, without_texts(self.found, preset))
        for why, names in self.never.items():
            self._note(Level.WARNING, f"Disabled, since SillyTavern {why}: {some(names)}.")
        return ImportedPreset(preset, (*self.notes, *faults, *key_notes(self.found)))

    def _policies(self) -> Policies:
        """Return SillyTavern's rules with the preset's own texts."""

        def text(key: str, default: str = "") -> str:
            value = self.found.get(key)
            return _with_macros(value) if isinstance(value, str) else default

        by_name = 1 if self.found.get("names_in_completion") is True else 0
        names = self.found.get("names_behavior", by_name)
        return Policies(
            depths="joined",
            budget="history_with_injections",
            without_anchor="not_sent",
            names=choose(NAMES_POLICIES, names, "other_speakers"),
            squash_system=self.found.get("squash_system_messages") is True,
            expand_history=True,
            role_prompt="description",
            example_separator=text("new_example_chat_prompt", "[Example Chat]"),
            continue_nudge=text("continue_nudge_prompt", _CONTINUE),
            continue_prefill=self.found.get("continue_prefill") is True,
            continue_postfix=text("continue_postfix", " "),
            impersonation_prompt=text("impersonation_prompt", _IMPERSONATE),
            send_if_empty=text("send_if_empty"),
            assistant_prefill=text("assistant_prefill").rstrip(),
            assistant_impersonation=text("assistant_impersonation").rstrip(),
            system_as_user=self._uses_system_prompt() is False,
            post_processing=choose(
                POST_PROCESSING, self.found.get("custom_prompt_post_processing"), ""
            ),
        )

    def _uses_system_prompt(self) -> object:
        """Return `use_sysprompt`, by its old names too; None if the preset does not say."""
        old = [
            self.found[key]
            for key in ("claude_use_sysprompt", "use_makersuite_sysprompt")
            if key in self.found
        ]
        return self.found.get("use_sysprompt", any(each is True for each in old) if old else None)

    def _note(self, level: Level, sentence: str) -> None:
        self.notes.append(ImportNote(level, sentence))

    # --- which prompts, in which order -----------------------------------------------------

    def _ordered(self) -> Iterator[_Prompt]:
        prompts: dict[str, Mapping[str, Any]] = {}
        for each in as_array(self.found.get("prompts")):
            prompt = object_or_none(each) or {}
            if isinstance(identity := prompt.get("identifier"), str) and identity:
                prompts.setdefault(identity, prompt)
        listing = self._order_list()
        seen: set[str] = set()
        filtered: dict[str, list[str]] = {}
        for identity, enabled in listing:
            if identity in seen:
                sentence = f"“{identity}” is twice in the order list; the first place counts."
                self._note(Level.INFO, sentence)
            elif identity in prompts or identity in BUILT_IN:
                prompt = _Prompt(identity, prompts.get(identity, {}), enabled)
                yield prompt
                if enabled and prompt.triggers:
                    filtered[identity] = [k for k in GENERATION_KINDS if k not in prompt.triggers]
            seen.add(identity)
        for identity in APPENDED:  # one that is not sent in its place goes last
            name = {"name": prompts.get(identity, {}).get("name")}
            if identity not in seen:
                yield _Prompt(identity, name, True)
            elif others := filtered.get(identity):
                name["injection_trigger"] = others
                yield _Prompt(identity, name, True, is_otherwise=True)
        unlisted = [
            _Prompt(identity, found, False).name
            for identity, found in prompts.items()
            if identity not in seen and identity not in BUILT_IN
        ]
        if unlisted:
            sentence = f"Not sent, since the order list does not have them: {some(unlisted)}."
            self._note(Level.INFO, sentence)

    def _order_list(self) -> list[tuple[str, bool]]:
        for each in as_array(self.found.get("prompt_order")):
            entry = object_or_none(each) or {}
            if str(entry.get("character_id")) == str(GLOBAL_ORDER):
                rows = [object_or_none(row) or {} for row in as_array(entry.get("order"))]
                return [
                    (row["identifier"], row.get("enabled") is True)
                    for row in rows
                    if isinstance(row.get("identifier"), str)
                ]
        sentence = f"It has no order list for character {GLOBAL_ORDER}; the default order is used."
        self._note(Level.INFO, sentence)
        return [(identity, identity != "enhanceDefinitions") for identity in BUILT_IN]

    # --- one prompt ------------------------------------------------------------------------

    def _message(self, prompt: _Prompt) -> PresetMessage:
        role = prompt.found.get("role")
        role = role if role in _ROLES else "system"
        given = prompt.triggers
        triggers: tuple[GenerationKind, ...] = tuple(k for k in GENERATION_KINDS if k in given)
        plain = PresetMessage(
            prompt.id + OTHERWISE * prompt.is_otherwise,
            role,
            name=prompt.name,
            enabled=prompt.enabled and bool(triggers or not given),
            triggers=triggers,
        )
        match prompt.id:
            case "chatHistory":
                return replace(plain, role="user", type="chat_history")
            case "dialogueExamples":
                return replace(plain, role="system", type="example_dialogues")
            case "personaDescription":
                if prompt.is_in_chat:
                    return replace(plain, content="{{persona}}", requires="persona")
                return replace(plain, type="user_profile")
            case "worldInfoBefore" | "worldInfoAfter":
                return self._lore_message(prompt.id, plain)
            case identity if identity in _VARIABLES:
                return self._character_message(identity, plain)
            case _:
                return self._text_message(prompt, plain)

    def _lore_message(self, identity: str, plain: PresetMessage) -> PresetMessage:
        """Return the message for world info: a macro in the preset's format."""
        macro = f"{{{{{identity}}}}}"
        written = self.found.get("wi_format")
        has_format = isinstance(written, str) and written.strip()
        content = _with_macros(cast("str", written)).replace("{0}", macro) if has_format else macro
        return replace(plain, content=content, requires=identity)

    def _character_message(self, identity: str, plain: PresetMessage) -> PresetMessage:
        """Return the message for a character's field: a variable, in the preset's format.

        It requires the variable, since SillyTavern sends nothing for an empty field.
        """
        called, macro = _VARIABLES[identity]
        variable = macro[2:-2]
        self.variables[variable] = ""
        sentence = f"{called} is the character card's, or the variable “{variable}” of the preset."
        self._note(Level.INFO, sentence)
        written = self.found.get(FORMATS.get(identity, ""))
        has_format = isinstance(written, str) and written.strip()
        content = _with_macros(cast("str", written)) if has_format else macro
        return replace(plain, content=content, requires=variable)

    def _text_message(self, prompt: _Prompt, plain: PresetMessage) -> PresetMessage:
        found = prompt.found
        content = found.get("content") if found else _DEFAULT_CONTENT.get(prompt.id)
        text = _with_macros(content) if isinstance(content, str) else ""
        is_fixed = prompt.found.get("forbid_overrides") is True
        card_field = "" if is_fixed else CARD_FIELDS.get(prompt.id, "")
        message = replace(plain, content=text, card_field=card_field)
        if not text and not card_field:
            return replace(message, enabled=False)
        why = self._why_never(prompt)
        if why and prompt.enabled:
            self.never.setdefault(why, []).append(prompt.name)
        return replace(message, enabled=message.enabled and not why)

    @staticmethod
    def _why_never(prompt: _Prompt) -> str:
        """Return why SillyTavern never sends such a prompt; empty if it does."""
        found = prompt.found
        is_custom = prompt.id not in BUILT_IN
        if is_custom and not prompt.is_in_chat and found.get("system_prompt") is not False:
            return "does not send custom prompts with “system_prompt”"
        if prompt.is_in_chat and found.get("role") not in _ROLES:
            return "does not send prompts in the chat without a role"
        return ""

    def _in_chat(self, prompt: _Prompt, message: PresetMessage) -> PresetMessage:
        """Return a message at its depth; disabled if that is invalid."""
        depth = prompt.found.get("injection_depth")
        order = _number(prompt.found.get("injection_order", DEFAULT_ORDER)) - DEFAULT_ORDER
        if isinstance(depth, float) and depth.is_integer():
            depth = int(depth)
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 0:
            if message.enabled:
                sentence = f"“{prompt.name}” has an invalid depth; it is disabled."
                self._note(Level.WARNING, sentence)
            return replace(message, enabled=False)
        if depth:
            return replace(message, insertion_point=-depth, order=order)
        return replace(message, anchor_point="after", anchor_target=CHAT_HISTORY, order=order)

    # --- the rest --------------------------------------------------------------------------

    def _with_new_chat(self, messages: list[PresetMessage]) -> Iterator[PresetMessage]:
        """Yield the messages, with the line that begins a new chat before the history."""
        line = self.found.get("new_chat_prompt")
        taken = {message.id for message in messages}
        for message in messages:
            if message.type == "chat_history" and isinstance(line, str) and line:
                numbered = (f"newChat-{number}" for number in count(2))
                identity = next(n for n in chain(("newChat",), numbered) if n not in taken)
                yield PresetMessage(
                    identity,
                    content=_with_macros(line),
                    name="New chat",
                    anchor_point="before",
                    anchor_target=CHAT_HISTORY,
                )
            yield message


def _texts(preset: Preset) -> dict[str, str]:
    """Return the texts of the messages whose prompts have them, by id."""
    return {m.id: m.content for m in preset.messages if m.content and m.id not in _MARKERS}


def without_texts(found: Mapping[str, Any], preset: Preset) -> dict[str, Any]:
    """Return a preset of SillyTavern to keep with ours: without secrets, and with null for the
    content of prompts whose text is that of the message with their id.
    """
    texts = _texts(preset)
    prompts: list[Any] = []
    for each in as_array(found.get("prompts")):
        prompt = object_or_none(each) or {}
        identity = prompt.get("identifier")
        if isinstance(identity, str) and texts.pop(identity, None) == prompt.get("content", ""):
            each = {**prompt, "content": None}
        prompts.append(each)
    return {**kept(found), "prompts": prompts}


SOURCE = "sillytavern"
"""The key of preset files with the preset of SillyTavern that a preset was imported from, for an
export. In a prompt, the content null stands for the text of the message with its id."""


def source_of(preset: Preset) -> Mapping[str, Any]:
    """Return the preset of SillyTavern that a preset was imported from; empty for none."""
    return object_or_none(preset.extras.get(SOURCE)) or {}


def with_source(preset: Preset, source: Mapping[str, Any]) -> Preset:
    """Return a preset with the preset of SillyTavern that it was imported from."""
    return replace(preset, extras=MappingProxyType({**preset.extras, SOURCE: source}))


def with_texts(preset: Preset) -> dict[str, Any]:
    """Return what `without_texts` kept, with the present texts of the messages."""
    texts = _texts(preset)
    prompts: list[Any] = []
    for each in as_array(source_of(preset).get("prompts")):
        prompt = object_or_none(each) or {}
        identity = prompt.get("identifier")
        text = texts.pop(identity, None) if isinstance(identity, str) else None
        if text is not None and "content" in prompt and prompt["content"] is None:
            each = {**prompt, "content": text}
        prompts.append(each)
    return {**source_of(preset), "prompts": prompts}


def _with_macros(text: str) -> str:
    """Return a text with SillyTavern's `<user>`, `<bot>` and `<char>` as macros."""
    return _ALIAS.sub(lambda found: _ALIASES[found[0].lower()], text)


def _number(value: object) -> int:
    """Return an order as a number, also if it is written as text."""
    try:
        return int(cast("Any", value))
    except (TypeError, ValueError):
        return DEFAULT_ORDER
