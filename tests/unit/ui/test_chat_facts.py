"""The facts on the composer's border."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_chat.ui.chat.status_lines import ChatFacts

FACTS = ChatFacts("gpt-5-mini", "openai", "Assistant", "~1,234 of 400k tokens", "$0.0123", 2, True)


IN_ORDER = (
    *(
        "temporary",
        "gpt-5-mini",
        "openai",
        "Assistant",
        "2 edits by hand",
        "~1,234 of 400k tokens",
        "$0.0123",
    ),
)


@given(st.integers(1, 200))
def test_facts_fit_and_the_model_is_left_out_last(width: int):
    line = FACTS.line(width).plain
    assert cell_len(line) <= width
    shown = [fact for fact in IN_ORDER if fact in line]
    if width >= len("gpt-5-mini"):
        assert line == " · ".join(shown)
        assert "gpt-5-mini" in shown
    if width >= len(" · ".join(IN_ORDER)):
        assert shown == list(IN_ORDER)


def test_names_of_a_file_cannot_break_the_border():
    line = ChatFacts("a\nb\x1b[31m", "[bold]", "漢字" * 40).line(300)
    assert "\n" not in line.plain
    assert "\x1b" not in line.plain
    assert "[bold]" in line.plain
