"""The fields of a character card as people edit them, and edits of the card's JSON. Pure.

Only what was changed is written, at every place where the card has it: `data`, and the copies
beside it that older programs read. Unknown keys stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.character_cards import PYGMALION
from tui_chat.library.character_roles import MAX_DEPTH, card_of_role
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values, typed_values
from tui_chat.models.field_types import Range
from tui_chat.models.json_text import as_object, object_or_none
from tui_chat.models.message import MessageRole
from tui_chat.models.role import Character, DepthPrompt, Role

_KEYS = {
    "description": "description",
    "personality": "personality",
    "scenario": "scenario",
    "first_message": "first_mes",
    "example_dialogues": "mes_example",
    "system_prompt": "system_prompt",
    "post_history": "post_history_instructions",
    "alternate_greetings": "alternate_greetings",
    "creator": "creator",
    "creator_notes": "creator_notes",
    "version": "character_version",
    "tags": "tags",
    "nickname": "nickname",
}
"""The keys of a card by the fields of `Character`."""
_DEPTH_FIELDS = ("depth_text", "depth", "depth_role")
_ROLES = tuple((role, role) for role in ("system", "user", "assistant"))


@dataclass(frozen=True, slots=True)
class _CharacterFile:
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_message: str = ""
    alternate_greetings: str = ""
    example_dialogues: str = ""
    system_prompt: str = ""
    post_history: str = ""
    depth_text: str = ""
    depth: Annotated[int, Range(0, MAX_DEPTH)] = 4
    depth_role: MessageRole = "system"
    creator: str = ""
    creator_notes: str = ""
    version: str = ""
    tags: tuple[str, ...] = ()
    nickname: str = ""
    world: str = ""


def character_fields(character: Character) -> FieldRows:
    """Return the fields of a character, in rows."""
    between = f"Other greetings, between them a line {_separator(character)}"
    return (
        (Field("description", "Description", "text"),),
        (Field("personality", "Personality", "text"), Field("scenario", "Scenario", "text")),
        (Field("first_message", "First message", "text"),),
        (Field("alternate_greetings", between, "text"),),
        (Field("example_dialogues", "Example dialogues (blocks begin with <START>)", "text"),),
        (Field("system_prompt", "System prompt (replaces the preset's)", "text"),
         Field("post_history", "Post-history instructions", "text")),
        (Field("depth_text", "Prompt at a depth", "text"),),
        (Field("depth", "Its depth (messages after it)", "number"),
         Field("depth_role", "Its role", "choice", _ROLES)),
        (Field("tags", "Tags", "words"), Field("world", "Linked lorebook")),
        (Field("creator", "Creator"), Field("version", "Version"),
         Field("nickname", "Nickname (not used)")),
        (Field("creator_notes", "Creator's notes (not sent)", "text"),),
    )  # fmt: skip


def _separator(character: Character) -> str:
    """Return a line that no greeting has."""
    lines = {line for each in character.alternate_greetings for line in each.split("\n")}
    separator = "---"
    while separator in lines:
        separator += "-"
    return separator


def character_values(character: Character) -> Values:
    """Return what the fields of a character show."""
    known = {field.name: field for row in character_fields(character) for field in row}
    prompt = character.depth_prompt or DepthPrompt("")
    own = ("alternate_greetings", *_DEPTH_FIELDS)
    between = f"\n{_separator(character)}\n"
    return {
        **shown_values(character, (each for name, each in known.items() if name not in own)),
        "alternate_greetings": between.join(character.alternate_greetings),
        "depth_text": prompt.content,
        "depth": str(prompt.depth),
        "depth_role": prompt.role,
    }


def edit_character(role: Role, values: Values) -> dict[str, Any]:
    """Return the JSON of a role's card with the typed fields that differ; of a new card for a role
    without one. Raises FieldError.
    """
    character = role.character or Character()
    shown = character_values(character)
    known = {field.name: field for row in character_fields(character) for field in row}
    changed = {name: value for name, value in values.items() if value != shown[name]}
    if not changed.keys().isdisjoint(_DEPTH_FIELDS):
        changed |= {name: values[name] for name in _DEPTH_FIELDS}
    if not (role.character and role.character.card):  # it was not read from a file
        changed = {**{name: value for name, value in shown.items() if value}, **changed}
    given = typed_values(changed, known, _CharacterFile)
    if "alternate_greetings" in given:
        parts = given["alternate_greetings"].split(f"\n{_separator(character)}\n")
        given["alternate_greetings"] = [each for each in parts if each.strip()]
    return _with_fields(_card(role), given)


def _card(role: Role) -> Mapping[str, Any]:
    """Return the card of a role, else a new one with its name."""
    if role.character is not None and role.character.card:
        return role.character.card
    card = card_of_role(Role(role.role_id, role.name)).json
    return {**card, "data": {**as_object(card.get("data")), "system_prompt": ""}}


def _with_fields(card: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card with other values of fields."""
    data = object_or_none(card.get("data")) if "spec" in card else None
    found = dict(card if data is None else data)
    whole = dict(card)
    is_old = data is None and "char_name" in card and "name" not in card
    for name, key in _KEYS.items():
        if name not in given:
            continue
        value = list(given[name]) if name in ("tags", "alternate_greetings") else given[name]
        found[PYGMALION.get(key, key) if is_old else key] = value
        for copy in (key, "creatorcomment" if name == "creator_notes" else key):
            if data is not None and copy in whole:
                whole[copy] = value
    extensions = dict(as_object(found.get("extensions")))
    if "world" in given:
        extensions["world"] = given["world"]
    if "depth_text" in given:
        prompt = object_or_none(extensions.get("depth_prompt")) or {}
        text, depth, role = (given[name] for name in _DEPTH_FIELDS)
        extensions["depth_prompt"] = {**prompt, "prompt": text, "depth": depth, "role": role}
    if extensions:
        found["extensions"] = extensions
    return found if data is None else {**whole, "data": found}
