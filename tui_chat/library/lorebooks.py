"""Lorebook files: ours, and those of other programs.

1. Ours is a list of entries, or an object with `entries` (a list), `name` and the lorebook's
   settings. An entry has the fields of `LorebookEntry`, in camelCase or snake_case. An entry
   without an id gets one from its position (`entry-3`).
2. Another program's is read by the form of a plugin: an object of entries, keyed by their ids, or a
   list whose entries are distinguished from ours by their keys. The file is kept in that form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text, with_ids
from tui_chat.library.foreign_files import lore_forms
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
        whole, extras = file.sort_keys(table, (), BOOK_KEYS)
    else:
        sentence = f"must be a list of entries, or an object, not {describe_value(file.value)}"
        file.report(Level.ERROR, "bad-value", sentence, ())
        return ParsedLorebook(None, file)
    paths: list[JsonPath] = []
    if isinstance(whole.get("entries"), dict | list):
        entries = list(_entries(file, whole["entries"], file.path_of((), "entries")))
        paths = [path for path, _, _ in entries]
        items = ((fields, kept) for _, fields, kept in entries)
        whole["entries"] = list(with_ids(items, "entry"))
    elif "entries" not in whole:
        file.report(Level.ERROR, "missing-key", "“entries” is missing", ())
    fields = file.read_fields(Lorebook, whole)
    if fields is None or file.failed:
        return ParsedLorebook(None, file)
    fields["name"] = fields.get("name") or default_name
    book = Lorebook(**fields, extras=MappingProxyType(extras))
    return ParsedLorebook(book, file, tuple(paths))


def _entries(
    file: JsonFile, entries: object, place: JsonPath
) -> Iterator[tuple[JsonPath, object, Mapping[str, Any]]]:
    """Yield the path of each entry, ours or another program's, its fields and its unknown keys.
    A value of a list that is no object is left for `JsonFile.read_fields`.
    """
    keyed = object_or_none(entries)
    items = enumerate(as_array(entries)) if keyed is None else keyed.items()
    forms = lore_forms() if keyed is not None or not all(map(_is_ours, as_array(entries))) else ()
    used: set[object] = set()
    for step, value in items:
        entry, path = object_or_none(value), (*place, step)
        if entry is None:
            if keyed is None:
                yield path, value, {}
            else:
                sentence = f"must be an object, not {describe_value(value)}"
                file.report(Level.ERROR, "bad-value", sentence, path)
            continue
        uid = step if keyed is not None else entry.get("uid")
        form = next((form for form in forms if keyed is not None or form.is_entry(entry)), None)
        if form is not None:
            is_id = isinstance(uid, int | str) and not isinstance(uid, bool) and uid not in used
            used.add(uid if is_id else None)
            foreign = form.read(str(uid) if is_id else None, entry)
            for issue in foreign.issues:
                file.report(issue.level, issue.code, issue.sentence, (*path, *issue.path))
            yield path, foreign.fields, foreign.extras
        elif keyed is not None or (not forms and "uid" in entry):
            sentence = "is an entry of another program's lorebook, which no plugin here reads"
            file.report(Level.ERROR, "bad-value", sentence, path)
        else:
            yield path, *file.sort_keys(entry, path, ENTRY_KEYS)


def _is_ours(entry: object) -> bool:
    """True if an entry has no keys but ours, so that no plugin need look at it."""
    return (object_or_none(entry) or {}).keys() <= ENTRY_KEYS.field_of.keys()
