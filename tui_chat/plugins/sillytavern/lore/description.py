"""A lore entry in words: its conditions besides its keys, and the place it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui_chat.models.lorebook import LorebookEntry, LorePosition, SecondaryLogic
from tui_chat.models.preset import CHAT_HISTORY, Preset, depth_words
from tui_chat.plugins.sillytavern.lore.rules import goes_by_position

LOGIC_WORDS: Mapping[SecondaryLogic, str] = {
    "and_any": "any of",
    "and_all": "all of",
    "not_any": "none of",
    "not_all": "not all of",
}
POSITION_WORDS: Mapping[LorePosition, str] = {
    "before_character": "before the character",
    "after_character": "after the character",
    "note_top": "top of the author's note",
    "note_bottom": "bottom of the author's note",
    "examples_top": "before the example dialogues",
    "examples_bottom": "after the example dialogues",
    "outlet": "outlet",
}
"""The places with a name, but for a depth."""


def describe_place(entry: LorebookEntry, *, by_position: bool = True) -> str:
    """Return the place that an entry asks for, by name if the preset has it (`by_position`)."""
    if entry.position == "outlet":
        return f"outlet “{entry.outlet}”"
    if by_position and entry.position in POSITION_WORDS:
        return POSITION_WORDS[entry.position]
    if entry.insertion_point is not None:
        return depth_words(entry.insertion_point)
    if entry.anchor_point is None and entry.anchor_target is None:
        return "before the history"
    is_history = entry.anchor_target in (None, CHAT_HISTORY)
    target = "the history" if is_history else f"“{entry.anchor_target}”"
    return f"{entry.anchor_point or 'after'} {target}"


def describe_sent_place(entry: LorebookEntry, preset: Preset) -> str:
    """Return the place to which an active entry goes with a preset."""
    by_position = goes_by_position(preset)
    if entry.position == "outlet" or (by_position and entry.position in POSITION_WORDS):
        return describe_place(entry)
    if entry.role == "system" and preset.system_placement == "hoist":
        return "with the system messages"
    anchors = {m.anchor_id for m in preset.messages if m.is_anchor and m.enabled}
    anchors |= {m.id for m in preset.messages if m.type == "chat_history" and m.enabled}
    target = entry.anchor_target
    if entry.insertion_point is None and target not in (None, CHAT_HISTORY, *anchors):
        entry = replace(entry, anchor_point=None, anchor_target=None)
    return describe_place(entry, by_position=False)


def describe_conditions(entry: LorebookEntry) -> Iterator[str]:
    """Yield what decides, besides its keys, whether an entry is active, and what it activates."""
    if entry.secondary_keys:
        keys = ", ".join(f"“{key}”" for key in entry.secondary_keys)
        yield f"and {LOGIC_WORDS[entry.secondary_logic]} {keys}"
    if entry.probability < 100:
        yield f"probability {entry.probability:g} %"
    for name in ("sticky", "cooldown", "delay"):
        if count := getattr(entry, name):
            yield f"{name} {count:,} message{'s' * (count != 1)}"
    if entry.groups:
        groups = ", ".join(f"“{group}”" for group in entry.groups)
        scoring = {None: "", True: ", scored", False: ", not scored"}[entry.group_scoring]
        how = "the highest order wins" if entry.group_override else f"weight {entry.group_weight:,}"
        yield f"group{'s' * (len(entry.groups) > 1)} {groups} ({how}{scoring})"
    if entry.scan_depth is not None:
        yield f"scan depth {entry.scan_depth:,}"
    for value, words in (
        (entry.case_sensitive, "case-sensitive"),
        (entry.whole_words, "whole words"),
    ):
        if value is not None:
            yield words if value else f"not {words}"
    if entry.delay_until_recursion:
        yield f"activated by other entries only (level {int(entry.delay_until_recursion)})"
    if entry.exclude_recursion:
        yield "not activated by other entries"
    if entry.prevent_recursion:
        yield "activates no others"
    if entry.ignore_budget:
        yield "ignores the budget"
    if entry.triggers:
        yield f"only with {', '.join(entry.triggers)}"
    if entry.characters or entry.character_tags:
        tags = (f"tag {tag}" for tag in entry.character_tags)
        only = "not with" if entry.characters_excluded else "only with"
        yield f"{only} {', '.join((*entry.characters, *tags))}"
    if entry.sources:
        yield f"also searched: {', '.join(each.replace('_', ' ') for each in entry.sources)}"
