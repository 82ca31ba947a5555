from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import presets
from tui_chat.library.editing import Edits, added, changed, duplicated, moved, removed
from tui_chat.models.preset import Preset, PresetMessage

ONE = PresetMessage("one", content="1")
TWO = PresetMessage("two", content="2", anchor_target="place")
PLACE = PresetMessage("place", type="placeholder")
PRESET = Preset("p", (ONE, TWO, PLACE), extras={"kept": True})


def ids(preset: Preset) -> list[str]:
    return [message.id for message in preset.messages]


def test_the_changes() -> None:
    assert ids(added(PRESET, ONE)) == ["one", "two", "place", "one-2"]
    assert ids(duplicated(PRESET, 0)) == ["one", "one-2", "two", "place"]
    assert ids(removed(PRESET, 1)) == ["one", "place"]
    assert ids(moved(PRESET, 0, 2)) == ["two", "place", "one"]
    assert changed(PRESET, 0, content="x").messages[0].content == "x"
    assert changed(PRESET, 0, content="x").extras == {"kept": True}


def test_who_stands_at_an_anchor_follows_its_new_id() -> None:
    assert changed(PRESET, 2, id="spot").messages[1].anchor_target == "spot"


def test_who_names_the_history_by_its_own_id_follows_it() -> None:
    history, other = (PresetMessage(i, type="chat_history") for i in ("chat", "again"))
    beside = PresetMessage("x", content="x", anchor_target="chat")
    preset = Preset("p", (history, beside, other))
    assert changed(preset, 0, id="talk").messages[1].anchor_target == "talk"
    assert changed(preset, 0, type="placeholder").messages[1].anchor_target == "chat"
    named = Preset("p", (history, beside, PresetMessage("chat", type="placeholder")))
    assert changed(named, 0, id="talk").messages[1].anchor_target == "chat"


def test_what_is_typed_into_one_field_is_one_step() -> None:
    edits = Edits.of(PRESET)
    for text in ("a", "ab", "abc"):
        edits = edits.did(changed(edits.preset, 0, content=text), "edit “one”", "one.content")
    assert len(edits.past) == 1
    assert edits.undo().preset is PRESET
    assert edits.undo().redo().preset.messages[0].content == "abc"


def test_the_file_follows_only_where_nothing_was_edited() -> None:
    other = replace(PRESET, name="other")
    assert Edits.of(PRESET).was_changed_outside(other).preset is other
    edited = Edits.of(PRESET).did(removed(PRESET, 0), "delete “one”")
    followed = edited.was_changed_outside(other)
    assert followed.preset is edited.preset
    assert followed.saved is other
    assert followed.is_changed


def test_changed_messages_are_marked() -> None:
    edits = Edits.of(PRESET).did(changed(PRESET, 0, content="x"), "edit")
    assert edits.changed_messages() == {"one"}
    assert not edits.was_saved().is_changed
    assert edits.was_saved().undo().is_changed


@given(st.lists(presets(), max_size=6), st.lists(st.booleans(), max_size=12))
def test_undo_and_redo_walk_the_same_road(states: list[Preset], walk: list[bool]) -> None:
    edits = Edits.of(PRESET)
    road = [PRESET]
    for state in states:
        if state != road[-1]:
            road.append(state)
        edits = edits.did(state, "edit")
    at = len(road) - 1
    for back in walk:
        at = max(at - 1, 0) if back else min(at + 1, len(road) - 1)
        edits = edits.undo() if back else edits.redo()
        assert edits.preset == road[at]
        assert edits.is_changed == (road[at] != PRESET)


def test_what_is_typed_and_taken_back_is_no_step() -> None:
    edits = Edits.of(PRESET)
    for text in ("12", "123", "12", "1"):
        edits = edits.did(changed(edits.preset, 0, content=text), "edit “one”", "one.content")
    assert edits.past == ()
    assert not edits.is_changed
