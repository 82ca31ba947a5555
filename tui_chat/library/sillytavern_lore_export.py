"""Lorebooks as SillyTavern's world info.

1. A file of world info is returned as it is, since lorebooks in that form are not changed here.
2. Of our own form, what holds for a whole book is written to its entries where SillyTavern has it
   there. What it does not have is named in a note.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.library.sillytavern_world_info import (
    LOGIC,
    NOTE_DEPTH,
    POSITIONS,
    ROLES,
    SOURCES,
    is_world_info_entry,
)
from tui_chat.models.json_text import as_array, object_or_none
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.models.sanitize import one_line, sanitize

_LOGIC = {name: number for number, name in LOGIC.items()}
_ROLES = {name: number for number, name in ROLES.items()}
_POSITIONS = {name: number for number, name in POSITIONS.items()}
_AT_DEPTH = 4


@dataclass(frozen=True, slots=True)
class ExportedLorebook:
    """World info of SillyTavern."""

    json: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    """A sentence for each thing that the file cannot express."""

    @property
    def text(self) -> str:
        """The file; characters that a terminal would obey are escaped."""
        return sanitize(json.dumps(self.json, indent=4, ensure_ascii=False), "json") + "\n"


def export_lorebook_text(text: str, source: str, name: str) -> ExportedLorebook:
    """Return a lorebook file as world info; `source` is what errors call it. Raises InputError."""
    book = parse_lorebook(text, source, name)
    whole = object_or_none(json.loads(text.removeprefix("\ufeff")))
    if whole is not None:
        entries = [object_or_none(each) or {} for each in as_array(whole.get("entries"))]
        if object_or_none(whole.get("entries")) is not None or (
            entries and all(map(is_world_info_entry, entries))
        ):
            return ExportedLorebook(whole)
    return export_lorebook(book)


def export_lorebook(book: Lorebook) -> ExportedLorebook:
    """Return a lorebook as world info."""
    notes: list[str] = []
    entries = {
        str(number): export_entry(entry, number, book, notes)
        for number, entry in enumerate(book.entries)
    }
    notes += _book_notes(book)
    return ExportedLorebook({"name": book.name, **book.extras, "entries": entries}, tuple(notes))


def _book_notes(book: Lorebook) -> Iterator[str]:
    usual = Lorebook("")
    for name in ("token_budget", "max_recursion"):
        if (value := getattr(book, name)) != getattr(usual, name):
            yield f"Not written, since SillyTavern has it for all books: {name} {value}."


def export_entry(
    entry: LorebookEntry, number: int, book: Lorebook, notes: list[str]
) -> dict[str, Any]:
    """Return an entry of a book as world info with the uid `number`; add what it cannot express to
    the notes.
    """
    usual = Lorebook("")

    def own(name: str) -> Any:
        """Return a value of the entry, else the book's if that is not the usual one."""
        of_book = getattr(book, name)
        value = getattr(entry, name)
        return of_book if value is None and of_book != getattr(usual, name) else value

    position, depth = _place(entry, notes)
    percent = entry.probability
    return {
        "uid": number,
        "key": list(entry.keys),
        "keysecondary": list(entry.secondary_keys),
        "comment": entry.name,
        "content": entry.content,
        "constant": entry.constant,
        "selective": bool(entry.secondary_keys),
        "selectiveLogic": _LOGIC[entry.secondary_logic],
        "addMemo": bool(entry.name),
        "order": entry.order,
        "position": position,
        "depth": depth,
        "role": _ROLES.get(entry.role, 0),
        "outletName": entry.outlet,
        "disable": not entry.enabled,
        "ignoreBudget": entry.ignore_budget,
        "excludeRecursion": entry.exclude_recursion,
        "preventRecursion": entry.prevent_recursion or not book.recursive,
        "delayUntilRecursion": entry.delay_until_recursion,
        "probability": int(percent) if percent == int(percent) else percent,
        "useProbability": True,
        "group": ", ".join(entry.groups),
        "groupOverride": entry.group_override,
        "groupWeight": entry.group_weight,
        "useGroupScoring": entry.group_scoring,
        "scanDepth": own("scan_depth"),
        "caseSensitive": own("case_sensitive"),
        "matchWholeWords": own("whole_words"),
        "sticky": entry.sticky,
        "cooldown": entry.cooldown,
        "delay": entry.delay,
        "triggers": list(entry.triggers),
        "characterFilter": {
            "isExclude": entry.characters_excluded,
            "names": list(entry.characters),
            "tags": list(entry.character_tags),
        },
        **{key: name in entry.sources for key, name in SOURCES.items()},
        "displayIndex": number,
        **entry.extras,
    }


def _place(entry: LorebookEntry, notes: list[str]) -> tuple[int, int]:
    """Return the position of an entry, and its depth."""
    point = entry.insertion_point
    depth = -point if point is not None and point < 0 else NOTE_DEPTH
    if entry.position and entry.position != "depth":
        return _POSITIONS[entry.position], depth
    name = one_line(entry.name or entry.id, 60)
    if point is not None:
        if point >= 0:
            notes.append(f"“{name}”: a depth that counts from the oldest message is not written.")
            return 0, depth
        return _AT_DEPTH, depth
    at_end = entry.anchor_point == "after" and entry.anchor_target in (None, CHAT_HISTORY)
    if at_end:
        return _AT_DEPTH, 0
    if entry.anchor_target or entry.anchor_point:
        notes.append(f"“{name}”: the anchor “{entry.anchor_target}” is not written.")
    return 0, depth
