"""A walk over what the preset editor says about where a row is placed, and why a key moves it
nowhere: a preset that shows each sentence, and one close to it that does not.
"""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import HISTORY, said
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.library.editing.outline import outline_preset
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.ui.presets.request_facts import facts_of
from tui_chat.ui.presets.row_drawing import row_pieces
from tui_chat.ui.presets.row_edits import after_delete, edit_for
from tui_chat.ui.presets.row_sentences import placement_sentence, why_not_moved

SPOT = PresetMessage("spot", type="placeholder")
X = said("X")
SYSTEM = replace(X, role="system")


def sentence(*messages: PresetMessage, placement: str = "hoist", index: int = 0) -> str:
    """What is said of a message."""
    drawn = outline_preset(Preset("p", messages, system_placement=placement))
    return placement_sentence(drawn.rows[drawn.row_of(index)], {})


PLACES = [
    ("System messages go first, in their order.", sentence(SYSTEM, HISTORY),
     sentence(SYSTEM, HISTORY, placement="in_place")),
    ("It is anchored before the history.", sentence(replace(X, anchor_point="before"), HISTORY),
     sentence(X, HISTORY)),
    ("It is anchored after “spot”.", sentence(replace(X, anchor_target="spot"), SPOT, HISTORY),
     sentence(replace(X, anchor_target="spot"), HISTORY)),
    ("Depth 2: 2 messages follow it, including the one you type.",
     sentence(replace(X, insertion_point=-2), HISTORY),
     sentence(replace(X, insertion_point=-3), HISTORY)),
    ("Depth 1: one message follows it, the one you type.",
     sentence(replace(X, insertion_point=-1), HISTORY),
     sentence(replace(X, insertion_point=1), HISTORY)),
    ("Depth 0: nothing of the chat follows it.",
     sentence(replace(X, anchor_point="after"), HISTORY),
     sentence(replace(X, anchor_target="spot"), SPOT, HISTORY)),
    ("It goes after message 2 of the history, counted from the oldest.",
     sentence(replace(X, insertion_point=2), HISTORY),
     sentence(replace(X, insertion_point=-2), HISTORY)),
    ("Messages can be anchored before or after “spot”.", sentence(SPOT, HISTORY),
     sentence(replace(X, id="spot"), HISTORY)),
    ("Off. Once on: messages can be anchored before or after “spot”.",
     sentence(replace(SPOT, enabled=False), HISTORY), sentence(SPOT, HISTORY)),
    ("It is sent only on continue.", sentence(replace(X, triggers=("continue",)), HISTORY),
     sentence(replace(X, triggers=("continue",), enabled=False), HISTORY)),
    ("It is in the list.", sentence(X, HISTORY), sentence(replace(X, insertion_point=0), HISTORY)),
    ("It is not part of the request.", sentence(SPOT, replace(SPOT, name="again"), index=1),
     sentence(SPOT, replace(SPOT, id="again"), index=1)),
]  # fmt: skip


@each_row(("words", "shown", "silent"), PLACES, ids=[row[0] for row in PLACES])
def test_a_place_is_named_where_it_is_true_and_nowhere_else(
    words: str, shown: str, silent: str
) -> None:
    assert shown == words
    assert silent != words


def reason(action: str, index: int, *messages: PresetMessage, placement: str = "hoist") -> str:
    """Why a key moves a message nowhere; empty if it moves it."""
    drawn = outline_preset(Preset("p", messages, system_placement=placement))
    return "" if edit_for(drawn, index, action) else why_not_moved(drawn, index, action)


TWO = (SYSTEM, replace(SYSTEM, id="Y"), HISTORY)
REASONS = [
    ("this is the first one", reason("up", 0, *TWO), reason("up", 1, *TWO)),
    ("this is the last one", reason("down", 1, *TWO), reason("down", 0, *TWO)),
    ("An anchor has no depth", reason("earlier", 1, X, HISTORY), reason("earlier", 0, X, HISTORY)),
    ("It is already before the oldest message",
     reason("earlier", 0, replace(X, insertion_point=0), HISTORY),
     reason("earlier", 0, replace(X, insertion_point=1), HISTORY)),
    ("It is already at the end.",
     reason("later", 0, replace(X, anchor_point="after"), HISTORY),
     reason("later", 0, replace(X, insertion_point=-1), HISTORY)),
    ("It cannot go further up.", reason("up", 0, HISTORY, placement="in_place"),
     reason("up", 1, X, HISTORY, placement="in_place")),
    ("It cannot go further down.", reason("down", 0, HISTORY, placement="in_place"),
     reason("down", 0, X, HISTORY, placement="in_place")),
]  # fmt: skip


@each_row(("words", "shown", "silent"), REASONS, ids=[row[0] for row in REASONS])
def test_a_reason_is_given_where_it_is_true_and_nowhere_else(
    words: str, shown: str, silent: str
) -> None:
    assert words in shown
    assert words not in silent


def test_deleting_a_message_selects_its_neighbor() -> None:
    at = {"insertion_point": -1}
    messages = [PresetMessage(name, "user", name, **at) for name in ("a", "b", "c")]
    drawn = outline_preset(Preset("p", (replace(messages[0], order=2), *messages[1:])))  # b c a
    assert [after_delete(drawn, index) for index in range(3)] == [1, 1, 0]
    assert after_delete(outline_preset(Preset("p", (messages[0],))), 0) == -1


def test_a_disabled_row_is_marked_everywhere() -> None:
    drawn = outline_preset(Preset("p", (PresetMessage("a", "system", "a", enabled=False),)))
    assert placement_sentence(drawn.rows[drawn.row_of(0)], {}).startswith(
        "Off. Once on: system messages go first"
    )


def test_a_stored_question_is_not_counted_among_the_history() -> None:
    history = tuple(Message("user", f"m{number}", f"{number}") for number in range(3))
    endpoint = Endpoint("here", Protocol.OPENAI_CHAT, "https://here.invalid", models=("gpt-4o",))
    anchor = PresetMessage("history", type="chat_history")
    composed = compose(Inputs(endpoint, Preset("p", (anchor,)), history))
    facts = facts_of(composed)
    assert [turn.text.plain for turn in facts.history] == ["m0", "m1"]
    assert (facts.draft[0], facts.is_typed) == ("m2", False)
    rows = outline_preset(Preset("p", (anchor,))).rows
    draft = next(row for row in rows if row.ghost == "draft")
    pieces = row_pieces(draft, None, facts, {}, 60, unsaved=False)
    assert "the message to answer: m2" in "".join(words for words, _ in pieces)
