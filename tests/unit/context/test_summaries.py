"""Summaries: what a message that stands for earlier ones takes the place of."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import (
    A1,
    A2,
    ENDPOINT,
    HISTORY,
    ROLE,
    U1,
    U2,
    built,
    codes,
    order,
    said,
    summary,
)
from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.context import Inputs
from tui_chat.context.inputs import EPOCH
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.request_recipe import (
    dump_recipe,
    read_recipe,
    rebuilt_inputs,
    recipe_of,
    revisions_of,
)

U3, A3 = Message.of("user", "U3", "5"), Message.of("assistant", "A3", "6")


def sent(*history: Message, **inputs: object) -> str:
    return order(built(HISTORY, history=history, **inputs))


@each_row(
    ("history", "expected"),
    [
        ((U1, A1, U2, A2, summary("S", 2)), "S U2 A2 D"),
        ((U1, A1, U2, A2, summary("S", 2), U3, A3), "S U2 A2 U3 A3 D"),
        ((U1, A1, U2, A2, summary("S", 0)), "S D"),
        ((U1, A1, U2, A2, summary("S", 2, enabled=False)), "U1 A1 U2 A2 D"),
        # The newest counts; what an older one stood for, and what followed, is in it.
        ((U1, A1, summary("S", 0), U2, A2, summary("T", 0), U3, A3), "T U3 A3 D"),
        ((U1, A1, summary("S", 0), U2, A2, summary("T", 2), U3, A3), "T U2 A2 U3 A3 D"),
        # It stands where the older one is still among what is kept.
        ((U1, A1, U2, A2, summary("S", 2), summary("T", 3)), "T U2 A2 D"),
        # If it is off, the older one counts again.
        ((U1, A1, summary("S", 0), U2, A2, summary("T", 0, enabled=False)), "S U2 A2 D"),
        # Pinned messages and a system message that begins the history stay.
        ((replace(U1, pinned=True), A1, U2, A2, summary("S", 2)), "U1 S U2 A2 D"),
        ((Message.of("system", "Y", "0"), U1, A1, summary("S", 0)), "Y S D"),
        # Damaged numbers are not more than all or nothing.
        ((U1, A1, summary("S", 99)), "S U1 A1 D"),
        ((U1, A1, summary("S", -5)), "S D"),
        ((summary("S", 0),), "S D"),
    ],
)
def test_a_summary_takes_the_place_of_what_it_stands_for(history, expected):
    assert sent(*history) == expected


def test_a_call_and_its_result_stay_together():
    call = make_message("assistant", "", "c", tool_calls=(CallBlock("x", "t", "{}"),))
    result = make_message("tool", "R", "r", tool_call_id="x", pinned=True)
    envelope = built(HISTORY, history=(U1, call, result, U2, A2, summary("S", 2)))
    assert [turn.role for turn in envelope.turns] == [
        *("assistant", "tool", "system", "user", "assistant", "user")
    ]


def test_the_message_to_be_answered_may_precede_it():
    assert order(built(HISTORY, history=(U1, A1, U2, summary("S", 1)), draft="")) == "S U2"


def test_truncation_keeps_it_and_a_note_says_what_it_replaces():
    history = (U1, A1, U2, A2, summary("S" * 20, 2))
    envelope = built(HISTORY, history=history, context_limit=50)
    assert order(envelope) == "S" * 20 + " A2 D"
    assert codes(envelope) == ["history-dropped", "history-summarized"]
    note = envelope.notes[-1]
    assert note.sentence == "A summary is sent instead of the first 2 messages."
    assert note.origin is not None
    assert (note.origin.kind, note.origin.id) == (OriginKind.HISTORY, "S" * 20)


def test_the_role_keeps_its_prompt():
    history = (U1, A1, summary("S", 0))
    assert order(built(HISTORY, history=history, role=ROLE)) == "ROLE S D"


def test_depths_count_from_the_message_that_is_answered():
    history = (U1, A1, U2, A2, summary("S", 2))
    preset = (HISTORY, said("X", insertion_point=-2), said("Y", insertion_point=1))
    assert order(built(*preset, history=history)) == "S Y U2 X A2 D"


def test_a_recipe_knows_which_summaries_were_on():
    history = (U1, A1, summary("S", 0), U2, A2)
    inputs = built_inputs(history)
    stored = read_recipe(dump_recipe(recipe_of(inputs)))
    assert stored.summaries == ("S",)
    revisions = {name: text for name, (_, text) in revisions_of(inputs).items()}
    off = (U1, A1, summary("S", 0, enabled=False), U2, A2)
    again = rebuilt_inputs(stored, revisions, off, None)
    assert again.history == history
    stored = read_recipe(dump_recipe(recipe_of(built_inputs(off))))
    assert rebuilt_inputs(stored, revisions, history, None).history == off


def built_inputs(history: tuple[Message, ...]) -> Inputs:
    return Inputs(ENDPOINT, Preset("test", (HISTORY,)), history, now=EPOCH)
