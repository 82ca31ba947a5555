"""The fields of lore entries as people edit them; see `typed_fields`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tui_chat.errors import FieldError
from tui_chat.library.typed_fields import (
    Field,
    FieldRows,
    Values,
    shown_values,
    typed_values,
)
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.models.settings import NOTE_DEPTH
from tui_chat.plugins.sillytavern.lore.outcomes import LOGIC_WORDS, POSITION_WORDS


def _inherited(name: str, label: str) -> Field:
    return Field(name, label, "choice", (("", "as the lorebook"), ("yes", "yes"), ("no", "no")))


_LOGIC = tuple((logic, words) for logic, words in LOGIC_WORDS.items())
_ROLES = tuple((role, role) for role in ("system", "user", "assistant"))
_OWN_PLACES = (
    ("", "before the history"),
    ("after", "after the history"),
    ("depth", "at a depth"),
    ("start", "from the oldest message"),
    ("before_anchor", "before an anchor"),
    ("after_anchor", "after an anchor"),
)
_NAMED_PLACES = tuple((position, words) for position, words in POSITION_WORDS.items())
_FOREIGN_PLACES = (*_NAMED_PLACES, ("depth", "at a depth"), ("after", "after the history"))


def entry_fields(*, is_foreign: bool) -> FieldRows:
    """Return the fields of an entry, in rows."""
    places = _FOREIGN_PLACES if is_foreign else (*_OWN_PLACES, *_NAMED_PLACES)
    anchor = () if is_foreign else (Field("anchor_target", "Anchor (its id)"),)
    return (
        (Field("name", "Name"),),
        (Field("enabled", "Enabled", "switch"),
         Field("constant", "Always active", "switch")),
        (Field("keys", "Keys, one a line (words or /patterns/i)", "lines"),
         Field("secondary_keys", "Secondary keys, one a line", "lines")),
        (Field("secondary_logic", "Of the secondary keys occur", "choice", _LOGIC),
         Field("probability", "Probability, in percent", "number")),
        (Field("content", "Content", "text"),),
        (Field("place", "Place", "choice", places), Field("role", "Role", "choice", _ROLES),
         Field("order", "Order (higher: nearer to the end)", "number")),
        (Field("insertion_point", "Depth (messages after it)", "number"),
         *anchor, Field("outlet", "Name of the outlet")),
        (Field("sticky", "Sticky, messages", "number"),
         Field("cooldown", "Cooldown, messages", "number"),
         Field("delay", "Delay, messages", "number")),
        (Field("groups", "Groups", "words"), Field("group_weight", "Weight", "number"),
         _inherited("group_scoring", "Scored by matching keys")),
        (Field("group_override", "Highest order wins in its group", "switch"),
         Field("ignore_budget", "Ignores the budget", "switch")),
        (Field("scan_depth", "Scan depth", "number"),
         _inherited("case_sensitive", "Case-sensitive"),
         _inherited("whole_words", "Whole words")),
        (Field("prevent_recursion", "Activates no other entries", "switch"),
         Field("exclude_recursion", "Not activated by other entries", "switch")),
        (Field("delay_until_recursion", "By other entries only, level", "number"),
         Field("triggers", "Only with (normal, continue …)", "words"),
         Field("sources", "Also searched (persona, scenario …)", "words")),
        (Field("characters", "Roles", "words"), Field("character_tags", "Tags", "words"),
         Field("characters_excluded", "Not with these", "switch")),
    )  # fmt: skip


def entry_values(entry: LorebookEntry) -> Values:
    """Return what the fields of an entry show."""
    known = _known(entry_fields(is_foreign=False))
    point = entry.insertion_point
    depth = "" if point is None else str(abs(point))
    values = shown_values(entry, known.values())
    return {**values, "place": place_kind(entry), "insertion_point": depth}


def place_kind(entry: LorebookEntry) -> str:
    """Return the value of the field `place` that an entry shows."""
    if entry.position not in ("", "depth"):
        return entry.position
    if entry.insertion_point is not None:
        return "depth" if entry.insertion_point < 0 else "start"
    if entry.anchor_target not in (None, CHAT_HISTORY):
        return "before_anchor" if entry.anchor_point == "before" else "after_anchor"
    is_after = entry.anchor_point == "after" or (entry.anchor_target and not entry.anchor_point)
    return "after" if is_after else ""


def typed_entry(values: Values, before: LorebookEntry, *, is_foreign: bool) -> LorebookEntry:
    """Return an entry with the fields that were changed. Raises FieldError."""
    shown, known = entry_values(before), _known(entry_fields(is_foreign=is_foreign))
    changed = {name for name in ("place", *known) if values[name] != shown[name]}
    place_names = {"place", "insertion_point", "anchor_target", "outlet"}
    is_moved = not changed.isdisjoint(place_names)
    names = (changed | place_names if is_moved else changed) & known.keys()
    typed = typed_values({name: values[name] for name in names}, known, LorebookEntry)
    if not is_moved:
        return replace(before, **typed)
    place, depth = str(values["place"]), typed.pop("insertion_point")
    target = typed.pop("anchor_target", None) or None
    if place in ("depth", "start") and (depth is None or depth < 0):
        raise FieldError("insertion_point", "This place needs a number of messages.")
    if place.endswith("_anchor") and target is None:
        raise FieldError("anchor_target", "This place needs the id of an anchor.")
    if place == "outlet" and not typed["outlet"]:
        raise FieldError("outlet", "An outlet needs a name.")
    return replace(before, **{**typed, **_placed(place, depth, target, is_foreign)})


def _placed(place: str, depth: int | None, target: str | None, is_foreign: bool) -> dict[str, Any]:
    """Return the fields that say a place."""
    fields: dict[str, Any] = dict.fromkeys(("insertion_point", "anchor_point", "anchor_target"))
    fields["position"] = "depth" if is_foreign and place in ("depth", "after") else ""
    if is_foreign and place != "outlet":
        fields["outlet"] = ""
    match place:
        case "depth" if depth:
            fields["insertion_point"] = -depth
        case "start":
            fields["insertion_point"] = depth
        case "depth" | "after":
            fields["anchor_point"] = "after"
        case "before_anchor" | "after_anchor":
            fields |= {"anchor_point": place.removesuffix("_anchor"), "anchor_target": target}
        case "":
            pass
        case _:
            fields["position"] = place
            if place in ("note_top", "note_bottom"):  # for presets without a note
                fields["insertion_point"] = -NOTE_DEPTH
    return fields


def _known(rows: FieldRows) -> Mapping[str, Field]:
    return {field.name: field for row in rows for field in row if field.name != "place"}
