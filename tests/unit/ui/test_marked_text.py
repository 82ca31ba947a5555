"""Text with marked places."""

from __future__ import annotations

from rich.style import Style

from tui_chat.ui.widgets.marked_text import marked

PLAIN, MARK = Style(), Style(bold=True)


def test_marks_are_pieces_of_their_own_and_hostile_text_is_spelled_out() -> None:
    text = "a\x1b[31mfox\u202eb"
    assert marked(text, [(6, 9), (3, 5), (90, 99)], PLAIN, MARK) == [
        ("a␛[31m", PLAIN),
        ("fox", MARK),
        ("\\u202eb", PLAIN),
    ]
