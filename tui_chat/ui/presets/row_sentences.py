"""What the preset editor says of a row: its place, how it is sent, why it moved or did not."""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.library.editing.edits import MessageGroup
from tui_chat.library.editing.outline import Outline, OutlineRow
from tui_chat.library.editing.slots import depth_of
from tui_chat.models.envelope import Note
from tui_chat.models.generation import only_on
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage, depth_words
from tui_chat.models.sanitize import one_line
from tui_chat.ui.presets.request_facts import RequestFacts
from tui_chat.ui.presets.row_drawing import display_name


def row_sentence(
    row: OutlineRow, preset: Preset, facts: RequestFacts, groups: Mapping[int, MessageGroup]
) -> str:
    """Return what the line below the list says of a row: its notes, else the group that it heads or
    with what it is sent as one, else its place. `groups` are those of the preset, by the list
    index of their headings.
    """
    # Before the first message every depth is clamped, which says nothing.
    notes = [n for n in row.notes if facts.history or n.code != "depth-clamped"]
    if notes:
        return " ".join(_note_sentence(note, row) for note in notes)
    if group := groups.get(row.index):
        count, title = len(group.members), one_line(group.title, 40)
        return f"“{title}”: Space turns its {count} messages on or off, z folds them."
    names = {m.anchor_id: display_name(m) for m in preset.messages if m.is_anchor}
    return _joined_sentence(row, preset, facts) or placement_sentence(row, names)


def _note_sentence(note: Note, row: OutlineRow) -> str:
    """Return the sentence of a note, in words of the editor where it names a key of the file."""
    if note.code == "position-ignored" and row.placement == "system":
        return "System messages are sent first. “System messages: in place” (p) keeps it here."
    return note.sentence


def _joined_sentence(row: OutlineRow, preset: Preset, facts: RequestFacts) -> str:
    """Return with which other messages a row is sent as one; empty if it is sent alone."""
    message = row.message
    if message is None or row.disabled:
        return ""
    ids = next((ids for ids in facts.joined if message.id in ids), ())
    names = {each.id: one_line(display_name(each), 30) for each in preset.messages}
    others = [f"“{names.get(each, each)}”" for each in ids if each != message.id]
    if not others:
        return ""
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return f"It is sent as one message with {', '.join(others[:3])}{more}."


def placement_sentence(row: OutlineRow, names: Mapping[str, str]) -> str:
    """Return a sentence about where a row is placed; `names` are those of the anchors, by id."""
    message = row.message
    assert message is not None
    called = names.get(row.anchor, row.anchor)
    at = "the history" if row.anchor == CHAT_HISTORY else f"“{one_line(called, 40)}”"
    match row.placement:
        case "system":
            words = "System messages go first, in their order."
        case "after" if depth_of(message) == 0:
            words = _depth_sentence(message)
        case "before" | "after":
            words = f"It is anchored {row.placement} {at}."
        case "depth":
            words = _depth_sentence(message)
        case "anchor":
            words = f"Messages can be anchored before or after {at}."
        case "unplaced" if message.triggers:
            words = f"It is sent {only_on(message.triggers)}."
        case "unplaced":
            words = "It is not part of the request."
        case _:
            words = "It is in the list."
    return f"Off. Once on: {words[0].lower()}{words[1:]}" if row.disabled else words


def _depth_sentence(message: PresetMessage) -> str:
    match depth_of(message):
        case None:
            words = depth_words(message.insertion_point or 0)
            return f"It goes {words} of the history, counted from the oldest."
        case 0:
            return "Depth 0: nothing of the chat follows it."
        case 1:
            return "Depth 1: one message follows it, the one you type."
        case depth:
            return f"Depth {depth}: {depth} messages follow it, including the one you type."


def why_not_moved(outline: Outline, index: int, action: str) -> str:
    """Return why a key moves a message nowhere, and what would; empty for other actions."""
    row = outline.rows[outline.row_of(index)]
    if row.message is None or action not in ("up", "down", "earlier", "later", "depth"):
        return ""
    if row.placement == "system" and action in ("up", "down"):
        return (
            "System messages go first, in their order; this is the "
            f"{'first' if action == 'up' else 'last'} one. "
            "“System messages: in place” (p) lets it go elsewhere."
        )
    if row.message.is_anchor and action in ("earlier", "later", "depth"):
        return "An anchor has no depth: it has a place in the list."
    if action in ("earlier", "later"):
        end = "before the oldest message" if action == "earlier" else "at the end"
        return f"It is already {end}."
    return f"It cannot go further {action}."


def why_moved(before: Outline, after: Outline, index: int) -> str:
    """Return why an edit that is no move moved a row past others; empty if it did not."""
    orders = [
        [row.index for row in each.rows if row.message is not None] for each in (before, after)
    ]
    old, new = (each.rows[each.row_of(index)].placement for each in (before, after))
    if orders[0] == orders[1] or (old == "system") is (new == "system"):
        return ""
    if new == "system":
        return "It moved: system messages go first. “System messages: in place” (p) keeps them."
    return "It moved to its place in the preset: only system messages go first."
