"""Formulas in the Markdown of messages."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.support.message_lines import drawn
from tests.support.tables import each_row
from tui_chat.ui.chat.markdown import section_rows
from tui_chat.ui.chat.rows import runs_of
from tui_chat.ui.chat.sections import SectionSplitter


@each_row(
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


def test_prose_with_dollar_signs_is_drawn_as_it_was_written():
    wrong = [
        (text, drawn(text))
        for text in (
            "Set $HOME/$USER first.",
            "between $5 and 10$ a month",
            "use $A+$B",
            "US$5/US$",
            "costs $5 and $6, or 7$",
            "export PATH=$HOME/bin:$PATH",
            "echo ${HOME}/${USER}",
            "$LINES=$(wc -l)",
            "set $MY_HOME or pay 5$ now",
            "$('[a=b]').html($(this))",
            "$.ajax({url}).done($.x)",
            "$a = $b; $c=$d;",
            "A$AP and Ke$ha",
            "from $10 to $20 (or 5$-6$)",
        )
        if drawn(text) != [text]
    ]
    assert not wrong, wrong


WORDS = st.lists(st.text("$ aA1.,;:/+-()%é", max_size=6), max_size=8).map(" ".join)


@given(WORDS)
def test_no_dollar_of_prose_without_signs_of_tex_is_lost(text: str):
    prose = re.sub(r"\$\$|(?<![^\W_])\$[^\W\d_]\$", "", text)
    layout = " ".join(drawn(f"so {prose}"))
    assert layout.count("$") == f"so {prose}".count("$")


def test_formulas_between_single_dollars_are_drawn_as_text():
    source = r"$x$, ($x^2$), $a=b$, $E = mc^2$, $\alpha$, -$y_1$-, **$n$** and $\max x_i$"
    assert " ".join(drawn(source)) == "x, (x²), a = b, E = mc², α, -y₁-, n and max xᵢ"


def test_formulas_have_a_style_of_their_own() -> None:
    [section] = SectionSplitter(r"so **\(x_1\)** and $y$").all()
    [line] = section_rows(section, 60)
    styles = {run.text: run.styles for run in runs_of(line.content) if run.styles}
    assert styles == {"x₁": ("strong", "added"), "y": ("added",)}
