"""What `settings.json` in a SillyTavern user's folder says about requests.

1. The prompts in effect are in `oai_settings`, which may differ from the preset of that name; some
   keys have other names there than in a preset.
2. Switches of the whole program become policies and settings of each imported preset, so that any
   session with such a preset has them: those of world info (`lore`), “Start Reply With”, global
   regex scripts and variables, the default author's note.
3. World info is searched for in the books of the chat, the persona, the character and in the global
   ones. Their order, and who gets tokens first (`tiers`), is SillyTavern's.
4. Keys that are missing have the values that SillyTavern begins with. What is not used is named by
   its key. Nothing is read of keys and passwords.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import choose
from tui_chat.library.foreign_files import ImportNote
from tui_chat.models.json_text import as_array, object_or_none
from tui_chat.models.preset import Preset
from tui_chat.models.role import PROFILE_DEPTH, Profile, ProfilePlacement
from tui_chat.models.settings import (
    MAX_NOTE,
    MAX_VARIABLES,
    NOTE_DEPTH,
    AuthorNote,
    LoreRules,
    NotePlacement,
    Settings,
)
from tui_chat.models.text import clean
from tui_chat.plugins.sillytavern.policies import policies_of, policy_values
from tui_chat.plugins.sillytavern.preset_settings import some
from tui_chat.plugins.sillytavern.presets import import_preset
from tui_chat.plugins.sillytavern.scripts import read_scripts, script_names

_ROLES: Mapping[object, Literal["system", "user", "assistant"]] = {
    0: "system",
    1: "user",
    2: "assistant",
}
_PROFILE_PLACES: Mapping[object, ProfilePlacement] = {
    0: "anchor",
    2: "note_top",
    3: "note_bottom",
    4: "depth",
    9: "none",
}
NOTE_PLACES: Mapping[object, NotePlacement] = {0: "after_main", 1: "depth", 2: "before_main"}
_PRESET_KEYS = {
    "temp_openai": "temperature",
    "freq_pen_openai": "frequency_penalty",
    "pres_pen_openai": "presence_penalty",
    **{f"{key}_openai": key for key in ("top_p", "top_k", "top_a", "min_p", "repetition_penalty")},
}
"""The keys of a preset by their names in `oai_settings`."""
_CHARACTER_FIRST, _GLOBAL_FIRST, _EVENLY = 1, 2, 0
_CHAT_TIER, _PERSONA_TIER, _FIRST_TIER, _SECOND_TIER = range(4)


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona of SillyTavern."""

    profile: Profile
    lorebook: str = ""
    """The name of its lorebook; empty for none."""
    characters: frozenset[str] = frozenset()
    """The file names of the characters that it is connected to."""


@dataclass(frozen=True, slots=True)
class UserSettings:
    """What the settings of a user of SillyTavern say about requests."""

    preset_name: str = ""
    """The name of the preset in use; empty if they name none."""
    preset_keys: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The keys of the preset as they are in use."""
    policies: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The policies that they decide."""
    settings: Settings = Settings()
    """The settings of every preset."""
    allowed_presets: frozenset[str] | None = None
    """The presets whose regex scripts are run; None for all."""
    allowed_characters: frozenset[str] | None = None
    """The same for characters, by file name."""
    note_is_searched: bool = False
    """True if the keys of lorebooks are searched for in the author's note."""
    personas: Mapping[str, Persona] = field(default_factory=lambda: MappingProxyType({}))
    """By the file name of their picture."""
    default_persona: str = ""
    current_persona: str = ""
    global_books: tuple[str, ...] = ()
    character_books: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Further books of characters, by their file name without its ending."""
    strategy: int = _CHARACTER_FIRST
    unused: tuple[str, ...] = ()
    """What is not used: sentences."""

    def preset(self, found: Mapping[str, Any], name: str) -> tuple[Preset, tuple[ImportNote, ...]]:
        """Import a preset with the settings and policies of the user."""
        imported = import_preset(found, name)
        preset = imported.preset
        whose = policies_of(preset).scripts
        if self.allowed_presets is not None and name not in self.allowed_presets:
            whose = tuple(each for each in whose if each != "preset")
        policies = replace(policies_of(preset), scripts=whose, **self.policies)
        given = {
            name: value for name in _SETTINGS if (value := getattr(self.settings, name)) is not None
        }
        settings = replace(preset.settings, **given)
        return replace(preset, policies=policy_values(policies), settings=settings), imported.notes

    def persona_of(self, chosen: str, character: str, user: str) -> str:
        """Return the picture of the persona of a chat: the `chosen` one, else one that is connected
        with the character (a file name), else the one with the name of the user who has spoken,
        else the default one, else the present one; empty for none.
        """
        connected = (key for key, each in self.personas.items() if character in each.characters)
        named = (
            key
            for key, each in self.personas.items()
            if user and each.profile.name.casefold() == user.casefold()
        )
        places = (chosen, next(connected, ""), next(named, ""))
        wanted = (*places, self.default_persona, self.current_persona)
        return next((each for each in wanted if each in self.personas), "")

    def books(self, chat: str, persona: str, character: str, linked: str) -> Books:
        """Return the books of a chat: its own, its persona's (a picture), its character's (a file
        name without its ending, and the book that the card is linked to), and the global ones.
        """
        found: dict[str, int] = {}
        globals_ = dict.fromkeys(self.global_books)

        def add(name: str, tier: int) -> None:
            if name and name not in found:
                found[name] = tier

        def add_global() -> None:
            for name in globals_:
                add(name, _SECOND_TIER if self.strategy == _CHARACTER_FIRST else _FIRST_TIER)

        own_tier = _SECOND_TIER if self.strategy == _GLOBAL_FIRST else _FIRST_TIER
        if chat not in globals_:
            add(chat, _CHAT_TIER)
        described = self.personas.get(persona)
        if described is not None and described.lorebook not in globals_:
            add(described.lorebook, _PERSONA_TIER)
        if self.strategy in (_EVENLY, _GLOBAL_FIRST):
            add_global()
        for name in (linked, *self.character_books.get(character, ())):
            if name not in globals_:
                add(name, own_tier)
        if self.strategy == _CHARACTER_FIRST:
            add_global()
        return Books(tuple(found), tuple(found.values()), own_tier)


@dataclass(frozen=True, slots=True)
class Books:
    """The lorebooks of a chat in the order of their search."""

    names: tuple[str, ...]
    tiers: tuple[int, ...]
    """Of each: those of a lower tier get their tokens first."""
    own_tier: int
    """That of a book in the character's card, which is searched last."""


def read_user_settings(found: Mapping[str, Any]) -> UserSettings:
    """Return what the JSON of `settings.json` says. Values of a wrong type count as missing."""
    power, world = _object(found, "power_user"), _object(found, "world_info_settings")
    extensions, oai = _object(found, "extension_settings"), _object(found, "oai_settings")
    note = _object(extensions, "note")
    chosen = _object(world, "world_info")
    strategy = world.get("world_info_character_strategy", _CHARACTER_FIRST)
    searched = note.get("allowWIScan") is True
    return UserSettings(
        preset_name=_text(oai, "preset_settings_openai"),
        preset_keys={
            _PRESET_KEYS.get(key, key): value
            for key, value in oai.items()
            if key != "preset_settings_openai"
        },
        policies=_policies(power),
        settings=Settings(
            lore=_rules(world),
            reply_start=_text(power, "user_prompt_bias") or None,
            scripts=read_scripts(extensions.get("regex")) or None,
            author_note=_default_note(note, searched),
            global_variables=_variables(_object(_object(extensions, "variables"), "global")),
        ),
        allowed_presets=_allowed(extensions, "preset_allowed_regex"),
        allowed_characters=_allowed(extensions, "character_allowed_regex"),
        note_is_searched=searched,
        personas=MappingProxyType(_personas(found, power)),
        default_persona=_text(power, "default_persona"),
        current_persona=_text(found, "user_avatar"),
        global_books=_names(chosen.get("globalSelect")),
        character_books=MappingProxyType(
            {
                _text(book, "name"): _names(book.get("extraBooks"))
                for each in as_array(chosen.get("charLore"))
                if (book := object_or_none(each)) is not None
            }
        ),
        strategy=strategy if strategy in (_EVENLY, _GLOBAL_FIRST) else _CHARACTER_FIRST,
        unused=tuple(_unused(found, power, extensions, note)),
    )


_SETTINGS = ("lore", "reply_start", "scripts", "author_note", "global_variables")


def _object(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return object_or_none(found.get(key)) or {}


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    return clean(value) if isinstance(value, str) else ""


def _names(value: object) -> tuple[str, ...]:
    return tuple(each for each in as_array(value) if isinstance(each, str))


def _allowed(extensions: Mapping[str, Any], key: str) -> frozenset[str] | None:
    """Return the names in a list of those whose scripts are run; None if there is no list."""
    if key not in extensions:
        return None
    found = object_or_none(extensions[key])
    return frozenset(_names(found.get("openai") if found is not None else extensions[key]))


def _count(found: Mapping[str, Any], key: str, default: int, most: int = 1_000_000) -> int:
    """Return a whole number from 0 to the most, also one that is written as text."""
    try:
        number = int(found.get(key, default))
    except (TypeError, ValueError, OverflowError):
        return default
    return min(max(number, 0), most)


def _policies(power: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policies that the settings decide."""
    prefers = (
        ("system_prompt", "prefer_character_prompt"),
        ("post_history", "prefer_character_jailbreak"),
    )
    return {
        "pin_examples": power.get("pin_examples") is True,
        "strip_examples": power.get("strip_examples") is True,
        "collapse_newlines": power.get("collapse_newlines") is True,
        "card_prompts": tuple(name for name, key in prefers if power.get(key, True) is not False),
    }


def _rules(world: Mapping[str, Any]) -> LoreRules | None:
    """Return the rules of world info; None if the settings have none."""
    if not world:
        return None
    return LoreRules(
        names=world.get("world_info_include_names") is not False,
        budget_percent=_count(world, "world_info_budget", 25, 100),
        budget_cap=_count(world, "world_info_budget_cap", 0),
        min_activations=_count(world, "world_info_min_activations", 0),
        min_activations_depth=_count(world, "world_info_min_activations_depth_max", 0),
        group_scoring=world.get("world_info_use_group_scoring") is True,
        scan_depth=_count(world, "world_info_depth", 2),
        recursive=world.get("world_info_recursive") is True,
        max_recursion_steps=_count(world, "world_info_max_recursion_steps", 0),
        case_sensitive=world.get("world_info_case_sensitive") is True,
        match_whole_words=world.get("world_info_match_whole_words") is True,
    )


def _default_note(note: Mapping[str, Any], searched: bool) -> AuthorNote | None:
    """Return the author's note of chats that have none; None without one."""
    text = _text(note, "default")[:MAX_NOTE]
    if not text:
        return None
    return AuthorNote(
        text,
        _count(note, "defaultDepth", NOTE_DEPTH),
        choose(_ROLES, note.get("defaultRole"), "system"),
        choose(NOTE_PLACES, note.get("defaultPosition"), "depth"),
        _count(note, "defaultInterval", 1, 10_000),
        searched,
    )


def _variables(found: Mapping[str, Any]) -> Mapping[str, str] | None:
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in list(found.items())[:MAX_VARIABLES]
        if name
    }
    return MappingProxyType({name: clean(text)[:MAX_NOTE] for name, text in texts.items()}) or None


def _personas(found: Mapping[str, Any], power: Mapping[str, Any]) -> dict[str, Persona]:
    """Return the personas by their pictures, the present one included if it has no name."""
    names = dict(_object(power, "personas"))
    descriptions = dict(_object(power, "persona_descriptions"))
    present = _text(found, "user_avatar")
    if present and present not in names and _text(found, "username"):
        names[present] = found["username"]
        descriptions.setdefault(
            present,
            {
                "description": power.get("persona_description"),
                "position": power.get("persona_description_position"),
                "depth": power.get("persona_description_depth"),
                "role": power.get("persona_description_role"),
                "lorebook": power.get("persona_description_lorebook"),
            },
        )
    personas: dict[str, Persona] = {}
    for picture, name in names.items():
        if not isinstance(name, str) or not name.strip():
            continue
        about = object_or_none(descriptions.get(picture)) or {}
        profile = Profile(
            " ".join(clean(name).split()),
            _text(about, "description"),
            choose(_PROFILE_PLACES, about.get("position"), "anchor"),
            _count(about, "depth", PROFILE_DEPTH),
            choose(_ROLES, about.get("role"), "system"),
        )
        connections = (object_or_none(each) or {} for each in as_array(about.get("connections")))
        characters = frozenset(
            _text(each, "id") for each in connections if each.get("type") == "character"
        )
        personas[picture] = Persona(profile, _text(about, "lorebook").strip(), characters)
    return personas


def _unused(
    found: Mapping[str, Any],
    power: Mapping[str, Any],
    extensions: Mapping[str, Any],
    note: Mapping[str, Any],
) -> Iterator[str]:
    """Yield a sentence for each part of the settings that affects requests only there."""
    api = found.get("main_api")
    if isinstance(api, str) and api and api != "openai":
        yield (
            f"settings.json, main_api: “{clean(api)[:40]}” takes text completions, which are not "
            "supported; chats use the preset for chat completions."
        )
    if as_array(note.get("chara")):
        yield "settings.json, extension_settings.note.chara: notes of characters are not used."
    regex = {"regex_scripts": extensions.get("regex")}
    if names := script_names(regex)[1]:
        why = "they are disabled, or only change what is shown"
        yield f"settings.json, extension_settings.regex: not run, since {why}: {some(names)}."
    switches = {
        "power_user.custom_stopping_strings": power.get("custom_stopping_strings"),
        "power_user.trim_sentences": power.get("trim_sentences"),
        "tag_map": found.get("tag_map"),
        "power_user.instruct": _object(power, "instruct").get("enabled"),
    }
    for path, value in switches.items():
        if value and value != "[]":
            yield f"settings.json, {path}: not used."
