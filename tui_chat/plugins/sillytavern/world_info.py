"""Imports SillyTavern's world info entries.

1. Its depth d >= 1 is our `insertionPoint` -d, because the draft is the newest message there;
   its depth 0 is after the history.
2. Entries keep the name of their place (`position`). Where a preset has no such place, those around
   the character or its example dialogues go directly before the history, and those around the
   author's note to that note's default depth; those for an outlet are sent by `{{outlet::name}}`
   only.
3. Filters, groups and timing are taken over.
4. Lines at the top of its content that begin with `@@` are decorators, and are not sent:
   `@@activate` makes it constant, `@@dont_activate` disables it; others are reported.
5. Unsupported settings (vector search, scripts) are kept as unknown keys and reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from tui_chat.library.foreign_files import EntryIssue, ExportedFile, ForeignEntry, LoreForm
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.lorebook import LARGEST_NUMBER, Lorebook, LorebookEntry
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.sillytavern.policies import GENERATION_KINDS

NOTE_DEPTH = 4
"""SillyTavern's default depth of an author's note."""


def is_world_info_entry(found: Mapping[str, Any]) -> bool:
    """Return True if an entry has a key that only SillyTavern's have, and none of ours alone."""
    return not found.keys().isdisjoint(_ONLY_ITS) and found.keys().isdisjoint(_ONLY_OURS)


def usable_entries(entries: object) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the entries of a book that SillyTavern can use, by their ids, and the names of the
    others: those without a place or a list of keys. Numbers may be written as text.
    """
    found = object_or_none(entries)
    pairs = found.items() if found is not None else enumerate(as_array(entries))
    usable: dict[str, dict[str, Any]] = {}
    others: list[str] = []
    for number, value in pairs:
        entry = object_or_none(value) or {}
        uid = entry.get("uid") if found is None else number
        place, name = entry.get("position"), entry.get("comment")
        is_placed = isinstance(place, int) and not isinstance(place, bool)
        if is_placed and isinstance(entry.get("key"), list):
            key = str(number if uid is None or str(uid) in usable else uid)
            usable[key] = {**entry, **_numbers(entry), "uid": number if uid is None else uid}
        else:
            others.append(name if isinstance(name, str) and name else f"entry {number}")
    return usable, others


def _numbers(entry: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of an entry that are written as text."""
    return {
        key: int(value)
        for key in ("order", "depth", "scanDepth", "probability")
        if isinstance(value := entry.get(key), str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value)
    }


_SIMPLE: Mapping[str, tuple[str, type]] = {
    "content": ("content", str),
    "comment": ("name", str),
    "constant": ("constant", bool),
    "order": ("order", int),
    "scanDepth": ("scan_depth", int),
    "caseSensitive": ("case_sensitive", bool),
    "matchWholeWords": ("whole_words", bool),
    "preventRecursion": ("prevent_recursion", bool),
    "excludeRecursion": ("exclude_recursion", bool),
    "ignoreBudget": ("ignore_budget", bool),
    "groupOverride": ("group_override", bool),
    "groupWeight": ("group_weight", int),
    "useGroupScoring": ("group_scoring", bool),
    "sticky": ("sticky", int),
    "cooldown": ("cooldown", int),
    "delay": ("delay", int),
}
"""Keys with the same value as a field of ours, and its type."""
_USUAL = LorebookEntry("")


def world_info_entry(uid: str | None, found: Mapping[str, Any]) -> ForeignEntry:
    """Import an entry. Values of a wrong type are reported and count as absent.

    `uid` becomes its id; None for an entry without one.
    """
    issues: list[EntryIssue] = []

    def get(key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        value = found.get(key)
        if value is None:
            return default
        if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
            if not isinstance(value, int) or abs(value) <= LARGEST_NUMBER:
                return value
            sentence = f"“{key}” is too large; it is ignored."
        else:
            sentence = f"“{key}” cannot be {describe_value(value)}; it is ignored."
        issues.append(EntryIssue(Level.WARNING, "bad-value", sentence, (key,)))
        return default

    simple = {name: get(key, kind, getattr(_USUAL, name)) for key, (name, kind) in _SIMPLE.items()}
    least = {
        name: max(value, 0)
        for name, value in simple.items()
        if isinstance(value, int) and not isinstance(value, bool) and name != "order"
    }
    secondary = _words(get("keysecondary", (list, str), [])) if get("selective", bool) else []
    fields: dict[str, Any] = {
        **simple,
        **least,
        "id": uid,
        "keys": _words(get("key", (list, str), [])),
        "enabled": not get("disable", bool, False),
        "secondary_keys": secondary,
        "secondary_logic": LOGIC.get(get("selectiveLogic", int, 0), "and_any"),
        "delay_until_recursion": _level(found, get),
        "groups": [each.strip() for each in get("group", str, "").split(",") if each.strip()],
        "triggers": [kind for kind in _words(get("triggers", list, [])) if kind in _KINDS],
        "sources": [name for key, name in SOURCES.items() if found.get(key) is True],
        **_character_filter(found.get("characterFilter")),
    }
    if get("useProbability", bool, False):
        fields["probability"] = min(max(get("probability", (int, float), 100), 0), 100)
    fields.update(_place(get))
    _apply_decorators(fields, issues)
    if not isinstance(found.get("key"), list):
        sentence = "“key” is not a list, so SillyTavern would find no keys."
        issues.append(EntryIssue(Level.INFO, "odd-keys", sentence))
    written = export_entry(_USUAL, 0, Lorebook(""), [])
    extras = {key: value for key, value in found.items() if key not in written and value}
    issues += _unsupported(extras)
    return ForeignEntry(fields, extras, issues)


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return [word for word in as_array(value) if isinstance(word, str)]


def _place(get: Callable[..., Any]) -> dict[str, Any]:
    """Return the fields for the entry's placement."""
    position = get("position", int, 0)
    named = {"position": POSITIONS.get(position, "")}
    match position:
        case 4:
            depth = get("depth", int, NOTE_DEPTH)
            place = {**named, "role": ROLES.get(get("role", int, 0), "system")}
            return place | ({"insertion_point": -depth} if depth > 0 else {"anchor_point": "after"})
        case 2 | 3:
            return {**named, "insertion_point": -NOTE_DEPTH}
        case 7:
            return {**named, "outlet": get("outletName", str, "").strip()}
        case _:
            return named


def _level(found: Mapping[str, Any], get: Callable[..., Any]) -> int:
    """Return the level at which recursion reaches an entry; 0 for all."""
    if isinstance(level := found.get("delayUntilRecursion"), bool):
        return int(level)
    return max(get("delayUntilRecursion", int, 0), 0)


def _character_filter(value: object) -> dict[str, Any]:
    found = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return {
        "characters": _words(as_array(found.get("names"))),
        "character_tags": _words(as_array(found.get("tags"))),
        "characters_excluded": found.get("isExclude") is True,
    }


def _apply_decorators(fields: dict[str, Any], issues: list[EntryIssue]) -> None:
    """Remove the decorators from the content, and apply them."""
    content: str = fields["content"]
    decorators: list[str] = []
    lines = content.split("\n") if content.startswith("@@") else []
    is_fallback = False
    for number, line in enumerate(lines):
        if not line.startswith("@@"):
            fields["content"] = "\n".join(lines[number:])
            break
        if line.startswith("@@@") and not is_fallback:
            continue  # it counts only after one that is not known
        known = line.removeprefix("@") if line.startswith("@@@") else line
        is_fallback = not known.startswith(DECORATORS)
        if is_fallback:
            sentence = f"The decorator {line.strip()[:40]} is ignored."
            issues.append(EntryIssue(Level.WARNING, "not-supported", sentence, ("content",)))
        else:
            decorators.append(known)
    if "@@activate" in decorators:
        fields["constant"] = True
    elif "@@dont_activate" in decorators:
        fields["enabled"] = False


DECORATORS = ("@@activate", "@@dont_activate")


def _unsupported(extras: Mapping[str, Any]) -> Iterator[EntryIssue]:
    for key, meaning in _UNSUPPORTED.items():
        value = extras.get(key)
        if value and (not isinstance(value, dict) or any(cast("dict[str, Any]", value).values())):
            yield EntryIssue(
                Level.WARNING, "not-supported", f"“{key}” ({meaning}) is ignored.", (key,)
            )


LOGIC = {0: "and_any", 1: "not_all", 2: "not_any", 3: "and_all"}
ROLES = {0: "system", 1: "user", 2: "assistant"}
_ONLY_ITS = frozenset(
    ("uid", "key", "keysecondary", "selective", "selectiveLogic", "disable", "useProbability")
)
_ONLY_OURS = frozenset(
    (
        *("keys", "secondaryKeys", "secondary_keys", "secondaryLogic", "secondary_logic"),
        *("insertionPoint", "insertion_point", "anchorPoint", "anchor_point"),
        *("anchorTarget", "anchor_target", "wholeWords", "whole_words"),
    )
)
_UNSUPPORTED = {
    "vectorized": "vector search",
    "automationId": "runs a script",
}
SOURCES = {
    "matchPersonaDescription": "persona",
    "matchCharacterDescription": "description",
    "matchCharacterPersonality": "personality",
    "matchCharacterDepthPrompt": "depth_prompt",
    "matchScenario": "scenario",
    "matchCreatorNotes": "creator_notes",
}
_KINDS = frozenset(GENERATION_KINDS)
POSITIONS = {
    0: "before_character",
    1: "after_character",
    2: "note_top",
    3: "note_bottom",
    4: "depth",
    5: "examples_top",
    6: "examples_bottom",
    7: "outlet",
}


_LOGIC = {name: number for number, name in LOGIC.items()}
_ROLES = {name: number for number, name in ROLES.items()}
_POSITIONS = {name: number for number, name in POSITIONS.items()}
_AT_DEPTH = 4


def export_lorebook_text(text: str, source: str, name: str) -> ExportedFile:
    """Return a lorebook file as world info; `source` is what errors call it. Raises InputError."""
    book = parse_lorebook(text, source, name)
    whole = object_or_none(json.loads(text.removeprefix("\ufeff")))
    if whole is not None:
        entries = [object_or_none(each) or {} for each in as_array(whole.get("entries"))]
        if object_or_none(whole.get("entries")) is not None or (
            entries and all(map(is_world_info_entry, entries))
        ):
            return ExportedFile(whole)
    return export_lorebook(book)


def export_lorebook(book: Lorebook) -> ExportedFile:
    """Return a lorebook as world info."""
    notes: list[str] = []
    entries = {
        str(number): export_entry(entry, number, book, notes)
        for number, entry in enumerate(book.entries)
    }
    notes += _book_notes(book)
    return ExportedFile({"name": book.name, **book.extras, "entries": entries}, tuple(notes))


def _book_notes(book: Lorebook) -> Iterator[str]:
    usual = Lorebook("")
    for name in ("token_budget", "max_recursion"):
        if (value := getattr(book, name)) != getattr(usual, name):
            yield f"Not written, since SillyTavern has it for all books: {name} {value}."


def export_entry(
    entry: LorebookEntry, number: int, book: Lorebook, notes: list[str]
) -> dict[str, Any]:
    """Return an entry as world info with the uid `number`; note what that cannot express."""
    usual = Lorebook("")

    def own(name: str) -> Any:
        """Return a value of the entry, else the book's if that is not the usual one."""
        of_book = getattr(book, name)
        value = getattr(entry, name)
        return of_book if value is None and of_book != getattr(usual, name) else value

    position, depth = _exported_place(entry, notes)
    percent = entry.probability
    simple = {key: getattr(entry, name) for key, (name, _) in _SIMPLE.items()}
    return {
        "uid": number,
        "key": list(entry.keys),
        "keysecondary": list(entry.secondary_keys),
        "selective": bool(entry.secondary_keys),
        "selectiveLogic": _LOGIC[entry.secondary_logic],
        "addMemo": bool(entry.name),
        "position": position,
        "depth": depth,
        "role": _ROLES.get(entry.role, 0),
        "outletName": entry.outlet,
        "disable": not entry.enabled,
        **simple,
        "preventRecursion": entry.prevent_recursion or not book.recursive,
        "delayUntilRecursion": entry.delay_until_recursion,
        "probability": int(percent) if percent == int(percent) else percent,
        "useProbability": True,
        "group": ", ".join(entry.groups),
        "scanDepth": own("scan_depth"),
        "caseSensitive": own("case_sensitive"),
        "matchWholeWords": own("whole_words"),
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


def _exported_place(entry: LorebookEntry, notes: list[str]) -> tuple[int, int]:
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


def change_entry(found: dict[str, Any], before: LorebookEntry, after: LorebookEntry) -> None:
    """Write what differs between two entries into one of SillyTavern's."""
    was, now = (export_entry(each, 0, Lorebook(""), []) for each in (before, after))
    changes = {key: value for key, value in now.items() if value != was.get(key)}
    if "probability" in changes:
        changes["useProbability"] = True
    written = found.get("content")
    if isinstance(written, str) and before.content and written.endswith(before.content):
        lines = written.removesuffix(before.content).splitlines(keepends=True)
        if not changes.keys().isdisjoint(("constant", "disable")):
            lines = [each for each in lines if not each.startswith(DECORATORS)]
            changes |= {"constant": now["constant"], "disable": now["disable"]}
        changes["content"] = "".join((*lines, after.content))
    found.update(changes)


LORE_FORM = LoreForm(is_world_info_entry, world_info_entry)
