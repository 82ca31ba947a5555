"""Marked text, wrapped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from tests.support.tables import each_row
from tui_chat.ui.widgets.marked_text import marked, wrapped

PLAIN, MARK = Style(), Style(bold=True)


def texts(lines: list[list[Segment]]) -> list[str]:
    return ["".join(segment.text for segment in line).rstrip() for line in lines]


@each_row(
    ("text", "width", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("a longerthanwide b", 6, ["a", "longer", "thanwi", "de b"]),
        ("全文搜索词", 4, ["全文", "搜索", "词"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("", 9, [""]),
    ],
)
def test_lines_break_at_spaces_and_wide_characters(text: str, width: int, lines: list[str]) -> None:
    assert texts(wrapped([(text, PLAIN)], width)) == lines


def test_the_last_line_shows_that_text_was_cut() -> None:
    assert texts(wrapped([("one two three four", PLAIN)], 8, most=2)) == ["one two", "three …"]


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
