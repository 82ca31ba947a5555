"""Edits of presets, and the places of messages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import HISTORY, said
from tests.support.strategies import presets
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.library.editing.edits import (
    EditHistory,
    add_message,
    change_message,
    duplicate_message,
    move_message,
    remove_message,
)
from tui_chat.library.editing.places import place_in_request
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage, SystemPlacement
from tui_chat.models.role import Role

ONE = PresetMessage("one", content="1")
TWO = PresetMessage("two", content="2", anchor_target="place")
PLACE = PresetMessage("place", type="placeholder")
PRESET = Preset("p", (ONE, TWO, PLACE), extras={"kept": True})


def ids(preset: Preset) -> list[str]:
    return [message.id for message in preset.messages]


def test_edits_return_a_changed_preset() -> None:
    assert ids(add_message(PRESET, ONE)) == ["one", "two", "place", "one-2"]
    assert ids(duplicate_message(PRESET, 0)) == ["one", "one-2", "two", "place"]
    assert ids(remove_message(PRESET, 1)) == ["one", "place"]
    assert ids(move_message(PRESET, 0, 2)) == ["two", "place", "one"]
    assert change_message(PRESET, 0, content="x").messages[0].content == "x"
    assert change_message(PRESET, 0, content="x").extras == {"kept": True}


def test_messages_follow_the_new_id_of_their_anchor() -> None:
    assert change_message(PRESET, 2, id="spot").messages[1].anchor_target == "spot"


def test_messages_that_target_the_history_by_its_own_id_follow_it() -> None:
    history, other = (PresetMessage(i, type="chat_history") for i in ("chat", "again"))
    attached = PresetMessage("x", content="x", anchor_target="chat")
    preset = Preset("p", (history, attached, other))
    assert change_message(preset, 0, id="talk").messages[1].anchor_target == "talk"
    assert change_message(preset, 0, type="placeholder").messages[1].anchor_target == "chat"
    named = Preset("p", (history, attached, PresetMessage("chat", type="placeholder")))
    assert change_message(named, 0, id="talk").messages[1].anchor_target == "chat"


def test_typing_in_one_field_is_one_step() -> None:
    edits = EditHistory.of(PRESET)
    for text in ("a", "ab", "abc"):
        edits = edits.record(
            change_message(edits.preset, 0, content=text), "edit “one”", "one.content"
        )
    assert len(edits.past) == 1
    assert edits.undo().preset is PRESET
    assert edits.undo().redo().preset.messages[0].content == "abc"


def test_only_an_unedited_preset_follows_its_file() -> None:
    other = replace(PRESET, name="other")
    assert EditHistory.of(PRESET).follow_file(other).preset is other
    edited = EditHistory.of(PRESET).record(remove_message(PRESET, 0), "delete “one”")
    followed = edited.follow_file(other)
    assert followed.preset is edited.preset
    assert followed.saved is other
    assert followed.is_changed


def test_changed_messages_are_marked() -> None:
    edits = EditHistory.of(PRESET).record(change_message(PRESET, 0, content="x"), "edit")
    assert edits.changed_messages() == {"one"}
    assert not edits.mark_saved().is_changed
    assert edits.mark_saved().undo().is_changed


@pytest.mark.slow
@given(st.lists(presets(), max_size=6), st.lists(st.booleans(), max_size=12))
def test_undo_and_redo_visit_the_same_states(states: list[Preset], walk: list[bool]) -> None:
    edits = EditHistory.of(PRESET)
    visited = [PRESET]
    for state in states:
        if state != visited[-1]:
            visited.append(state)
        edits = edits.record(state, "edit")
    at = len(visited) - 1
    for back in walk:
        at = max(at - 1, 0) if back else min(at + 1, len(visited) - 1)
        edits = edits.undo() if back else edits.redo()
        assert edits.preset == visited[at]
        assert edits.is_changed == (visited[at] != PRESET)


def test_typing_and_deleting_again_is_no_step() -> None:
    edits = EditHistory.of(PRESET)
    for text in ("12", "123", "12", "1"):
        edits = edits.record(
            change_message(edits.preset, 0, content=text), "edit “one”", "one.content"
        )
    assert edits.past == ()
    assert not edits.is_changed


# --- Where a preset message goes, in words: a request that shows each sentence ------------


ENDPOINT = Endpoint("here", Protocol.OPENAI_CHAT, "https://here.invalid", models=("gpt-4o",))
SPOT = PresetMessage("spot", name="World info", type="placeholder")
OFF = replace(SPOT, enabled=False)
X = replace(said("X"), name="Style")
SYSTEM = replace(X, role="system")
FIRST = PresetMessage("first", "system", "First.", name="Terminal")
CHAT = ("Why does my prompt cache miss after every message?", "A cache serves a prefix.")


def place(
    *messages: PresetMessage,
    chat: tuple[str, ...] = CHAT,
    draft: str = "And now?",
    role: Role | None = None,
    of: str = "X",
    placement: SystemPlacement = "hoist",
) -> str:
    roles = ("user", "assistant")
    history = tuple(Message.of(roles[n % 2], text, f"m{n}") for n, text in enumerate(chat))  # type: ignore[arg-type]
    preset = Preset("p", messages, system_placement=placement)
    inputs = Inputs(ENDPOINT, preset, history, draft, role=role)
    return place_in_request(compose(inputs), of)


def at(depth: int) -> PresetMessage:
    return replace(X, insertion_point=-depth)


@each_row(
    ("sentence", "found"),
    [
        ("→ Goes with the system messages, before the chat, after “Terminal”.",
         place(FIRST, SYSTEM, HISTORY)),
        ("→ Goes with the system messages, before the chat: first of all.",
         place(SYSTEM, HISTORY)),
        ("→ Goes with the system messages, before the chat, after the role's prompt.",
         place(SYSTEM, HISTORY, role=Role("r", "R", "Be R."))),
        ("→ Goes before the chat history, after “Terminal”.", place(FIRST, X, HISTORY)),
        ("→ Goes after the chat history.", place(HISTORY, X)),
        ("→ Goes before the chat history: first of all.",
         place(SYSTEM, HISTORY, placement="in_place")),
        ("→ Goes directly before “World info”.",
         place(replace(X, anchor_point="before", anchor_target="spot"), SPOT, HISTORY)),
        ("→ Goes directly before the chat history.",
         place(replace(X, anchor_point="before"), HISTORY)),
        ("→ Goes after your message: the last thing the model reads.",
         place(replace(X, anchor_point="after"), HISTORY)),
        ("→ Goes after your message.",
         place(replace(X, anchor_point="after"), HISTORY, said("Y"))),
        ("→ Goes directly before your message: after “A cache serves a prefix.”.",
         place(at(1), HISTORY)),
        ("→ Goes directly before your message.", place(at(1), HISTORY, chat=())),
        ("→ Goes before the last 2 messages, your draft included: "
         "after “Why does my prompt cache…”.", place(at(2), HISTORY)),
        ("→ Goes before the last 3 messages, your draft included: before all of them.",
         place(at(3), HISTORY)),
        ("→ Goes before the last 2 messages, the message to answer included: "
         "after “Why does my prompt cache…”.", place(at(2), HISTORY, chat=(*CHAT, "?"), draft="")),
        ("→ Only 3 messages are sent: goes before all of them.", place(at(90), HISTORY)),
        ("→ Only 1 message is sent: goes before it.", place(at(90), HISTORY, chat=())),
        ("→ Goes before the first message of the chat history.",
         place(replace(X, insertion_point=0), HISTORY)),
        ("→ Goes after the first message of the chat history.",
         place(replace(X, insertion_point=1), HISTORY)),
        ("→ Goes after message 2 of the chat history.",
         place(replace(X, insertion_point=2), HISTORY)),
        ("→ Only 2 messages are before yours: goes after all of them.",
         place(replace(X, insertion_point=9), HISTORY)),
        ("→ Other messages can go before or after it.", place(SPOT, X, HISTORY, of="spot")),
        ("→ Sent only on continue.", place(replace(X, triggers=("continue",)), HISTORY)),
        ("– Off; when it is on: goes directly before the chat history.",
         place(replace(X, anchor_point="before", enabled=False), HISTORY)),
        ("▲ “World info” is off: the message stays at its place in the list.",
         place(replace(X, anchor_target="spot"), OFF, HISTORY)),
        ("▲ There is no anchor “gone”: the message stays at its place in the list.",
         place(replace(X, anchor_target="gone"), HISTORY)),
        ("", place(X, HISTORY, of="nobody")),
    ],
)  # fmt: skip
def test_a_message_goes_where_the_request_has_it(sentence: str, found: str) -> None:
    assert found == sentence
