"""Formulas in the Markdown of messages."""

from __future__ import annotations

import pytest

from tests.ui.areas.chat.test_message_layout import drawn
from tui_chat.ui.areas.chat.markdown import section_lines
from tui_chat.ui.areas.chat.sections import SectionSplitter


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (r"so $a_1 * b_1 * c$ costs $5", ["so a₁ ∗ b₁ ∗ c costs $5"]),
        (r"\(x\_1\) and \[y*z*\]", ["x_1 and y∗z∗"]),
        (r"so $\foo{a_1} * b$ and *c*", [r"so $\foo{a_1} * b$ and c"]),
        ("$$\na\n= b\n- c\n$$\nso", ["a = b − c", "", "so"]),
        ("$$\na\n= b", ["$$", "a", "= b"]),
    ],
)
def test_formulas_are_drawn_as_text_or_as_written(source: str, lines: list[str]) -> None:
    assert drawn(source) == lines


def test_formulas_have_a_style_of_their_own() -> None:
    [section] = SectionSplitter(r"so **\(x_1\)** and $y$").all()
    [line] = section_lines(section, 60)
    styles = {run.text: run.styles for run in line.runs if run.styles}
    assert styles == {"x₁": ("strong", "added"), "y": ("added",)}
