"""Lorebook files: ours, and SillyTavern's world info.

1. Ours is a list of entries, or an object with `entries` (a list), `name` and the lorebook's
   settings. An entry has the fields of `LorebookEntry`, in camelCase or snake_case. An entry
   without an id gets one from its position (`entry-3`).
2. SillyTavern's (see `sillytavern_world_info`) has an object of entries, keyed by their ids. Its
   `entries` may also be a list, whose entries are distinguished from ours by their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, PlainValidator, StrictBool, StrictInt, StrictStr

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_model import FileModel
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text, require_number
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.library.sillytavern_world_info import (
    LARGEST_NUMBER,
    WorldInfoEntry,
    is_world_info_entry,
    world_info_entry,
)
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.lorebook import (
    Lorebook,
    LorebookEntry,
    LorePosition,
    MatchSource,
    SecondaryLogic,
)
from tui_chat.models.message import MessageRole
from tui_chat.models.policies import GenerationKind
from tui_chat.models.preset import AnchorPoint


def _percent(value: object) -> float:
    found = require_number(value)
    if not 0 <= found <= 100:
        raise ValueError("from 0 to 100")
    return float(found)


_Count = Annotated[StrictInt, Field(ge=0, le=LARGEST_NUMBER)]
_Number = Annotated[StrictInt, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]


class EntryFile(FileModel):
    """The fields of an entry in a file of ours."""

    id: StrictStr | None = None
    content: StrictStr = ""
    keys: tuple[StrictStr, ...] = ()
    name: StrictStr = ""
    enabled: StrictBool = True
    constant: StrictBool = False
    secondary_keys: tuple[StrictStr, ...] = ()
    secondary_logic: SecondaryLogic = "and_any"
    role: MessageRole = "system"
    insertion_point: _Number | None = None
    anchor_point: AnchorPoint | None = None
    anchor_target: StrictStr | None = None
    order: _Number = 100
    scan_depth: _Count | None = None
    case_sensitive: StrictBool | None = None
    whole_words: StrictBool | None = None
    prevent_recursion: StrictBool = False
    exclude_recursion: StrictBool = False
    delay_until_recursion: StrictBool | _Count = 0
    ignore_budget: StrictBool = False
    probability: Annotated[float, PlainValidator(_percent)] = 100.0
    position: LorePosition = ""
    outlet: StrictStr = ""
    groups: tuple[StrictStr, ...] = ()
    group_override: StrictBool = False
    group_weight: _Count = 100
    group_scoring: StrictBool | None = None
    sticky: _Count = 0
    cooldown: _Count = 0
    delay: _Count = 0
    triggers: tuple[GenerationKind, ...] = ()
    characters: tuple[StrictStr, ...] = ()
    character_tags: tuple[StrictStr, ...] = ()
    characters_excluded: StrictBool = False
    sources: tuple[MatchSource, ...] = ()


class BookFile(FileModel):
    """The fields of a lorebook in a file of ours."""

    name: StrictStr | None = None
    entries: tuple[EntryFile, ...]
    scan_depth: _Count = 2
    token_budget: _Count | None = None
    recursive: StrictBool = True
    max_recursion: _Count = 10
    case_sensitive: StrictBool = False
    whole_words: StrictBool = True


BOOK_KEYS = KnownKeys(BookFile.model_fields)
ENTRY_KEYS = KnownKeys(EntryFile.model_fields)


@dataclass(frozen=True, slots=True)
class ParsedLorebook:
    """A parsed lorebook file with its findings."""

    book: Lorebook | None
    """None if the file has errors."""
    file: JsonFile
    paths: tuple[JsonPath, ...] = ()
    """The path of each entry."""


def load_lorebook(path: Path) -> Lorebook:
    """Read a lorebook file. Raises InputError naming file, place, line and fault."""
    return parse_lorebook(read_file_text(path), str(path), path.stem)


def parse_lorebook(text: str, source: str, default_name: str) -> Lorebook:
    """Parse a lorebook; `source` is what errors call the text. Raises InputError."""
    found = read_lorebook(text, default_name)
    found.file.raise_errors(source)
    assert found.book is not None  # it had no errors
    return found.book


def read_lorebook(text: str, default_name: str) -> ParsedLorebook:
    """Parse a lorebook. Raises nothing: errors are among the file's findings."""
    file = JsonFile(text)
    if file.failed:
        return ParsedLorebook(None, file)
    if file.is_list:
        file.set_path((), "entries")
        whole, extras = dict[str, Any](entries=file.value), {}
    elif (found := object_or_none(file.value)) is not None:
        taken = file.sort_keys(found, (), BOOK_KEYS)
        whole, extras = taken.fields, taken.extras
    else:
        sentence = f"must be a list of entries, or an object, not {describe_value(file.value)}"
        file.report(Level.ERROR, "bad-value", sentence, ())
        return ParsedLorebook(None, file)
    at = file.path_of((), "entries")
    kept: list[Mapping[str, Any]] = []
    steps: Iterable[str | int] = count()
    if (foreign := object_or_none(whole.get("entries"))) is not None:
        whole["entries"], kept = _from_world_info(file, foreign, at)
        steps = foreign
    elif isinstance(whole.get("entries"), list):
        whole["entries"], kept = _from_list(file, as_array(whole["entries"]), at)
    book = file.validate(BookFile, whole)
    if book is None or file.failed:
        return ParsedLorebook(None, file)
    paths = tuple((*at, step) for step, _ in zip(steps, kept, strict=False))
    return ParsedLorebook(_book(book, kept, extras, default_name), file, paths)


def _from_world_info(
    file: JsonFile, entries: Mapping[str, Any], at: JsonPath
) -> tuple[list[object], list[Mapping[str, Any]]]:
    """Return the fields of SillyTavern's entries as ours, and their unsupported keys."""
    fields: list[object] = []
    extras: list[Mapping[str, Any]] = []
    for uid, value in entries.items():
        found = object_or_none(value)
        if found is None:
            sentence = f"must be an object, not {describe_value(value)}"
            file.report(Level.ERROR, "bad-value", sentence, (*at, uid))
            continue
        entry = _world_info(file, uid, found, (*at, uid))
        fields.append(entry.fields)
        extras.append(entry.extras)
    return fields, extras


def _from_list(
    file: JsonFile, entries: list[object], at: JsonPath
) -> tuple[list[object], list[Mapping[str, Any]]]:
    """Return the fields of a list's entries, ours and SillyTavern's, and their unknown keys.

    Values other than objects are left for `JsonFile.validate`.
    """
    fields: list[object] = []
    extras: list[Mapping[str, Any]] = []
    used: set[object] = set()
    for index, value in enumerate(entries):
        found, path = object_or_none(value), (*at, index)
        if found is None:
            fields.append(value)
            extras.append({})
        elif is_world_info_entry(found):
            uid = found.get("uid")
            is_id = isinstance(uid, int | str) and not isinstance(uid, bool) and uid not in used
            used.add(uid if is_id else None)
            entry = _world_info(file, str(uid) if is_id else None, found, path)
            fields.append(entry.fields)
            extras.append(entry.extras)
        else:
            taken = file.sort_keys(found, path, ENTRY_KEYS)
            fields.append(taken.fields)
            extras.append(taken.extras)
    return fields, extras


def _world_info(
    file: JsonFile, uid: str | None, found: Mapping[str, Any], path: JsonPath
) -> WorldInfoEntry:
    entry = world_info_entry(uid, found)
    for issue in entry.issues:
        file.report(issue.level, issue.code, issue.sentence, (*path, *issue.path))
    return entry


def _book(
    found: BookFile, kept: list[Mapping[str, Any]], extras: Mapping[str, Any], default_name: str
) -> Lorebook:
    return Lorebook(
        name=found.name or default_name,
        entries=tuple(_entries(found.entries, kept)),
        scan_depth=found.scan_depth,
        token_budget=found.token_budget,
        recursive=found.recursive,
        max_recursion=found.max_recursion,
        case_sensitive=found.case_sensitive,
        whole_words=found.whole_words,
        extras=MappingProxyType(dict(extras)),
    )


def _entries(
    found: tuple[EntryFile, ...], extras: list[Mapping[str, Any]]
) -> Iterator[LorebookEntry]:
    used = {entry.id for entry in found}
    for index, (entry, unknown) in enumerate(zip(found, extras, strict=True)):
        number = index + 1
        while f"entry-{number}" in used:
            number += 1
        identity = entry.id or f"entry-{number}"
        used.add(identity)
        given = entry.model_dump(exclude={"id"})
        yield LorebookEntry(id=identity, extras=MappingProxyType(dict(unknown)), **given)
