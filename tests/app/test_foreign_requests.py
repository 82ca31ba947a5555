"""The inspector on sessions of other programs: the recorded request of the last reply, or why there
is none; never a request that nobody sent.
"""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Static

from tests.support.app import (
    make_app,
    opened,
    press,
    rows_shown,
    settle,
    state_of,
    until,
    workspace_of,
)
from tests.support.pictures import WIDE
from tests.support.reading import only
from tests.support.recorded_sessions import store_recorded
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector


def banner(app: TuiChat) -> str:
    return str(app.query_one("#inspector-banner", Static).render())


def nothing(app: TuiChat) -> str:
    return str(app.query_one("#inspector-empty", Static).render())


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
        app.query_one(Composer).text = ""
        await until(pilot, lambda: "recorded" in banner(app))
        inspector.focus()
        await pilot.press("escape")
        await until(pilot, lambda: not banner(app))
        assert inspector.composed.recorded is None


def write_export(folder: Path) -> Path:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    file = folder / "conversation.json"
    file.write_text(json.dumps({"title": "Talk", "messages": said}))
    return file


async def test_an_imported_session_shows_a_request_when_something_is_typed(tmp_path: Path):
    file = write_export(tmp_path)
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        found = only(file.read_bytes())
        await workspace.store.transcripts.add(found)
        await workspace.sessions.open(found.session.session_id)
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: "No request was recorded" in nothing(app))
        assert inspector.composed is None
        app.query_one(Composer).text = "And tomorrow?"
        await until(pilot, lambda: inspector.composed is not None)
        assert inspector.composed.envelope.turns[-1].text.plain == "And tomorrow?"
        app.query_one(Composer).text = ""
        await until(pilot, lambda: inspector.composed is None)


async def test_asking_where_a_preset_message_is_shows_the_request_that_enter_would_send(
    tmp_path: Path,
):
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        found = only(write_export(tmp_path).read_bytes())
        await workspace.store.transcripts.add(found)
        await workspace.sessions.open(found.session.session_id)
        await until(pilot, lambda: "No request was recorded" in nothing(app))
        await press(pilot, "f3")
        await pilot.press("home", "w")
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: inspector.composed is not None)
        assert inspector.has_focus_within


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
