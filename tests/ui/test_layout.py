"""Which panes are open, how wide they are, and what of it is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app import make_app, opened, settle, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.presets.pane import PresetPane
from tui_chat.ui.pane_layout import PaneLayout, read_layout, write_layout
from tui_chat.ui.panes import MIN_CHAT
from tui_chat.ui.widgets.pane_divider import PaneDivider


def widths(app: TuiChat) -> tuple[int, int, int]:
    """The widths of sessions, chat and what is at the right; 0 for what is hidden."""
    right = app.inspector if app.inspector.display else app.presets
    panes = (app.sessions, app.chat, right)
    return tuple(pane.region.width if pane.display else 0 for pane in panes)  # type: ignore[return-value]


def dividers(app: TuiChat) -> tuple[PaneDivider, PaneDivider]:
    left, right = app.query(PaneDivider)
    return left, right


def test_a_layout_is_read_as_it_was_written(tmp_path: Path):
    layout = PaneLayout(frozenset({"sessions", "presets"}), "inspector", 22, 61)
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
        '{"closed": 3, "requested": [], "left": true, "right": -5}',
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
    file.write_text(
        '{"closed": ["inspector", "attic", 7], "requested": "attic", "left": 20, "right": -5}'
    )
    assert read_layout(file) == PaneLayout(frozenset({"inspector"}), None, 20, None)


async def test_the_chat_has_80_columns_beside_the_inspector(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert widths(app) == (30, 80, 48)
        await pilot.resize_terminal(240, 45)
        await settle(pilot)
        assert widths(app) == (30, 240 - 32 - 100, 100)


@pytest.mark.parametrize("rows", [6, 7, 8, 10])
async def test_the_draft_has_a_line_in_the_lowest_terminal(rows: int, tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(40, 24)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"words")
        await pilot.resize_terminal(40, rows)
        await settle(pilot)
        composer = app.query_one(Composer)
        assert composer.region.height == 3
        line = composer.content_region.y
        assert line < rows - 1, "it is above the footer"
        strip = app.screen._compositor.render_strips()[line]
        assert "words" in "".join(segment.text for segment in strip)


async def test_borders_are_dragged_and_remembered(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        left, right = dividers(app)
        for divider, column in ((left, 20), (right, 99)):
            await pilot.mouse_down(divider)
            await pilot.hover(app.main, offset=(column, 9))
            await pilot.mouse_up(app.main, offset=(column, 9))
            await settle(pilot)
        assert widths(app) == (20, 78, 60)
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert widths(app) == (20, 78, 60)
        await pilot.click(dividers(app)[1], times=2)
        await settle(pilot)
        assert widths(app) == (20, 80, 58), "a double click resets it"


async def test_a_border_keeps_both_panes_usable(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        right = dividers(app)[1]
        for column, wanted in ((0, (30, MIN_CHAT, 88)), (159, (30, 98, 30))):
            await pilot.mouse_down(right)
            await pilot.hover(app.main, offset=(column, 9))
            await pilot.mouse_up(app.main, offset=(column, 9))
            await settle(pilot)
            assert widths(app) == wanted


async def test_keys_move_the_border_of_the_focused_pane_and_the_palette_resets(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"draft", "alt+left")
        await settle(pilot)
        assert widths(app) == (30, 76, 52)
        assert app.chat.pane.composer.text == "draft"
        await pilot.press("f2", "alt+right", "alt+right")
        await settle(pilot)
        assert widths(app) == (38, 68, 52)
        await pilot.press("ctrl+p", *"reset layout", "enter")
        await until(pilot, lambda: widths(app) == (30, 80, 48))
    assert read_layout(tmp_path / "layout.json") == PaneLayout()


async def test_open_panes_are_remembered(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await pilot.press("f2", "f2", "f3")
        await until(pilot, lambda: app.presets.has_focus_within)
        assert not app.sessions.display
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert not app.sessions.display
        assert app.presets.display
        await until(pilot, lambda: bool(app.query(PresetPane)))
        assert app.query_one(PresetPane).region.height > 10
        assert app.inspector.display
        assert app.chat.pane.composer.has_focus


async def test_the_next_start_may_be_in_a_smaller_terminal(tmp_path: Path):
    write_layout(tmp_path / "layout.json", PaneLayout(frozenset(), "inspector", 90, 300))
    async with make_app(tmp_path).run_test(size=(140, 30)) as pilot:
        app = await opened(pilot)
        left, chat, right = widths(app)
        assert chat >= MIN_CHAT
        assert left + chat + right + 2 == 140
        assert right >= 30
        await pilot.resize_terminal(100, 30)
        await settle(pilot)
        assert widths(app)[1] >= MIN_CHAT
    async with make_app(tmp_path).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        assert not app.inspector.display, "it does not cover the chat at the start"
        assert app.chat.pane.composer.has_focus
        assert app.chat.region.width == 80
