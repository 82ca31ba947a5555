"""The inspector on sessions of other programs: the recorded request of the last reply."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Static

from tests.support.app import (
    make_app,
    opened,
    rows_shown,
    settle,
    state_of,
    until,
)
from tests.support.pictures import WIDE
from tests.support.recorded_sessions import store_recorded
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector


def banner(app: TuiChat) -> str:
    return str(app.query_one("#inspector-banner", Static).render())


async def test_a_recorded_session_opens_on_the_recorded_request(tmp_path: Path):
    await store_recorded(tmp_path)
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await app.workspace.sessions.open(state_of(app).sessions[0].session_id)
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: inspector.composed is not None and "recorded" in banner(app))
        assert inspector.composed.model == "thinker"
        assert inspector.composed.recorded is not None
        inspector.view_shown = "http"
        await settle(pilot)
        assert "anthropic-version: 2023-06-01" in "\n".join(rows_shown(inspector.views.current))
        app.query_one(Composer).text = "And tomorrow?"
        await until(pilot, lambda: not banner(app))
        assert inspector.composed.recorded is None


async def test_escape_leads_to_the_live_request_from_the_composer_too(tmp_path: Path):
    await store_recorded(tmp_path)
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await app.workspace.sessions.open(state_of(app).sessions[0].session_id)
        await until(pilot, lambda: "Esc live" in banner(app))
        app.query_one(Composer).focus()
        await pilot.press("escape")
        await until(pilot, lambda: not banner(app))
        assert state_of(app).request.viewed is None
