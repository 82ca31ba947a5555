"""Backspace, Delete, arrows and word keys take a character as people see it, in all text fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from tests.support.screen import open_screen
from tui_chat.ui.widgets.graphemes import boundary_after, boundary_before

ON_SCREEN = ("〽️", "🇳🇴", "👩\u200d🌾", "e\u0301")
GRAPHEMES = (
    *ON_SCREEN,
    *("👨\u200d👩\u200d👧\u200d👦", "👍🏽", "🙂\u200d↔️", "1️⃣"),
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    *("ü\u0308\u0323", "각", "\u1100\u1161\u11a8", "\u1100\u1161", "नि", "กำ", "漢", "x"),
)


def test_characters_of_several_code_points_are_one() -> None:
    wrong: list[str] = []
    for grapheme in GRAPHEMES:
        for before in ("", "a", " ", "\t", "🇸🇪", "각"):
            text = f"{before}{grapheme}b"
            start, end = len(before), len(before) + len(grapheme)
            if boundary_before(text, end) != start:
                wrong.append(f"back over {grapheme!r} behind {before!r}")
            if boundary_after(text, start) != end:
                wrong.append(f"on over {grapheme!r} behind {before!r}")
    assert not wrong, wrong


def test_a_tab_or_a_joined_letter_belongs_to_nothing() -> None:
    assert boundary_before("a\t", 2) == 1
    assert boundary_before("\t\u0301", 2) == 1
    assert boundary_before("a\u200db", 3) == 2
    assert boundary_before("🇳🇴🇸🇪", 4) == 2
    assert (boundary_before("", 0), boundary_after("", 0)) == (0, 0)


@pytest.mark.parametrize("field", ["message box", "one line"])
async def test_one_key_takes_one_character(tmp_path: Path, field: str) -> None:
    wrong: list[str] = []
    async with open_screen(tmp_path, size=(80, 24)) as screen:
        if field == "one line":
            await screen.press("ctrl+o")
            await screen.sees("Type to filter")
        focused = screen.app.focused
        assert isinstance(focused, TextArea | Input)

        def text() -> str:
            assert isinstance(focused, TextArea | Input)
            return focused.text if isinstance(focused, TextArea) else focused.value

        for grapheme in ON_SCREEN:
            for keys, left in (
                (("backspace",), "ab"),
                (("left", "delete"), "ab"),
                (("left", "left", "right", "left", "x"), f"xa{grapheme}b"),
                (("left", "x"), f"ax{grapheme}b"),
                (("left", "right", "x"), f"a{grapheme}xb"),
                (("shift+left", "x"), "axb"),
                (("left", "shift+right", "x"), "axb"),
            ):
                if isinstance(focused, TextArea):
                    focused.text = f"a{grapheme}b"
                    focused.move_cursor((0, 1 + len(grapheme)))
                else:
                    focused.value = f"a{grapheme}b"
                    focused.cursor_position = 1 + len(grapheme)
                await screen.press(*keys)
                await screen.rests()
                if text() != left:
                    wrong.append(f"{grapheme!r} {keys}: {text()!r}")
            for keys in (("ctrl+w",), ("ctrl+left", "x", "y"), ("home", "ctrl+right", "x")):
                words = f"one {grapheme}{grapheme} {grapheme}"
                if isinstance(focused, TextArea):
                    focused.text = words
                    focused.move_cursor((0, len(words)))
                else:
                    focused.value = words
                    focused.cursor_position = len(words)
                await screen.press(*keys)
                await screen.rests()
                if not text().replace(grapheme, "").isascii():
                    wrong.append(f"{grapheme!r} {keys}: {text()!r}")
    assert not wrong, "\n".join(wrong)
