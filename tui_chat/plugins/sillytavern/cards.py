"""Character cards as roles, and edits of their JSON. Pure.

1. A lorebook in a card (`character_book`) is read like SillyTavern's world info.
2. The depth prompt and the linked lorebook are in `extensions`, as SillyTavern has them.
3. Of an edited card only what was changed is written, at every place where the card has it: `data`,
   and the copies beside it that older programs read. Unknown keys stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import choose
from tui_chat.library.foreign_files import CardFiles
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values, typed_values
from tui_chat.models.boundary import Range, camel_case
from tui_chat.models.json_text import JsonObject, as_array, as_object, object_or_none
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import MessageRole
from tui_chat.models.role import Character, DepthPrompt, Role
from tui_chat.models.text import clean
from tui_chat.plugins.sillytavern.card_files import (
    LARGEST_CARD,
    PYGMALION,
    CardFile,
    dump_json,
    dump_png,
    holds_card,
    is_card_file,
    read_card,
)
from tui_chat.plugins.sillytavern.scripts import scripts_in

if TYPE_CHECKING:
    pass

MAX_DEPTH = 10_000
_ROLES: Mapping[object, MessageRole] = {
    "user": "user",
    "assistant": "assistant",
    1: "user",
    2: "assistant",
}


def role_of_card(card: CardFile, role_id: str, source: str) -> Role:
    """Return the role that a card describes; `source` is what errors call it.

    Fields of a wrong type count as empty. Raises InputError for a lorebook that cannot be read.
    """
    fields = card.fields

    def text(key: str, old: str = "") -> str:
        found = fields.get(key, fields.get(old))
        return clean(found) if isinstance(found, str) else ""

    extensions = object_or_none(fields.get("extensions")) or {}
    world = extensions.get("world")
    character = Character(
        description=text("description"),
        personality=text("personality"),
        scenario=text("scenario"),
        first_message=text("first_mes"),
        alternate_greetings=tuple(_texts(fields.get("alternate_greetings"))),
        example_dialogues=text("mes_example"),
        system_prompt=text("system_prompt"),
        post_history=text("post_history_instructions"),
        depth_prompt=_depth_prompt(extensions),
        creator=text("creator"),
        creator_notes=text("creator_notes", "creatorcomment"),
        version=text("character_version"),
        tags=tuple(_texts(fields.get("tags"))),
        nickname=text("nickname"),
        book=_book(card, source),
        world=world if isinstance(world, str) else "",
        card=MappingProxyType(dict(card.json)),
        scripts=scripts_in(extensions),
    )
    return Role(role_id, clean(card.name), character=character)


def card_of_role(role: Role, picture: bytes = b"") -> CardFile:
    """Return a role's card: the JSON that it was read from under its present name, or a new one."""
    if role.character is None:
        empty: dict[str, Any] = {"alternate_greetings": [], "tags": [], "extensions": {}}
        empty |= dict.fromkeys(_TEXT_FIELDS, "")
        data: Mapping[str, Any] = {
            "name": role.name,
            "system_prompt": role.system_prompt,
            **empty,
        }
        return CardFile({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}, picture)
    card = dict(role.character.card)
    if clean(CardFile(card).name) != role.name:
        inner = object_or_none(card.get("data"))
        card["char_name" if "char_name" in card and "name" not in card else "name"] = role.name
        if inner is not None:
            card["data"] = {**inner, "name": role.name}
    return CardFile(card, picture)


_TEXT_FIELDS = (
    *("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"),
    *("post_history_instructions", "creator", "character_version"),
)


def _texts(value: object) -> list[str]:
    return [clean(each) for each in as_array(value) if isinstance(each, str)]


def _depth_prompt(extensions: Mapping[str, Any]) -> DepthPrompt | None:
    found = object_or_none(extensions.get("depth_prompt")) or {}
    prompt, depth = found.get("prompt"), found.get("depth")
    if not isinstance(prompt, str) or not prompt.strip():
        return None
    if isinstance(depth, str) and depth.strip().isdecimal():
        depth = int(depth)
    if not isinstance(depth, int) or isinstance(depth, bool) or not 0 <= depth <= MAX_DEPTH:
        depth = 4
    return DepthPrompt(clean(prompt), depth, choose(_ROLES, found.get("role"), "system"))


def _book(card: CardFile, source: str) -> Lorebook | None:
    text = book_text(card)
    if not text:
        return None
    return parse_lorebook(text, f"{source}, character_book", f"{card.name}'s lorebook")


def book_text(card: CardFile) -> str:
    """Return the lorebook in a card as a file of SillyTavern's world info; empty without one."""
    found = object_or_none(card.fields.get("character_book"))
    if found is None:
        return ""
    entries = [
        book_entry(entry, index)
        for index, each in enumerate(as_array(found.get("entries")))
        if (entry := object_or_none(each)) is not None
    ]
    title = found.get("name")
    book = {
        "name": title if isinstance(title, str) and title else f"{card.name}'s lorebook",
        "entries": entries,
    }
    return json.dumps(book)


def book_entry(entry: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return an entry of a card's lorebook as SillyTavern's world info has it."""
    extensions = object_or_none(entry.get("extensions")) or {}
    place = extensions.get("position")
    if not isinstance(place, int) or isinstance(place, bool):
        place = 0 if entry.get("position") == "before_char" else 1
    found: dict[str, Any] = {
        "uid": index,
        "key": entry.get("keys") or [],
        "keysecondary": entry.get("secondary_keys") or [],
        "comment": entry.get("comment") or entry.get("name") or "",
        "content": entry.get("content") or "",
        "constant": entry.get("constant") is True,
        "selective": entry.get("selective") is True,
        "order": entry.get("insertion_order", 100),
        "position": place,
        "disable": entry.get("enabled") is False,
        "useProbability": True,
    }
    for key, name in _EXTENSION_KEYS.items():
        if extensions.get(key) is not None:
            found[name] = extensions[key]
    return found


_EXTENSION_KEYS = {
    key: camel_case(key)
    for key in (
        *("selectiveLogic", "probability", "useProbability", "depth", "role", "outlet_name"),
        *("group", "group_override", "group_weight", "use_group_scoring", "scan_depth"),
        *("case_sensitive", "match_whole_words", "prevent_recursion", "exclude_recursion"),
        *("delay_until_recursion", "sticky", "cooldown", "delay", "triggers", "ignore_budget"),
        *("match_persona_description", "match_character_description"),
        *("match_character_personality", "match_character_depth_prompt", "match_scenario"),
        "match_creator_notes",
    )
}
"""Keys among the extensions of a card's entry, and those of world info."""


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
_ROLE_CHOICES = tuple((role, role) for role in ("system", "user", "assistant"))


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
         Field("depth_role", "Its role", "choice", _ROLE_CHOICES)),
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
    """Return a role's card, or a new one, with the changed fields. Raises FieldError."""
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


# --- what the library needs of them --------------------------------------------------------------


def _read(content: bytes, source: str) -> tuple[Role, bytes]:
    """Return the role of a card and its picture. The role's id is derived from the names of the
    character and its creator, so that a newer version of a card replaces the older one.
    """
    card = read_card(content, source)
    creator = str(card.fields.get("creator") or "")
    digest = sha256(f"{card.name}\0{creator}".encode("utf-8", "replace")).hexdigest()
    return role_of_card(card, f"card-{digest[:16]}", source), card.picture


def _written(role: Role, picture: bytes, ending: str) -> bytes:
    card = card_of_role(role, picture)
    return dump_png(card) if ending == ".png" else dump_json(card).encode()


def _character(card: JsonObject, source: str) -> Character:
    character = role_of_card(CardFile(card), "", source).character
    assert character is not None  # a card has one
    return character


CARD_FILES = CardFiles(
    largest=LARGEST_CARD,
    detect=is_card_file,
    holds=holds_card,
    read=_read,
    write=_written,
    character=_character,
    fields=character_fields,
    values=character_values,
    edit=edit_character,
)
