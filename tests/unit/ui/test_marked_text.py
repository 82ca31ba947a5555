"""Marked text, wrapped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from tui_chat.ui.widgets.marked_text import marked, wrapped

PLAIN, MARK = Style(), Style(bold=True)


def test_marks_are_pieces_of_their_own_and_hostile_text_is_spelled_out() -> None:
    text = "a\x1b[31mfox\u202eb"
    assert marked(text, [(6, 9), (3, 5), (90, 99)], PLAIN, MARK) == [
        ("a␛[31m", PLAIN),
        ("fox", MARK),
        ("\\u202eb", PLAIN),
    ]


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(-2, 70), st.integers(-2, 70)), max_size=4),
    st.integers(2, 30),
    st.none() | st.integers(1, 3),
)
def test_every_line_fits(
    text: str, marks: list[tuple[int, int]], width: int, most: int | None
) -> None:
    lines = wrapped(marked(text, marks, PLAIN, MARK), width, most)
    for line in lines:
        shown = "".join(segment.text for segment in line).rstrip(" ")
        assert Segment(shown).cell_length <= width
        assert not any(ord(char) < 32 for char in shown)
    assert most is None or len(lines) <= most
