"""Which panes are open and how wide, in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_chat.ui.pane_layout import PaneLayout, read_layout, write_layout


def test_a_layout_is_read_as_it_was_written(tmp_path: Path):
    layout = PaneLayout(("sessions", "inspector"), 22, 61, is_first=False)
    file = tmp_path / "new" / "layout.json"
    write_layout(file, layout)
    assert read_layout(file) == layout


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '"x"',
        "[" * 9_000,
        '{"open": 3, "left": true, "right": -5}',
    ],
)
def test_a_file_that_says_nothing_sensible_gives_the_default_layout(tmp_path: Path, text: str):
    file = tmp_path / "layout.json"
    file.write_text(text)
    assert read_layout(file) == PaneLayout()
    file.write_bytes(b"\xff\xfe")
    assert read_layout(file) == PaneLayout()
    write_layout(tmp_path / "layout.json" / "below", PaneLayout())  # it cannot, and says nothing


def test_unknown_panes_in_the_file_are_left_out(tmp_path: Path):
    file = tmp_path / "layout.json"
    file.write_text('{"open": ["inspector", "attic", 7, "inspector"], "left": 20, "right": -5}')
    assert read_layout(file) == PaneLayout(("inspector",), 20, None)


def test_the_pane_that_is_opened_is_the_last_and_the_session_list_opens_as_the_first():
    layout = PaneLayout().opening("presets").opening("inspector")
    assert layout.opened == ("presets", "inspector")
    assert layout.closing("inspector").opened == ("presets",)
    assert layout.with_sessions().opened == ("sessions", "presets", "inspector")
    assert not layout.with_sessions().is_first
