"""What is remembered of runs of turns."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from weakref import ref

import pytest

from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.memo import forget_recent
from tui_chat.models.text import GLUE, Text
from tui_chat.protocols.common.segments import run_memo


def turn(text: str) -> Turn:
    return Turn("user", Text.glue(text), GLUE, Placement("history"))


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
