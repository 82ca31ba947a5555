"""Layouts of groups: what changed is counted again, and only that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.sidebar_app import DAY, NOW, summary
from tests.support.tables import each_row
from tui_chat.models.session import SessionSummary
from tui_chat.ui.ago import ago
from tui_chat.ui.areas.sessions.session_groups import (
    SessionFilter,
)


def sessions(numbers: list[int]) -> list[SessionSummary]:
    return [
        summary(n, updated=NOW - n * DAY / 3, tags=("a",) * (n % 3 == 0), archived=n % 7 == 0)
        for n in numbers
    ]


NUMBERS = st.lists(st.integers(0, 60), unique=True)


@given(
    numbers=NUMBERS,
    words=st.lists(st.sampled_from(["s", "se", "session", "1", "12", "2", "#a", "x"])),
)
def test_a_filter_finds_the_same_letter_by_letter(numbers: list[int], words: list[str]):
    summaries = sessions(numbers)
    typed = " ".join(words)
    filtering = SessionFilter(summaries)
    for length in range(len(typed)):
        filtering(typed[:length])
    assert list(filtering(typed)) == list(SessionFilter(summaries)(typed))


@each_row(
    ("passed", "said"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1m"),
        (3599, "59m"),
        (7200, "2h"),
        (3 * 86_400, "Thu"),
        (30 * 86_400, "16 May"),
        (400 * 86_400, "May 2024"),
        (1e15, ""),
    ],
)
def test_ages_are_short(passed: float, said: str):
    assert ago(NOW - passed, NOW) == said
