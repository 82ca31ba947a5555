"""Lorebook files as texts, and edits of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from tui_chat.models.boundary import camel_case
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.plugins.sillytavern.lore.edits import (
    LorebookFile,
    change_entry,
    merge_entry,
)
from tui_chat.plugins.sillytavern.lore.fields import (
    entry_fields,
    entry_values,
    typed_entry,
)


def lorebook_text(book: Lorebook) -> str:
    """Return a lorebook as a file of our format with every field."""
    body = {**file_fields(book), "entries": [file_fields(entry) for entry in book.entries]}
    return json.dumps(body)


def file_fields(value: Lorebook | LorebookEntry) -> dict[str, Any]:
    names = [field.name for field in fields(value) if field.name not in ("entries", "extras")]
    return {**{camel_case(name): getattr(value, name) for name in names}, **value.extras}


def read(text: str | dict[str, Any]) -> LorebookFile:
    whole = text if isinstance(text, str) else json.dumps(text, indent=4)
    return LorebookFile.read(whole, "town.json", "town")


def check_places(file: LorebookFile, *, is_foreign: bool) -> None:
    """Assert that an entry goes to each place that its form offers."""
    entry = replace(file.book.entries[0], role="system")
    rows = entry_fields(is_foreign=is_foreign)
    [places] = [each.choices for row in rows for each in row if each.name == "place"]
    more = {"insertion_point": "3", "anchor_target": "style", "outlet": "out"}
    for place, _ in places:
        given = {**entry_values(entry), **more, "place": place}
        after = typed_entry(given, entry, is_foreign=is_foreign)
        edited = change_entry(file, 0, after).book.entries[0]
        assert entry_values(edited)["place"] == place


def with_content(entry: LorebookEntry, content: str) -> Callable[[LorebookFile], LorebookFile]:
    after = replace(entry, content=content)
    return lambda file: merge_entry(file, entry, after)
