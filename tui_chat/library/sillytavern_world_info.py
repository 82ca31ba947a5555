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

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.lorebook import LARGEST_NUMBER
from tui_chat.models.policies import GENERATION_KINDS

NOTE_DEPTH = 4
"""SillyTavern's default depth of an author's note."""


@dataclass(frozen=True, slots=True)
class WorldInfoIssue:
    """Something that could not be imported unchanged."""

    level: Level
    code: str
    sentence: str
    path: tuple[str, ...] = ()
    """The path within the entry."""


@dataclass(frozen=True, slots=True)
class WorldInfoEntry:
    """One imported entry."""

    fields: dict[str, Any]
    """By the field names of `LorebookEntry`."""
    extras: dict[str, Any]
    issues: list[WorldInfoIssue] = field(default_factory=list[WorldInfoIssue])


def is_world_info_entry(found: Mapping[str, Any]) -> bool:
    """Return True if an entry is SillyTavern's: it has a key that only its entries have, and none
    that only ours have.
    """
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


def world_info_entry(uid: str | None, found: Mapping[str, Any]) -> WorldInfoEntry:
    """Import an entry. Values of a wrong type are reported and count as absent.

    `uid` becomes its id; None for an entry without one.
    """
    issues: list[WorldInfoIssue] = []

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
        issues.append(WorldInfoIssue(Level.WARNING, "bad-value", sentence, (key,)))
        return default

    keys = _words(get("key", (list, str), []))
    logic = get("selectiveLogic", int, 0)
    secondary = _words(get("keysecondary", (list, str), [])) if get("selective", bool) else []
    fields: dict[str, Any] = {
        "id": uid,
        "content": get("content", str, ""),
        "keys": keys,
        "name": get("comment", str, ""),
        "enabled": not get("disable", bool, False),
        "constant": get("constant", bool, False),
        "secondary_keys": secondary,
        "secondary_logic": LOGIC.get(logic, "and_any"),
        "order": get("order", int, 100),
        "scan_depth": None if (depth := get("scanDepth", int)) is None else max(depth, 0),
        "case_sensitive": get("caseSensitive", bool),
        "whole_words": get("matchWholeWords", bool),
        "prevent_recursion": get("preventRecursion", bool, False),
        "exclude_recursion": get("excludeRecursion", bool, False),
        "delay_until_recursion": _level(found, get),
        "ignore_budget": get("ignoreBudget", bool, False),
        "groups": [each.strip() for each in get("group", str, "").split(",") if each.strip()],
        "group_override": get("groupOverride", bool, False),
        "group_weight": max(get("groupWeight", int, 100), 0),
        "group_scoring": get("useGroupScoring", bool),
        "sticky": max(get("sticky", int, 0), 0),
        "cooldown": max(get("cooldown", int, 0), 0),
        "delay": max(get("delay", int, 0), 0),
        "triggers": [kind for kind in _words(get("triggers", list, [])) if kind in _KINDS],
        "sources": [name for key, name in SOURCES.items() if found.get(key) is True],
        **_character_filter(found.get("characterFilter")),
    }
    if get("useProbability", bool, False):
        fields["probability"] = min(max(get("probability", (int, float), 100), 0), 100)
    fields.update(_place(get, issues))
    _apply_decorators(fields, issues)
    if not isinstance(found.get("key"), list):
        sentence = "“key” is not a list, so SillyTavern would find no keys."
        issues.append(WorldInfoIssue(Level.INFO, "odd-keys", sentence))
    extras = {key: found[key] for key in found if key not in _MAPPED and key not in _DISPLAY_KEYS}
    issues += _unsupported(extras)
    return WorldInfoEntry(fields, {k: v for k, v in extras.items() if v}, issues)


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return [word for word in as_array(value) if isinstance(word, str)]


def _place(get: Callable[..., Any], issues: list[WorldInfoIssue]) -> dict[str, Any]:
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


def _apply_decorators(fields: dict[str, Any], issues: list[WorldInfoIssue]) -> None:
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
            issues.append(WorldInfoIssue(Level.WARNING, "not-supported", sentence, ("content",)))
        else:
            decorators.append(known)
    if "@@activate" in decorators:
        fields["constant"] = True
    elif "@@dont_activate" in decorators:
        fields["enabled"] = False


DECORATORS = ("@@activate", "@@dont_activate")


def _unsupported(extras: Mapping[str, Any]) -> Iterator[WorldInfoIssue]:
    for key, meaning in _UNSUPPORTED.items():
        value = extras.get(key)
        if value and (not isinstance(value, dict) or any(cast("dict[str, Any]", value).values())):
            yield WorldInfoIssue(
                Level.WARNING, "not-supported", f"“{key}” ({meaning}) is ignored.", (key,)
            )


LOGIC = {0: "and_any", 1: "not_all", 2: "not_any", 3: "and_all"}
ROLES = {0: "system", 1: "user", 2: "assistant"}
# fmt: off
_MAPPED = frozenset(
    (
        "uid", "key", "keysecondary", "selective", "selectiveLogic", "content", "comment",
        "disable", "constant", "order", "position", "depth", "role", "scanDepth",
        "caseSensitive", "matchWholeWords", "preventRecursion", "excludeRecursion",
        "delayUntilRecursion", "ignoreBudget", "probability", "useProbability", "group",
        "groupOverride", "groupWeight", "useGroupScoring", "sticky", "cooldown", "delay",
        "triggers", "characterFilter", "outletName", "matchPersonaDescription",
        "matchCharacterDescription",
        "matchCharacterPersonality", "matchCharacterDepthPrompt", "matchScenario",
        "matchCreatorNotes",
    )
)
# fmt: on
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
_DISPLAY_KEYS = frozenset(("addMemo", "displayIndex"))
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
