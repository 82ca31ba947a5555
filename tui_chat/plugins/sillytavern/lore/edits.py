"""Edits of a lorebook file. Pure: each returns the file with another text.

1. An edit changes the keys of its fields in the file's JSON. All else stays as it is: unknown keys,
   spellings, and the form of another program.
2. The new text is read again. What the form of the file cannot express is an error that names the
   field, so that an edit is made as it was meant or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

from tui_chat.errors import ChangedElsewhere, FieldError, InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.library.lorebooks import BOOK_KEYS, ENTRY_KEYS, read_lorebook
from tui_chat.models.boundary import camel_case
from tui_chat.models.json_text import as_array, object_or_none
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.plugins.sillytavern.world_info import change_entry as change_world_info_entry
from tui_chat.plugins.sillytavern.world_info import export_entry, is_world_info_entry

_LIST = "entries"
_INDENT = re.compile(r"\n([ \t]+)\S")
_ENTRY_FIELDS = tuple(field.name for field in fields(LorebookEntry) if field.name != "extras")
_BOOK_FIELDS = tuple(
    field.name for field in fields(Lorebook) if field.name not in ("entries", "extras")
)


@dataclass(frozen=True, slots=True)
class LorebookFile:
    """The text of a lorebook file, and what it says."""

    text: str
    source: str
    """Its name in errors."""
    name: str
    """The lorebook's name if the text has none."""
    book: Lorebook
    paths: tuple[JsonPath, ...]
    """The path of each entry."""
    is_world_info: bool
    """True if a new entry has the form of SillyTavern, not ours."""
    value_is_list: bool
    """True if the text is a list of entries, without settings."""

    @classmethod
    def read(cls, text: str, source: str, name: str) -> LorebookFile:
        """Read a file. Raises InputError with place."""
        parsed = read_lorebook(text, name)
        parsed.file.raise_errors(source)
        assert parsed.book is not None  # it had no errors
        whole = object_or_none(parsed.file.value)
        entries = parsed.file.value
        if whole is not None:
            entries = next(value for key, value in whole.items() if _is_list(key))
        objects = [object_or_none(value) or {} for value in as_array(entries)]
        is_object = isinstance(entries, dict)
        is_world_info = is_object or (bool(objects) and all(map(is_world_info_entry, objects)))
        return cls(text, source, name, parsed.book, parsed.paths, is_world_info, whole is None)


def new_lorebook(name: str) -> str:
    """Return the text of a lorebook without entries."""
    return json.dumps({"name": name, "entries": []}, indent=2, ensure_ascii=False) + "\n"


def change_entry(file: LorebookFile, number: int, after: LorebookEntry) -> LorebookFile:
    """Give an entry other fields. Raises FieldError for one that the file cannot express."""
    before, whole = file.book.entries[number], _value(file)
    raw_entry = _at(whole, file.paths[number])
    if is_world_info_entry(raw_entry):
        change_world_info_entry(raw_entry, before, after)
    else:
        _change_fields(raw_entry, _fields(before), _fields(after))
    edited = _with_value(file, whole)
    _require_equal(edited, edited.book.entries[number], after)
    return edited


def merge_entry(
    file: LorebookFile, before: LorebookEntry, after: LorebookEntry, *, overwrite: bool = False
) -> LorebookFile:
    """Replace the entry `before`. Raises ChangedElsewhere if the file has another one of its id,
    unless `overwrite`, and InputError if the entry is gone.
    """
    entries = file.book.entries
    same = (number for number, entry in enumerate(entries) if entry == before)
    renewed = (number for number, entry in enumerate(entries) if entry.id == before.id)
    number = next(same, next(renewed, None))
    if number is None:
        raise InputError(f"Another program removed this entry from {file.source}.")
    if entries[number] != before and not overwrite:
        advice = "Save again to overwrite that."
        raise ChangedElsewhere("Another program changed this entry.", advice=advice)
    return change_entry(file, number, after)


def add_entry(file: LorebookFile, entry: LorebookEntry) -> LorebookFile:
    """Add an entry with a free id. Raises FieldError for a field that the file cannot express."""
    whole = _value(file)
    entries = whole if file.value_is_list else next(whole[key] for key in whole if _is_list(key))
    taken = {entry.id for entry in file.book.entries}
    if file.is_world_info:
        uids = (int(identity) for identity in taken if identity.isascii() and identity.isdigit())
        uid = max(uids, default=-1) + 1
        new = export_entry(entry, uid, Lorebook(""), [])
        entry = replace(entry, id=str(uid))
    else:
        numbers = range(len(taken) + 1, 2 * len(taken) + 2)
        entry = replace(entry, id=next(f"entry-{n}" for n in numbers if f"entry-{n}" not in taken))
        spelled = {_spelled(name, file.text): value for name, value in _written(entry).items()}
        new = {**spelled, **entry.extras}
    if isinstance(entries, dict):
        entries[entry.id] = new
    else:
        entries.append(new)
    edited = _with_value(file, whole)
    _require_equal(edited, edited.book.entries[-1], entry)
    return edited


def remove_entry(file: LorebookFile, entry: LorebookEntry) -> LorebookFile:
    """Remove an entry. Raises InputError if another program changed it."""
    whole = _value(file)
    if entry not in file.book.entries:
        raise InputError(f"Another program changed this entry in {file.source}.")
    path = file.paths[file.book.entries.index(entry)]
    del _at(whole, path[:-1])[path[-1]]
    return _with_value(file, whole)


def _value(file: LorebookFile) -> Any:
    return deepcopy(JsonFile(file.text).value)


def _with_value(file: LorebookFile, value: Any) -> LorebookFile:
    indent = match[1] if (match := _INDENT.search(file.text)) else 2
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    return LorebookFile.read(text, file.source, file.name)


def _at(value: Any, path: JsonPath) -> Any:
    for step in path:
        value = value[step]
    return value


def _is_list(key: str) -> bool:
    """True if a key is that of the entries."""
    return BOOK_KEYS.field_of.get(key) == _LIST


def _fields(entry: LorebookEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _ENTRY_FIELDS}


def _written(entry: LorebookEntry) -> dict[str, Any]:
    """Return the fields of a new entry as a file has them: those that are not the usual ones."""
    usual = _fields(LorebookEntry(""))
    kept = ("id", "keys", "content")
    fields = _fields(entry).items()
    return {name: _json(value) for name, value in fields if name in kept or value != usual[name]}


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  of texts
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _change_fields(
    raw: dict[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Write the fields that differ, in the spelling that is there; None removes one."""
    for name, value in after.items():
        if value == before[name]:
            continue
        there = [key for key in raw if ENTRY_KEYS.field_of.get(key) == name]
        for key in there if value is None else there[1:]:
            del raw[key]
        if value is not None:
            key = there[0] if there else _spelled(name, json.dumps(raw))
            raw[key] = _json(value)


def _spelled(name: str, text: str) -> str:
    """Return a field as a file spells its keys: in snake_case if it has such a key of ours."""
    snake = any(f'"{name}"' in text for name in (*_ENTRY_FIELDS, *_BOOK_FIELDS) if "_" in name)
    return name if snake else camel_case(name)


def _require_equal(file: LorebookFile, found: LorebookEntry, wanted: LorebookEntry) -> None:
    """Raise FieldError for the first field that a file does not say as it was meant."""
    for name in _ENTRY_FIELDS:
        if getattr(found, name) != getattr(wanted, name):
            words = name.replace("_", " ")
            form = "SillyTavern's form" if file.is_world_info else "the form"
            sentence = f"{form} of a lorebook cannot express the field “{words}”."
            raise FieldError(name, f"{file.source} is not changed: {sentence}")
