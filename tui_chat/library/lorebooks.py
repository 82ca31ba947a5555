"""Lorebook files: ours, and those of other programs.

1. Ours is a list of entries, or an object with `entries` (a list), `name` and the lorebook's
   settings. An entry has the fields of `LorebookEntry`, in camelCase or snake_case. An entry
   without an id gets one from its position (`entry-3`).
2. Another program's is read by the form of a plugin: an object of entries, keyed by their ids, or a
   list whose entries are distinguished from ours by their keys. The file is kept in that form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text, with_ids
from tui_chat.library.foreign_files import LoreForm, lore_forms
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.lorebook import Lorebook, LorebookEntry

BOOK_KEYS = KnownKeys(field.name for field in fields(Lorebook) if field.name != "extras")
ENTRY_KEYS = KnownKeys(
    (field.name for field in fields(LorebookEntry) if field.name != "extras"),
    meant={"text": "content"},
)


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
    parsed = read_lorebook(text, default_name)
    parsed.file.raise_errors(source)
    assert parsed.book is not None  # it had no errors
    return parsed.book


def read_lorebook(text: str, default_name: str) -> ParsedLorebook:
    """Parse a lorebook. Raises nothing: errors are among the file's findings."""
    file = JsonFile(text)
    if file.failed:
        return ParsedLorebook(None, file)
    if file.is_list:
        file.set_path((), "entries")
        whole, extras = dict[str, Any](entries=file.value), {}
    elif (table := object_or_none(file.value)) is not None:
        taken = file.sort_keys(table, (), BOOK_KEYS)
        whole, extras = taken.fields, taken.extras
    else:
        sentence = f"must be a list of entries, or an object, not {describe_value(file.value)}"
        file.report(Level.ERROR, "bad-value", sentence, ())
        return ParsedLorebook(None, file)
    path = file.path_of((), "entries")
    kept: list[Mapping[str, Any]] = []
    steps: Iterable[str | int] = count()
    if (foreign := object_or_none(whole.get("entries"))) is not None:
        whole["entries"], kept = _from_object(file, foreign, path)
        steps = foreign
    elif isinstance(whole.get("entries"), list):
        whole["entries"], kept = _from_list(file, as_array(whole["entries"]), path)
    if isinstance(whole.get("entries"), list):
        whole["entries"] = list(with_ids(whole["entries"], kept, "entry"))
    elif "entries" not in whole:
        file.report(Level.ERROR, "missing-key", "“entries” is missing", ())
    fields = file.read_fields(Lorebook, whole)
    if fields is None or file.failed:
        return ParsedLorebook(None, file)
    paths = tuple((*path, step) for step, _ in zip(steps, kept, strict=False))
    fields["name"] = fields.get("name") or default_name
    return ParsedLorebook(Lorebook(**fields, extras=MappingProxyType(extras)), file, paths)


def _from_object(
    file: JsonFile, entries: Mapping[str, Any], path: JsonPath
) -> tuple[list[object], list[Mapping[str, Any]]]:
    """Return the fields of another program's entries as ours, and their unsupported keys."""
    form = next(iter(lore_forms()), None)
    fields: list[object] = []
    extras: list[Mapping[str, Any]] = []
    for uid, value in entries.items():
        entry = object_or_none(value)
        if entry is None:
            sentence = f"must be an object, not {describe_value(value)}"
            file.report(Level.ERROR, "bad-value", sentence, (*path, uid))
            continue
        if form is None:
            file.report(Level.ERROR, "bad-value", _FOREIGN, (*path, uid))
            continue
        _add_foreign(form, file, uid, entry, (*path, uid), fields, extras)
    return fields, extras


def _from_list(
    file: JsonFile, entries: list[object], at: JsonPath
) -> tuple[list[object], list[Mapping[str, Any]]]:
    """Return the fields of a list's entries, ours and other programs', and their unknown keys.

    Values other than objects are left for `JsonFile.read_fields`.
    """
    fields: list[object] = []
    extras: list[Mapping[str, Any]] = []
    used: set[object] = set()
    forms = lore_forms() if any(not _is_ours(entry) for entry in entries) else ()
    for index, value in enumerate(entries):
        entry, path = object_or_none(value), (*at, index)
        if entry is None:
            fields.append(value)
            extras.append({})
        elif form := next((form for form in forms if form.is_entry(entry)), None):
            uid = entry.get("uid")
            is_id = isinstance(uid, int | str) and not isinstance(uid, bool) and uid not in used
            used.add(uid if is_id else None)
            identity = str(uid) if is_id else None
            _add_foreign(form, file, identity, entry, path, fields, extras)
        elif not forms and "uid" in entry:
            file.report(Level.ERROR, "bad-value", _FOREIGN, path)
        else:
            taken = file.sort_keys(entry, path, ENTRY_KEYS)
            fields.append(taken.fields)
            extras.append(taken.extras)
    return fields, extras


_FOREIGN = "is an entry of another program's lorebook, which no plugin here reads"


def _is_ours(entry: object) -> bool:
    """True if an entry has no keys but ours, so that no plugin need look at it."""
    return (object_or_none(entry) or {}).keys() <= ENTRY_KEYS.field_of.keys()


def _add_foreign(
    form: LoreForm,
    file: JsonFile,
    identity: str | None,
    raw_entry: Mapping[str, Any],
    path: JsonPath,
    fields: list[object],
    extras: list[Mapping[str, Any]],
) -> None:
    """Add the fields of another program's entry, and report what is not taken over."""
    entry = form.read(identity, raw_entry)
    for issue in entry.issues:
        file.report(issue.level, issue.code, issue.sentence, (*path, *issue.path))
    fields.append(entry.fields)
    extras.append(entry.extras)
