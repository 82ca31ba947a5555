"""What a history costs, and what is remembered of it when it changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from tests.context.requests import A1, A2, U1, U2
from tests.strategies import histories
from tui_chat.context.ledger import Ledger, ledger_of
from tui_chat.models.message import Message, ToolCall
from tui_chat.tokens import TURN_OVERHEAD, Correction, Counter

CALL = Message("assistant", "", "c", tool_calls=(ToolCall("t", "look", "{}"),))
RESULT = Message("tool", "r", "r", tool_call_id="t")


def letters(corrected: bool = False) -> Counter:
    counter = Counter("letters", False, len)
    return counter.corrected(Correction(10, 15)) if corrected else counter


def figures(ledger: Ledger) -> tuple[object, ...]:
    said = [(turn.role, turn.text, turn.origin) for turn in ledger.turns]
    sums = (ledger.costs, ledger.units, ledger.staying, ledger.droppable, ledger.total)
    return said, sums, ledger.has_parts


changes = st.lists(st.sampled_from(["keep", "keep", "edit", "drop", "add", "call"]), max_size=14)


@given(histories(), changes, st.booleans())
def test_what_is_remembered_of_a_history_is_what_would_be_worked_out(
    known: tuple[Message, ...], changes: list[str], corrected: bool
):
    counter = letters(corrected)
    ledger_of(known, counter)
    changed: list[Message] = []
    for number, message in enumerate(known):
        match changes[number] if number < len(changes) else "keep":
            case "keep":
                changed.append(message)
            case "edit":
                changed.append(replace(message, content=f"{message.content}, mended"))
            case "add":
                changed += (Message("user", "one more", f"new {number}", pinned=True), message)
            case "call":
                changed += (CALL, RESULT, message)
            case _:
                pass
    remembered = ledger_of(tuple(changed), counter)
    worked_out = ledger_of(tuple(map(replace, changed)), letters(corrected))
    assert figures(remembered) == figures(worked_out)


@given(histories())
def test_a_ledger_adds_up(history: tuple[Message, ...]):
    ledger = ledger_of((U1, CALL, RESULT, RESULT, *history), letters())
    assert ledger.units[:2] == (0, 1)
    assert ledger.total == sum(ledger.costs)
    free = [
        0 if unit in ledger.staying else sum(ledger.costs[i] for i in ledger.members(unit))
        for unit in range(len(ledger.units))
    ]
    assert ledger.droppable == tuple(accumulate(free, initial=0))


def test_an_edited_message_is_counted_and_the_others_keep_their_turns():
    counted: list[str] = []
    counter = Counter("letters", False, lambda text: counted.append(text) or len(text))
    before = ledger_of((U1, A1, U2, A2), counter)
    counted.clear()
    edited = replace(A1, content="Edited")
    after = ledger_of((U1, edited, U2, A2), counter)
    assert counted == ["Edited"]
    same = [old is new for old, new in zip(before.turns, after.turns, strict=True)]
    assert same == [True, False, True, True]
    assert after.costs[1] == len("Edited") + TURN_OVERHEAD


def test_a_new_correction_counts_nothing_again():
    counted: list[str] = []
    counter = Counter("letters", False, lambda text: counted.append(text) or len(text))
    history = (U1, A1)
    once = ledger_of(history, counter)
    twice = ledger_of(history, counter.corrected(Correction(10, 20)))
    assert twice.costs == tuple(2 * cost for cost in once.costs)
    assert twice.turns is once.turns
    assert counted == ["U1", "A1"]
