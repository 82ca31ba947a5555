"""Segments of a conversation, and what is remembered of runs of turns."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from weakref import ref

import pytest

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.memo import forget_recent
from tui_chat.models.message import MessageRole
from tui_chat.models.semantics import MessageSemantics, WireForm
from tui_chat.models.text import GLUE, Text
from tui_chat.protocols.common.segments import LENGTH, run_memo, segments


def turn(text: str, role: MessageRole = "user", form: WireForm | None = None) -> Turn:
    semantics = MessageSemantics(wire=form)
    return Turn(role, Text.glue(text), GLUE, Placement("history"), semantics=semantics)


def test_a_segment_begins_with_a_user_turn_that_is_no_part_of_the_one_before():
    own, part = (WireForm(Protocol.ANTHROPIC, joined=joined) for joined in (False, True))
    turns = [turn(str(number), "assistant") for number in range(3 * LENGTH)]
    for place, form in ((3, None), (LENGTH, part), (LENGTH + 2, own), (2 * LENGTH + 5, None)):
        turns[place] = turn(str(place), form=form)
    cut = segments(turns)
    assert [run[0].text.plain for run in cut] == ["0", f"{LENGTH + 2}", f"{2 * LENGTH + 5}"]
    assert [each for run in cut for each in run] == turns
    assert segments(turns[:LENGTH]) == [tuple(turns[:LENGTH])]
    assert segments([]) == []


def test_a_run_is_computed_once_for_its_very_turns():
    computed: list[str] = []

    def spell(turns: Sequence[Turn]) -> str:
        computed.append("".join(each.text.plain for each in turns))
        return computed[-1]

    memo = run_memo(spell)
    a, b = turn("a"), turn("b")
    assert [memo((a, b)), memo((a, b)), memo((a,)), memo((turn("a"), b))] == ["ab", "ab", "a", "ab"]
    assert computed == ["ab", "a", "ab"]


@pytest.mark.slow
def test_old_runs_are_let_go_even_where_their_results_refer_to_them():
    memo = run_memo(tuple, size=4)
    first = turn("first")
    memo((first,))
    gone = ref(first)
    del first
    for number in range(8):
        memo((turn(str(number)),))
    gc.collect()
    assert gone() is None


def test_what_was_made_of_another_conversation_is_let_go_of():
    memo = run_memo(tuple)
    a = turn("a")
    memo((a,))
    kept = ref(a)
    del a
    assert kept() is not None
    forget_recent()
    gc.collect()
    assert kept() is None
