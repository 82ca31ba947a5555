"""A key gives the pane with the focus the whole screen, and gives it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Paste
from textual.geometry import Region
from textual.pilot import Pilot

from tests.support.app import make_app, opened, settle, until
from tests.ui.test_focus import PANES, SIZES, focus_pane, with_a_conversation
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.area import Area
from tui_chat.ui.command_palette import CommandPalette
from tui_chat.ui.key_bar import KeyBar

ZOOMED = {"composer": "", **PANES}


async def focus(pilot: Pilot[None], app: TuiChat, pane: str) -> Area:
    """Focus a pane or the composer; return the area that has the focus."""
    if pane == "composer":
        app.screen.set_focus(app.chat.pane.composer)
        await settle(pilot)
    else:
        await focus_pane(pilot, app, pane)
    return next(area for area in app.panes.areas if area.has_focus_within)


def regions(app: TuiChat) -> dict[str, Region]:
    """The places of the areas on the screen."""
    return {str(area.id): area.region for area in app.panes.areas if area.is_on_screen}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("pane", ZOOMED)
@pytest.mark.parametrize("restoring", ["f11", "escape"])
async def test_the_pane_with_the_focus_takes_the_screen_and_gives_it_back(
    tmp_path: Path, pane: str, size: tuple[int, int], restoring: str
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=size) as pilot:
        app = await with_a_conversation(pilot)
        area = await focus(pilot, app, pane)
        before, focused = regions(app), app.focused
        await pilot.press("f11")
        await settle(pilot)
        assert area.region == app.panes.region
        assert app.focused is focused
        top, _ = app.screen.get_widget_at(1, size[1] // 2)
        assert area in top.ancestors_with_self
        is_alone = app.panes.zoomed is None
        assert is_alone == (size[0] < 96 and area is app.chat)
        footer = app.query_one(KeyBar)
        assert ("F11 Unzoom" in footer.render().plain) is not is_alone
        await pilot.press(restoring)
        await settle(pilot)
        assert "Unzoom" not in footer.render().plain
        assert app.focused is focused or (is_alone and restoring == "escape")
        app.screen.set_focus(focused)  # Esc alone led to the composer, where letters are text
        await settle(pilot)
        assert regions(app) == before


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("zoomed", ZOOMED)
@pytest.mark.parametrize("other", PANES)
async def test_another_pane_that_gets_the_focus_is_shown(
    tmp_path: Path, zoomed: str, other: str, size: tuple[int, int]
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=size) as pilot:
        app = await with_a_conversation(pilot)
        area = await focus(pilot, app, zoomed)
        await pilot.press("f11")
        await settle(pilot)
        if other == "transcript":
            app.panes.show_conversation(focus_composer=False)
        else:
            await pilot.press(PANES[other])
        if area.id != other:
            await settle(pilot)
            await until(pilot, lambda: app.focused is not None)
        shown = next(each for each in app.panes.areas if each.has_focus_within)
        assert shown.is_on_screen
        top, _ = app.screen.get_widget_at(shown.region.x + 1, size[1] // 2)
        assert shown in top.ancestors_with_self
        assert app.panes.zoomed in (None, shown)


async def test_a_key_without_use_keeps_the_zoom_and_a_paste_ends_it(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        before = regions(app)
        await focus(pilot, app, "sessions")
        await pilot.press("f11")
        await settle(pilot)
        await pilot.press("H")
        await settle(pilot)
        assert app.panes.zoomed is app.panes.sessions
        assert app.chat.pane.composer.text == ""
        app.post_message(Paste("Hello"))
        await until(pilot, lambda: app.chat.pane.composer.text == "Hello")
        await settle(pilot)
        assert app.panes.zoomed is None
        assert regions(app) == before


async def test_escape_stops_the_reply_before_it_restores_the_panes(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-stall").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await pilot.press("f11", *"hi", "enter")
        await until(pilot, lambda: workspace.state.is_streaming)
        await pilot.press("escape")
        await until(pilot, lambda: not workspace.state.is_streaming)
        assert app.panes.zoomed is app.chat
        await pilot.press("escape")
        await settle(pilot)
        assert app.panes.zoomed is None


@pytest.mark.parametrize("words", ["zoom", "maximize", "full screen"])
async def test_the_palette_knows_it(tmp_path: Path, words: str) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        await focus(pilot, app, "inspector")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*words, "enter")
        await until(pilot, lambda: app.panes.zoomed is app.panes.inspector)


async def test_the_next_start_shows_the_panes_that_were_open_before(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        before = regions(app)
        await focus(pilot, app, "inspector")
        await pilot.press("f11")
        await settle(pilot)
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        assert regions(app) == before
