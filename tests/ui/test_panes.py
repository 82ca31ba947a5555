"""Whatever is asked for, at whatever width: what has the focus is in sight."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.ui.app_under_test import idle, make_app, opened, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat import Composer
from tui_chat.ui.chat.suggestions import Suggestions
from tui_chat.ui.inspector import Inspector
from tui_chat.ui.sidebar import SessionList
from tui_chat.ui.sidebar.top import Filter

pytestmark = pytest.mark.usefixtures("undrawn")

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


async def test_nothing_lies_over_what_has_the_focus(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=MEDIUM) as pilot:
        await opened(pilot)
        composer, sessions = app.query_one(Composer), app.query_one(SessionList)
        inspector, suggestions = app.query_one(Inspector), app.query_one(Suggestions)
        await goes(pilot, "f2", "escape", NARROW)
        assert composer.has_focus
        assert not sessions.region.area
        await goes(pilot, "f2", "tab")
        assert not sessions.region.area, "a pane goes when the focus does"
        await goes(pilot, MEDIUM)
        assert sessions.region.area, "and comes back where there is room"
        await goes(pilot, "f2", "slash", WIDE, "f4")
        app.query_one(Filter).focus()
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
