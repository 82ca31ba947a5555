"""What a history costs, and what is remembered of it when it changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import A1, A2, U1, U2
from tests.support.strategies import histories
from tui_chat.context.history_costs import HistoryCosts, history_costs
from tui_chat.models.message import Message, ToolCall
from tui_chat.tokens import TURN_OVERHEAD, Correction, Counter

CALL = Message("assistant", "", "c", tool_calls=(ToolCall("t", "look", "{}"),))
RESULT = Message("tool", "r", "r", tool_call_id="t")


def letters(corrected: bool = False) -> Counter:
    counter = Counter("letters", False, len)
    return counter.corrected(Correction(10, 15)) if corrected else counter


def figures(costs: HistoryCosts) -> tuple[object, ...]:
    said = [(turn.role, turn.text, turn.origin) for turn in costs.turns]
    sums = (costs.costs, costs.units, costs.always_kept, costs.droppable, costs.total)
    return said, sums, costs.has_parts


changes = st.lists(st.sampled_from(["keep", "keep", "edit", "drop", "add", "call"]), max_size=14)


@given(histories(), changes, st.booleans())
def test_remembered_history_costs_equal_fresh_ones(
    known: tuple[Message, ...], changes: list[str], corrected: bool
):
    counter = letters(corrected)
    history_costs(known, counter)
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
    remembered = history_costs(tuple(changed), counter)
    worked_out = history_costs(tuple(map(replace, changed)), letters(corrected))
    assert figures(remembered) == figures(worked_out)


@given(histories())
def test_sums_of_history_costs_add_up(history: tuple[Message, ...]):
    costs = history_costs((U1, CALL, RESULT, RESULT, *history), letters())
    assert costs.units[:2] == (0, 1)
    assert costs.total == sum(costs.costs)
    free = [
        0 if unit in costs.always_kept else sum(costs.costs[i] for i in costs.members(unit))
        for unit in range(len(costs.units))
    ]
    assert costs.droppable == tuple(accumulate(free, initial=0))


def test_an_edited_message_is_counted_and_the_others_keep_their_turns():
    counted: list[str] = []
    counter = Counter("letters", False, lambda text: counted.append(text) or len(text))
    before = history_costs((U1, A1, U2, A2), counter)
    counted.clear()
    edited = replace(A1, content="Edited")
    after = history_costs((U1, edited, U2, A2), counter)
    assert counted == ["Edited"]
    same = [old is new for old, new in zip(before.turns, after.turns, strict=True)]
    assert same == [True, False, True, True]
    assert after.costs[1] == len("Edited") + TURN_OVERHEAD


def test_a_new_correction_counts_nothing_again():
    counted: list[str] = []
    counter = Counter("letters", False, lambda text: counted.append(text) or len(text))
    history = (U1, A1)
    once = history_costs(history, counter)
    twice = history_costs(history, counter.corrected(Correction(10, 20)))
    assert twice.costs == tuple(2 * cost for cost in once.costs)
    assert twice.turns is once.turns
    assert counted == ["U1", "A1"]
