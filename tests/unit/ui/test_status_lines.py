"""The facts on the border of the message box."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_chat.ui.chat.status_lines import ChatFacts

FACTS = ChatFacts("gpt-5-mini", False, "Assistant", "~1,234 of 400k tokens", 2, 3)
WHOLE = "3 queued · gpt-5-mini · no API key · Assistant · 2 edits by hand · ~1,234 of 400k tokens"


@given(st.integers(1, 200))
def test_facts_fit_and_the_name_of_the_model_is_cut(width: int):
    line = FACTS.line(width).plain
    assert cell_len(line) <= width
    assert (line == WHOLE) is (width >= len(WHOLE))
    if width >= len(WHOLE) - 2:
        assert line.endswith(" · ~1,234 of 400k tokens")


def test_names_of_a_file_cannot_break_the_border():
    line = ChatFacts("a\nb\x1b[31m", role="漢字" * 40, tokens="[bold]").line(300)
    assert "\n" not in line.plain
    assert "\x1b" not in line.plain
    assert "[bold]" in line.plain
