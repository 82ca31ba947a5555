"""Panes: which are open, which has the focus and the zoom, and where what is typed goes."""

from __future__ import annotations

from pathlib import Path

from textual import events
from textual.geometry import Region
from textual.pilot import Pilot

from tests.support.app import (
    burst,
    make_app,
    opened,
    press,
    say,
    screen_text,
    settle,
    until,
    workspace_of,
)
from tests.support.pictures import NARROW, SIZES, WIDE
from tui_chat.ui.app import TuiChat
from tui_chat.ui.area import Area
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.key_row import KeyRow
from tui_chat.ui.pane_layout import PaneLayout, read_layout, write_layout
from tui_chat.ui.panes import MIN_CHAT
from tui_chat.ui.presets.pane import PresetPane
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.ui.widgets.find_bar import FindBar
from tui_chat.ui.widgets.pane_divider import PaneDivider

PANES = {"transcript": "shift+tab", "sessions": "f2", "preset editor": "f3", "inspector": "f4"}


async def focus(pilot: Pilot[None], pane: str) -> Area:
    """Focus a pane from the composer, or the composer; return the area that has the focus."""
    app = pilot.app
    app.screen.set_focus(app.chat.composer)
    await settle(pilot)
    if pane != "composer":
        await pilot.press(PANES[pane])
        await until(pilot, lambda: not app.chat.composer.has_focus)
        if pane == "preset editor":
            await until(pilot, lambda: bool(app.query(PresetPane)))
    await settle(pilot)
    return next(area for area in app.panes.areas if area.has_focus_within)


def regions(app: TuiChat) -> dict[str, Region]:
    """The places of the areas on the screen."""
    return {str(area.id): area.region for area in app.panes.areas if area.is_on_screen}


def widths(app: TuiChat) -> tuple[int, int, int]:
    """The widths of sessions, chat and what is at the right; 0 for what is hidden."""
    right = app.inspector if app.inspector.display else app.presets
    panes = (app.sessions, app.chat, right)
    return tuple(pane.region.width if pane.display else 0 for pane in panes)


# --- zoom ---------------------------------------------------------------------------------


async def test_the_pane_with_the_focus_takes_the_screen_and_gives_it_back(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        footer = app.query_one(KeyRow)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            for pane in ("composer", *PANES):
                where = f"{pane} at {size}"
                area = await focus(pilot, pane)
                before, focused = regions(app), app.focused
                await press(pilot, "f11")
                assert area.region == app.panes.region, where
                assert app.focused is focused, where
                top, _ = app.screen.get_widget_at(1, size[1] // 2)
                assert area in top.ancestors_with_self, where
                is_alone = app.panes.zoomed is None
                assert is_alone == (before.keys() == {area.id}), where
                assert ("F11 unzoom" in footer.render().plain) is not is_alone, where
                await press(pilot, "f11" if is_alone or pane == "sessions" else "escape")
                assert "unzoom" not in footer.render().plain, where
                assert app.focused is focused, where
                assert regions(app) == before, where


async def test_another_pane_that_gets_the_focus_ends_the_zoom_and_is_shown(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        before = regions(app)
        for zoomed, key in (("sessions", "f4"), ("inspector", "f3"), ("preset editor", "f2")):
            await focus(pilot, zoomed)
            await press(pilot, "f11", key)
            shown = next(each for each in app.panes.areas if each.has_focus_within)
            top, _ = app.screen.get_widget_at(*shown.region.center)
            assert shown in top.ancestors_with_self, key
            assert app.panes.zoomed in (None, shown), key
        await press(pilot, "f11", "f11")
        await focus(pilot, "sessions")
        await press(pilot, "f11", "H")
        assert app.panes.zoomed is app.panes.sessions, "a key without use"
        assert app.chat.composer.text == ""
        app.post_message(events.Paste("Hello"))
        await until(pilot, lambda: app.chat.composer.text == "Hello")
        await until(pilot, lambda: app.panes.zoomed is None)
        await focus(pilot, "inspector")
        await press(pilot, "ctrl+p", *"full screen", "enter")
        await until(pilot, lambda: app.panes.zoomed is app.panes.inspector)
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        assert regions(app).keys() >= before.keys(), "the zoom is not remembered"


async def test_escape_stops_the_reply_before_it_leaves_a_pane_and_before_it_restores(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="flaky-stall").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace, composer = workspace_of(app), app.chat.composer
        for size in (WIDE, NARROW):
            await pilot.resize_terminal(*size)
            for key, area in (("f2", app.sessions), ("f4", app.inspector)):
                composer.text = "hello"
                await pilot.press("enter")
                await until(pilot, lambda: workspace.state.is_streaming)
                await pilot.press(key)
                await until(pilot, lambda area=area: area.has_focus_within)
                await pilot.press("escape")
                await until(pilot, lambda: not workspace.state.is_streaming)
                assert area.has_focus_within
                await pilot.press("escape")
                await until(pilot, lambda: composer.has_focus)
        await pilot.resize_terminal(*WIDE)
        await settle(pilot)
        await pilot.press("f11")
        await until(pilot, lambda: app.panes.zoomed is app.chat)
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: workspace.state.is_streaming)
        await settle(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not workspace.state.is_streaming)
        assert app.panes.zoomed is app.chat
        await pilot.press("escape")
        await until(pilot, lambda: app.panes.zoomed is None)


# --- the size of the terminal ---------------------------------------------------------------


async def test_a_screen_of_any_size_is_drawn(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(20, 5)) as pilot:
        app = await opened(pilot)
        composer = app.chat.composer
        for size in ((1, 1), (200, 3), (2, 60), (80, 24), (3, 3), (1, 40), (20, 5), (80, 24)):
            await pilot.resize_terminal(*size)
            for text in ("", "a text of several words"):
                composer.text = text
                for key in ("f2", "f3", "f4", "f11", "f11", "escape", "escape"):
                    await press(pilot, key)
                    assert len(screen_text(app).split("\n")) == size[1], (size, key)
        composer.text = ""
        app.screen.set_focus(composer)
        await say(pilot, "hello")


# --- the focus ----------------------------------------------------------------------------


async def test_every_pane_can_be_reached_and_left_by_key(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        composer = app.chat.composer
        for size in (*SIZES, (60, 20)):
            await pilot.resize_terminal(*size)
            for key, pane in (("f2", SessionsPane), ("f4", Inspector), ("f2", SessionsPane)):
                await pilot.press(key)
                await until(pilot, lambda pane=pane: app.query_one(pane).has_focus_within)
                assert app.query_one(pane).is_on_screen, (pane, size)
            await pilot.press("escape")
            await until(pilot, lambda: composer.has_focus)
            await app.action_run_verb("filter")
            await until(pilot, lambda: app.query_one(SessionsPane).has_focus_within)
            assert app.query_one(SessionsPane).display, "what is acted on is in sight"
            await press(pilot, "escape", "escape")
            await until(pilot, lambda: composer.has_focus)
        await pilot.resize_terminal(*NARROW)
        await focus(pilot, "preset editor")
        pane = app.query_one(PresetPane)
        for _ in range(4):
            await until(pilot, lambda: pane.has_focus_within or composer.has_focus)
            await pilot.press("tab")
        assert not app.chat.transcript.has_focus, "keys do not go to what is covered"


def hidden(app: TuiChat) -> str:
    """Return what hides the widget that has the focus, in words; nothing where it is in sight."""
    focused = app.screen.focused
    if focused is None or not focused.region.area:
        return f"{focused!r} is not there"
    for pane in app.query("#sessions, #right"):
        is_elsewhere = pane not in focused.ancestors_with_self
        if pane.display and is_elsewhere and pane.region.overlaps(focused.region):
            return f"{pane!r} lies over {focused!r}"
    return ""


async def goes(pilot: Pilot[None], *steps: str | tuple[int, int]) -> None:
    """Press keys and resize the terminal; after each step the focus is in sight."""
    app = pilot.app
    for number, step in enumerate(steps):
        if isinstance(step, str):
            await pilot.press(step)
        else:
            await pilot.resize_terminal(*step)
        await until(pilot, lambda: not hidden(app), f"{hidden(app)} after {steps[: number + 1]}")


async def test_nothing_covers_the_focused_widget(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(110, 30)) as pilot:
        app = await opened(pilot)
        composer, sessions = app.query_one(Composer), app.query_one(SessionsPane)
        inspector = app.query_one(Inspector)
        assert inspector.region.area
        await goes(pilot, "f2")
        await until(pilot, lambda: not inspector.region.area, "one column beside the chat")
        await goes(pilot, "escape", NARROW)
        assert composer.has_focus
        await until(pilot, lambda: not sessions.region.area)
        assert "F1 all keys" in app.query_one(KeyRow).render().plain
        await goes(pilot, "f2", "tab")
        assert composer.has_focus
        assert sessions.region.area, "only keys, the mouse and the size change what is shown"
        await goes(pilot, "escape")
        await until(pilot, lambda: not sessions.region.area, "Esc closes it")
        await goes(pilot, (110, 30), "f2", "slash", WIDE, "f4")
        sessions.rows.focus()
        await goes(pilot, NARROW)
        assert sessions.has_focus_within, "the one that is used stays, not the one last asked for"
        await goes(pilot, "f4", "tab")
        assert composer.has_focus
        assert inspector.region.area, "the request can be watched while one types"
        await press(pilot, "/")
        await until(pilot, lambda: bool(composer.suggestions.region.area))
        await settle(pilot)
        assert not inspector.region.overlaps(composer.suggestions.region)


async def test_find_bars_close_when_the_focus_leaves_and_notes_give_it_back(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await say(pilot, "One")
        inspector = app.query_one(Inspector)
        for size in (WIDE, NARROW):
            await pilot.resize_terminal(*size)
            for keys in ("f4 escape", "o enter f4", "o escape", "f2"):
                await focus(pilot, "transcript")
                await pilot.press("slash")
                await until(pilot, lambda: any(bar.display for bar in app.query(FindBar)), keys)
                await press(pilot, *keys.split())
                await until(pilot, lambda: not any(bar.display for bar in app.query(FindBar)), keys)
                assert app.focused is not None
        await pilot.resize_terminal(*WIDE)
        await workspace_of(app).branches.add_system_message("Be brief.")
        await focus(pilot, "inspector")
        for key in ("3", "o", "o", "left"):
            await press(pilot, key)
            assert app.focused is not None, key
        assert inspector.view_shown == "reply"
        assert app.focused is inspector.views.current
        inspector.action_view("payload")
        await press(pilot, "slash", *"user", "enter")
        await press(pilot, "right")
        assert inspector.view_shown == "context"
        assert not any(each.display for each in app.query(FindBar)), "it closes with its view"
        await press(pilot, "left")
        for key in ("slash", "right", "left", "slash"):  # typed ahead, before the bar has the focus
            app.post_message(events.Key(key, "/" if key == "slash" else None))
        await settle(pilot)
        assert inspector.has_focus_within


# --- what is typed ------------------------------------------------------------------------


async def test_a_paste_outside_of_a_field_goes_to_the_composer(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        composer = app.chat.composer
        for pane in PANES:
            await focus(pilot, pane)
            app.post_message(events.Paste(f"{pane}\nlines"))
            await until(pilot, lambda pane=pane: composer.text == f"{pane}\nlines")
            assert app.focused is composer, pane
            composer.text = ""


async def test_what_follows_a_fork_or_the_choice_of_a_model_is_text(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        composer, workspace = app.chat.composer, workspace_of(app)
        await pilot.press("shift+tab")
        burst(app, "f", *"code")
        await until(pilot, lambda: composer.text == "code")
        await pilot.press("f2")
        burst(app, "ctrl+o", *"mirror", "enter", *"e rename")
        await until(pilot, lambda: composer.text == "codee rename")
        assert workspace.state.effective_model == "mirror"
        titles = {session.title for session in workspace.state.sessions}
        assert titles == {"hello", "Fork of hello"}


# --- the layout ---------------------------------------------------------------------------


async def test_borders_are_moved_by_mouse_and_keys_remembered_and_reset(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        assert widths(app) == (0, 102, 57), "there is no session to be listed"
        await press(pilot, "f2", "escape")
        assert widths(app) == (29, 72, 57)
        left, right = app.query(PaneDivider)
        for divider, column in ((right, 0), (right, 159), (left, 20), (right, 99)):
            await pilot.mouse_down(divider)
            await pilot.hover(app.main, offset=(column, 9))
            await pilot.mouse_up(app.main, offset=(column, 9))
            await settle(pilot)
            assert min(widths(app)) >= 20, column
            assert widths(app)[1] >= MIN_CHAT, column
        assert widths(app) == (20, 78, 60)
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        assert widths(app) == (20, 78, 60)
        await pilot.click(app.query(PaneDivider).last(), times=2)
        await until(pilot, lambda: widths(app) == (20, 81, 57), "a double click resets it")
        await press(pilot, *"draft", "alt+left")
        assert widths(app) == (20, 77, 61)
        assert app.chat.composer.text == "draft"
        await press(pilot, "f2", "alt+right", "alt+right")
        assert widths(app)[0] == 28
        for divider in app.query(PaneDivider):
            await pilot.click(divider, times=2)
            await settle(pilot)
        await until(pilot, lambda: widths(app) == (29, 72, 57))
    layout = read_layout(tmp_path / "layout.json")
    assert (layout.left, layout.right) == (None, None)


async def test_open_panes_are_remembered(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        assert not app.sessions.display, "there is none"
        await say(pilot, "hello")
        assert not app.sessions.display, "an event changes no layout"
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        assert app.sessions.display, "the first start that has a session"
        await pilot.press("f2", "f2", "f3")
        await until(pilot, lambda: app.presets.has_focus_within)
        assert not app.sessions.display
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        assert not app.sessions.display
        assert app.presets.display
        await until(pilot, lambda: bool(app.query(PresetPane)))
        assert app.inspector.display
        assert app.chat.composer.has_focus
    write_layout(tmp_path / "layout.json", PaneLayout(("sessions", "inspector"), 90, 300))
    async with make_app(tmp_path).run_test(size=NARROW) as pilot:
        app = await opened(pilot)
        assert not app.inspector.display, "it does not cover the chat at the start"
        assert app.chat.composer.has_focus
        await pilot.resize_terminal(140, 30)
        await until(pilot, lambda: widths(app)[1] >= MIN_CHAT and widths(app)[2] >= 30)
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: widths(app)[1] >= MIN_CHAT)


async def test_the_draft_has_a_line_in_the_lowest_terminal(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(40, 24)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"words")
        for rows in (10, 8, 7, 6):
            await pilot.resize_terminal(40, rows)
            await settle(pilot)
            lines = screen_text(app).splitlines()
            assert any("words" in line for line in lines[:-1]), rows
