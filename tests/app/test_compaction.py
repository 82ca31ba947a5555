"""Compacting the history in the app: what offers it, the questions, Space, undo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static, TextArea
from textual.worker import Worker

from tests.support.app import asked, make_app, opened, press, say, settle, until, workspace_of
from tui_chat.models.model_facts import ModelFacts
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.header_footer import header_rows
from tui_chat.workspace.events import BranchChanged


async def talked(pilot: Pilot[None], *words: str) -> TuiChat:
    app = await opened(pilot)
    for word in words or ("one", "two", "three", "four"):
        await say(pilot, f"{word} " * 20)
    return app


def summaries(app: TuiChat) -> list[bool]:
    """Whether each summary of the branch is on."""
    found = (entry.message.about.summary for entry in app.workspace.state.entries)
    return [summary.enabled for summary in found if summary is not None]


def request(app: TuiChat) -> bytes:
    live = app.workspace.state.request.live if app.workspace is not None else None
    return live.payload.body if live is not None else b""


async def compacted(pilot: Pilot[None], app: TuiChat) -> None:
    """Have the history summed up, and accept what the model wrote."""
    await pilot.press(*"/compact", "enter")
    await asked(pilot)
    await pilot.press("y")
    await until(pilot, lambda: bool(app.screen.query(TextArea)) and len(app.screen_stack) > 1)
    await settle(pilot)
    editor = app.screen.query_one(TextArea)
    assert editor.cursor_location == (0, 0), "it is to be read first"
    editor.move_cursor(editor.document.end)
    assert "Replaces" in "".join(str(each.render()) for each in app.screen.query(Static))
    await pilot.press(*" and more", "enter")
    await until(pilot, lambda: summaries(app) == [True])
    await settle(pilot)


async def test_a_summary_is_asked_for_edited_and_switched_off(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await talked(pilot)
        await compacted(pilot, app)
        summary = app.workspace.state.entries[-1]
        assert summary.message.content.endswith(" and more")
        await until(pilot, lambda: b"three three" not in request(app))
        header = header_rows(summary, 80, None)[-1].text
        assert header.startswith("Summary of 6 messages  ◆ sent instead of them")
        app.chat.transcript.focus()
        await pilot.press("end", "space")
        await until(pilot, lambda: summaries(app) == [False])
        await until(pilot, lambda: b"three three" in request(app))
        await pilot.press("space")
        await until(pilot, lambda: summaries(app) == [True])
        await until(pilot, lambda: b"three three" not in request(app))
        await pilot.press("d")
        await until(pilot, lambda: summaries(app) == [])
        await until(pilot, lambda: b"three three" in request(app))


async def test_regenerating_means_the_reply_before_the_summary(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await talked(pilot)
        await compacted(pilot, app)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.workspace.state.entries[-1].siblings == 2)
        assert app.workspace.state.entries[-1].message.role == "assistant"


async def test_a_summary_does_not_open_over_what_is_typed(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await talked(pilot)
        await pilot.press(*"/compact", "enter")
        await asked(pilot)
        app.chat.composer.text = "typed meanwhile"
        await pilot.press("y")
        await until(pilot, lambda: not app.chat.side_replies.is_writing)
        await settle(pilot)
        assert len(app.screen_stack) == 1
        assert app.chat.composer.text == "typed meanwhile"
        app.chat.composer.text = ""
        await pilot.press(*"/summary", "enter")
        await until(pilot, lambda: bool(app.screen.query("TextAreaPrompt TextArea")))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert summaries(app) == []


async def test_esc_stops_writing(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await talked(pilot)
        await app.workspace.settings.set_model("loopback", "flaky-stall")
        await pilot.press(*"/compact", "enter")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: app.chat.side_replies.is_writing)
        await until(pilot, lambda: "characters · Esc stop" in app.chat.activity.render().plain)
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.side_replies.is_writing)
        session_id = app.workspace.state.session_id
        requests = await app.workspace.store.side_requests.list(session_id)
        assert [each.status for each in requests] == ["stopped"]
        assert summaries(app) == []


async def test_a_summary_that_was_stopped_before_it_began_can_be_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await talked(pilot)
        compaction = app.chat.side_replies
        run_worker = app.chat.run_worker

        def run_and_stop(*args: Any, **options: Any) -> Worker[Any]:
            worker = run_worker(*args, **options)
            if options.get("description") == "compact":
                worker.cancel()
                app.call_later(compaction.stop)
            return worker

        monkeypatch.setattr(app.chat, "run_worker", run_and_stop)
        await pilot.press(*"/compact", "enter")
        await asked(pilot)
        await press(pilot, "y")
        assert not compaction.is_writing
        assert not summaries(app)
        monkeypatch.undo()
        await compacted(pilot, app)


async def test_the_chat_says_what_no_longer_fits(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await talked(pilot)
        workspace = workspace_of(app)
        endpoint = replace(
            workspace.state.endpoint, facts=(("*", ModelFacts(context_limit=150, max_output=20)),)
        )
        workspace.update(BranchChanged(), endpoint=endpoint)
        line = app.chat.activity
        await until(pilot, lambda: "/compact summarizes them" in line.render().plain)
