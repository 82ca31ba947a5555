"""Whatever is asked for, at whatever width: what has the focus is in sight."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.support.app import idle, make_app, opened, say, settle, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.completion import SuggestionList
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.sessions import SessionList
from tui_chat.ui.key_bar import KeyBar
from tui_chat.ui.widgets.find_bar import FindBar

WIDE, MEDIUM, NARROW = (160, 45), (110, 30), (80, 24)


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
    """Press keys and resize the terminal."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    for number, step in enumerate(steps):
        if isinstance(step, str):
            app.post_message(events.Key(step, None))
        else:
            await pilot.resize_terminal(*step)
        for _ in range(6):
            await idle(pilot)
        assert not hidden(app), f"{hidden(app)} after {steps[: number + 1]}"


async def test_nothing_covers_the_focused_widget(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=MEDIUM) as pilot:
        await opened(pilot)
        composer, sessions = app.query_one(Composer), app.query_one(SessionList)
        inspector, suggestions = app.query_one(Inspector), app.query_one(SuggestionList)
        await goes(pilot, "f2", "escape", NARROW)
        assert composer.has_focus
        assert not sessions.region.area
        assert "F4 Inspector" in app.query_one(KeyBar).render().plain
        assert app.query_one(KeyBar).render().cell_length < app.size.width, "no word at the edge"
        await goes(pilot, "f2")
        assert app.panes.sessions.styles.border_right[0] == "solid", "it lies over the chat"
        await goes(pilot, "tab")
        assert not sessions.region.area, "a pane goes when the focus does"
        await goes(pilot, MEDIUM)
        assert sessions.region.area, "and comes back where there is room"
        assert not app.panes.sessions.styles.border_right[0]
        await goes(pilot, "f2", "slash", WIDE, "f4")
        sessions.rows.focus()
        await goes(pilot, NARROW)
        assert sessions.has_focus_within, "the one that is used stays, not the one last asked for"
        await goes(pilot, "f4", "tab")
        assert composer.has_focus
        assert inspector.region.area, "the request can be watched while one types"
        room = inspector.region.height
        composer.text = "\n" * 7
        await goes(pilot, "end")
        assert inspector.region.height < room
        composer.text = "/"
        await until(pilot, lambda: bool(suggestions.region.area))
        await goes(pilot, "end")
        assert not inspector.region.overlaps(suggestions.region)


async def with_a_note(pilot: Pilot[None]) -> None:
    """Have a conversation of which Anthropic's request, key 3 in the inspector, has a note."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    await say(pilot, "One")
    assert app.workspace is not None
    await app.workspace.branches.add_system_message("Be brief.")
    await settle(pilot)


async def test_closing_the_notes_gives_the_focus_back(tmp_path: Path):
    """From the notes the second `o` hides the list that has the focus."""
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        inspector = app.query_one(Inspector)
        await with_a_note(pilot)
        await pilot.press("f4")
        await until(pilot, lambda: inspector.has_focus_within)
        for key in "3oooe":  # the warning's list is open at first
            await pilot.press(key)
            await settle(pilot)
            assert app.focused is not None, key
        assert inspector.view_shown == "reply"
        assert app.focused is inspector.views.current


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize(
    "keys", ["slash f4 escape", "slash o enter f4", "slash o escape", "slash f2"]
)
async def test_the_find_bar_closes_when_the_focus_leaves(
    keys: str, size: tuple[int, int], tmp_path: Path
):
    async with make_app(tmp_path).run_test(size=size) as pilot:
        app = await opened(pilot)
        await say(pilot, "One")
        app.query_one(Transcript).focus()
        await settle(pilot)
        for key in keys.split():
            await pilot.press(key)
            await settle(pilot)
        await until(pilot, lambda: not app.query_one(FindBar).display)
        assert not app.query_one(Transcript)._search.is_on  # pyright: ignore[reportPrivateUsage]
        assert app.focused is not None


_KEYS = (
    *("f1", "f2", "f3", "f4", "escape", "tab", "shift+tab", "enter", "space", "slash"),
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "backspace", "delete"),
    *("ctrl+n", "ctrl+o", "ctrl+f", "ctrl+p", "ctrl+t", "ctrl+r", "ctrl+a"),
    *"abcdefghijklmnopqrstuvwxyzGNYC123456?<>[]{}@#",
)


_HIDING = ("f2", "f3", "f4", "escape", "tab", "shift+tab", "slash", "3", "o", "p", "c")
"""Keys that hide what has the focus, or lead to such keys: half of a walk."""


@pytest.mark.parametrize(("size", "seed"), [(WIDE, 1), (MEDIUM, 2), (NARROW, 3)])
async def test_some_widget_always_has_the_focus(size: tuple[int, int], seed: int, tmp_path: Path):
    """A random walk: after each key some widget has the focus."""
    choose = random.Random(seed)
    app = make_app(tmp_path)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        app.action_edit_outside = lambda: None  # it would start a program
        await say(pilot, "One *two* `three`")
        await with_a_note(pilot)
        pressed: list[str] = []
        for _ in range(60):
            key = choose.choice(_HIDING if choose.random() < 0.5 else _KEYS)
            pressed.append(key)
            await pilot.press(key)
            for _ in range(4):
                await idle(pilot)
            assert app.focused is not None, pressed
            assert app.focused.is_attached, pressed
