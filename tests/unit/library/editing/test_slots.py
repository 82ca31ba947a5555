from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import presets
from tests.support.tables import each_row
from tui_chat.library.editing.outline import outline_preset
from tui_chat.library.editing.slots import (
    depth_fields,
    depth_of,
    first_changed,
    next_slot,
    put_in_slot,
    slots_for,
)
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage

HISTORY = PresetMessage("history", role="user", type="chat_history")
WORLD = PresetMessage("world", role="user", type="placeholder")


def user_message(name: str, **where: object) -> PresetMessage:
    return PresetMessage(name, role="user", content=name, **where)  # type: ignore[arg-type]


def slots_passed(preset: Preset, index: int, step: int) -> list[str]:
    """Descriptions of the slots that a message passes on its way."""
    places: list[str] = []
    while (slot := next_slot(outline_preset(preset), index, step)) is not None:
        places.append(slot.description(preset))
        before, preset = preset, put_in_slot(preset, index, slot)
        index = first_changed(before, preset, index)
    return places


def test_a_message_moves_down_through_the_history() -> None:
    preset = Preset("p", (user_message("a"), HISTORY, user_message("note", insertion_point=-4)))
    assert slots_passed(preset, 0, 1) == [
        "after message 1",
        "at depth 4",  # before the note
        "at depth 4",  # after it
        "at depth 3",
        "at depth 2",
        "at depth 1",
        "at depth 0",
    ]


def test_a_message_moves_up_through_the_history() -> None:
    preset = Preset("p", (HISTORY, user_message("a"), user_message("b")))
    assert slots_passed(preset, 2, -1) == [
        "in the list",
        "at depth 1",
        "at depth 2",
        "after message 1",
        "in the list",
    ]


def test_each_step_passes_one_row_and_keeps_the_kind_of_place() -> None:
    place = user_message("world's", anchor_target="world")
    end = user_message("end", anchor_target=CHAT_HISTORY)
    preset = Preset("p", (user_message("a"), WORLD, place, HISTORY, user_message("b"), end))
    assert slots_passed(preset, 0, 1) == [
        "after “world”",  # before the one that is there
        "after “world”",
        "after message 1",
        "at depth 2",
        "at depth 1",
        "at depth 0",
        "at depth 0",
        "in the list",
    ]


def test_depths_are_the_numbers_of_messages_that_follow() -> None:
    for depth in (0, 1, 4):
        message = replace(WORLD, type="message", **depth_fields(depth))
        assert depth_of(message) == depth
    assert depth_fields(2)["insertion_point"] == -2
    assert depth_of(user_message("x", insertion_point=3)) is None
    assert depth_of(user_message("x", anchor_target="world")) is None
    assert depth_of(user_message("x")) is None


@given(presets(), st.sampled_from((-1, 1)), st.data())
def test_each_step_advances_until_the_outline_ends(
    preset: Preset, step: int, data: st.DataObject
) -> None:
    if not preset.messages:
        return
    index = data.draw(st.integers(0, len(preset.messages) - 1))
    for _ in range(4 * len(preset.messages) + 40):
        outline = outline_preset(preset)
        slot = next_slot(outline, index, step)
        if slot is None:
            return
        at = outline.row_of(index)
        assert slot.row <= at + 1 if step < 0 else slot.row >= at
        before, preset = preset, put_in_slot(preset, index, slot)
        assert preset != before
        index = first_changed(before, preset, index)
    raise AssertionError("moves in a circle")


@given(presets(), st.data())
def test_a_message_put_in_a_slot_is_placed_there(preset: Preset, data: st.DataObject) -> None:
    if not preset.messages:
        return
    index = data.draw(st.integers(0, len(preset.messages) - 1))
    message = preset.messages[index]
    slots = slots_for(outline_preset(preset), message)
    if not slots:
        return
    slot = data.draw(st.sampled_from(slots))
    neighbor = None if slot.neighbor in (None, index) else preset.messages[slot.neighbor]
    after = put_in_slot(preset, index, slot)
    assert sorted(m.id for m in after.messages) == sorted(m.id for m in preset.messages)
    rows = outline_preset(after).rows
    at = next(
        n
        for n, row in enumerate(rows)
        if row.message is not None
        and row.message.id == message.id
        and row.message.content == message.content
    )
    row = rows[at]
    if row.placement == "unplaced" or message.is_anchor:
        return
    kind, anchor, depth = slot.place
    assert (row.placement, row.depth) == ({"list": "skeleton"}.get(kind, kind), depth)
    if kind in ("before", "after"):
        assert row.anchor == anchor
    if neighbor is not None and not neighbor.is_anchor:
        adjacent = rows[at - 1] if slot.side == "after" else rows[at + 1]
        assert adjacent.message is neighbor


def test_an_anchor_can_only_go_into_the_list() -> None:
    preset = Preset("p", (user_message("a"), HISTORY, WORLD))
    assert {slot.place[0] for slot in slots_for(outline_preset(preset), WORLD)} == {"list"}


@each_row(
    "where",
    [
        {"role": "system"},
        {"role": "user", "anchor_point": "after", "anchor_target": CHAT_HISTORY},
        {"role": "user", "insertion_point": -1},
    ],
)
def test_a_message_goes_before_the_first_one_at_its_place(where: Any) -> None:
    low, high = (PresetMessage(name, content=name, **where) for name in ("low", "high"))
    preset = Preset("p", (HISTORY, low, user_message("between"), high))
    slot = next_slot(outline_preset(preset), 3, -1)
    assert slot is not None
    moved = put_in_slot(preset, 3, slot).messages
    assert moved.index(high) < moved.index(low)
