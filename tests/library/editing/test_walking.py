from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import presets
from tui_chat.library.editing import beside, next_slot, put, sketch, touched
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage

HISTORY = PresetMessage("history", role="user", type="chat_history")


def said(name: str, **where: object) -> PresetMessage:
    return PresetMessage(name, role="user", content=name, **where)  # type: ignore[arg-type]


def walked(preset: Preset, index: int, step: int) -> list[str]:
    """The places a message comes by on its way."""
    places: list[str] = []
    while (slot := next_slot(sketch(preset), index, step)) is not None:
        places.append(slot.words)
        before, preset = preset, put(preset, index, slot)
        index = touched(before, preset, index)
    return places


def test_a_message_walks_down_through_the_history() -> None:
    preset = Preset("p", (said("a"), HISTORY, said("note", insertion_point=-4)))
    assert walked(preset, 0, 1) == [
        "before the history",
        "at depth 0",
        "at depth 1",
        "at depth -4",
        "at depth -4",
        "at depth -3",
        "at depth -2",
        "at depth -1",
        "after the history",
        "in the list",
    ]


def test_and_up_again() -> None:
    preset = Preset("p", (HISTORY, said("a"), said("b")))
    assert walked(preset, 2, -1) == [
        "in the list",
        "after the history",
        "at depth -1",
        "at depth -2",
        "at depth 1",
        "at depth 0",
        "before the history",
        "in the list",
    ]


@given(presets(), st.sampled_from((-1, 1)), st.data())
def test_each_step_goes_on_and_the_road_ends(
    preset: Preset, step: int, data: st.DataObject
) -> None:
    if not preset.messages:
        return
    index = data.draw(st.integers(0, len(preset.messages) - 1))
    for _ in range(4 * len(preset.messages) + 40):
        drawn = sketch(preset)
        slot = next_slot(drawn, index, step)
        if slot is None:
            return
        at = drawn.row_of(index)
        assert slot.row <= at + 1 if step < 0 else slot.row >= at
        before, preset = preset, put(preset, index, slot)
        assert preset != before
        index = touched(before, preset, index)
    raise AssertionError("walks in a circle")


def test_what_is_added_beside_a_message_stands_where_it_stands() -> None:
    preset = Preset("p", (HISTORY, said("note", anchor_target=CHAT_HISTORY, order=3)))
    row = sketch(preset).rows[-1]
    new = beside(PresetMessage("new", content="x"), row)
    assert (new.role, new.anchor_target, new.order) == ("user", CHAT_HISTORY, 3)
    anchor = replace(HISTORY, id="place", type="placeholder")
    assert beside(anchor, row) is anchor
