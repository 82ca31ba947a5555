"""Small parts of the screen, without an app."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from tests.support.drawings import drawing
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.blocks import MediaBlock
from tui_chat.ui.chat.status_lines import ChatFacts
from tui_chat.ui.dialogs.file_viewer import MOST_PIXELS, ImagePreview
from tui_chat.ui.keys import DEFAULT_KEYS, NO_KEY, insert_keys, key_name, parse_key
from tui_chat.ui.pane_layout import PaneLayout, read_layout, write_layout
from tui_chat.ui.widgets.marked_text import marked

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


# --- Names of keys, as they are written and as they are shown -----------------------------


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("ctrl+n", "ctrl+n"),
        ("Ctrl+N", "ctrl+n"),
        ("Control+Shift+Left", "ctrl+shift+left"),
        ("shift + alt + F5", "alt+shift+f5"),
        ("Esc", "escape"),
        ("Ctrl+↑", "ctrl+up"),
        ("PgUp", "pageup"),
        ("?", "question_mark"),
        ("full_stop", "full_stop"),
        ("Ctrl+/", "ctrl+slash"),
        ("g", "g"),
        ("G", "G"),
        ("shift+g", "G"),
        ("漢", "漢"),
        ("ctrl", ""),
        ("ctrl+", ""),
        ("crtl+n", ""),
        ("f99", ""),
        ("", ""),
    ],
)
def test_spellings_of_keys_are_understood(written: str, key: str):
    if key:
        assert parse_key(written) == key
        assert parse_key(key_name(key)) == key
    else:
        with pytest.raises(ValueError, match="there is no key"):
            parse_key(written)


def test_a_hint_leaves_out_what_has_no_key():
    keys = DEFAULT_KEYS | {"sessions": NO_KEY}
    assert insert_keys("{help} help · {sessions} sessions · r again", keys) == "F1 help · r again"
    assert insert_keys("{sessions} shows them", keys) == "the palette shows them"


@pytest.mark.parametrize(
    ("key", "name"),
    [("ctrl+n", "Ctrl+N"), ("escape", "Esc"), ("g", "g"), ("G", "G"), ("ctrl+up", "Ctrl+↑")],
)
def test_names_of_keys(key: str, name: str):
    assert key_name(key) == name


# --- Marked text --------------------------------------------------------------------------


PLAIN, MARK = Style(), Style(bold=True)


def test_marks_are_pieces_of_their_own_and_hostile_text_is_spelled_out() -> None:
    text = "a\x1b[31mfox\u202eb"
    assert marked(text, [(6, 9), (3, 5), (90, 99)], PLAIN, MARK) == [
        ("a␛[31m", PLAIN),
        ("fox", MARK),
        ("\\u202eb", PLAIN),
    ]


# --- Which panes are open and how wide, in a file -----------------------------------------


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


# --- Pictures: their size, and those that are refused -------------------------------------


def test_hostile_pictures_are_refused() -> None:
    whole = drawing()
    bomb = whole[:16] + (60_000).to_bytes(4, "big") * 2 + whole[24:]
    assert MOST_PIXELS < 60_000**2
    for content in (b"", b"\x89PNG\r\n\x1a\n" + bytes(2_000), whole[:60], bomb):
        with pytest.raises(InputError):
            ImagePreview.of("a.png", content)


@each_row("kind", ["PNG", "GIF", "WEBP", "JPEG"])
def test_pixels_are_read_from_the_header(kind: str) -> None:
    from tui_chat.models.media import pixels_of

    content = drawing(kind, (300, 7))
    encoded = base64.b64encode(content).decode()
    assert pixels_of(MediaBlock("image", data=encoded)) == (300, 7)
    for length in range(64):
        part = MediaBlock("image", data=base64.b64encode(content[:length]).decode())
        assert pixels_of(part) in (None, (300, 7))
