"""A long conversation is on the screen, and keys are taken, before its request is composed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.app import make_app, opened, say, settle, until
from tui_chat.store.branches import BranchStore
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.status_lines import ActivityLine
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.workspace import requests, sessions


async def test_keys_are_taken_while_a_long_session_is_composed_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LONG_BRANCH", 2)
    monkeypatch.setattr(sessions, "FIRST_MESSAGES", 2)
    gate = threading.Event()
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "a question")
        workspace, inspector = app.workspace, app.query_one(Inspector)
        long = workspace.state.session_id
        await workspace.sessions.new()
        await settle(pilot)
        at_once = workspace.requests.compose

        def later(*given: Any) -> Any:
            if workspace.state.session_id == long:  # the new chat's may be composed once more
                assert threading.current_thread() is not threading.main_thread() or gate.is_set()
                assert gate.wait(30)
            return at_once(*given)

        monkeypatch.setattr(workspace.requests, "compose", later)
        await workspace.sessions.open(long)
        transcript = app.query_one(ChatPane).transcript
        await until(pilot, lambda: len(transcript.entries) == 2)
        await until(pilot, lambda: inspector.composed is None)  # not its predecessor's request
        await pilot.press("h", "i")
        await until(pilot, lambda: app.query_one(Composer).text == "hi")
        gate.set()

        def body() -> bytes:
            return inspector.composed.payload.body if inspector.composed is not None else b""

        await until(pilot, lambda: b"a question" in body() and b'"hi"' in body())


async def test_a_message_sent_while_a_long_session_loads_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "FIRST_MESSAGES", 2)
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "first")
        await say(pilot, "second")
        workspace, composer = app.workspace, app.query_one(Composer)
        long = workspace.state.session_id
        composer.text = "kept"
        await app.chat.drafts.save()
        await workspace.sessions.new()
        await app.chat.drafts.restore()
        composer.text = "of the new chat"
        branch, gate = workspace.store.branches.load, asyncio.Event()

        async def later(session_id: str, *, last: int | None = None):
            if last is None:
                await gate.wait()
            return await branch(session_id, last=last)

        monkeypatch.setattr(BranchStore, "load", lambda _, *given, **more: later(*given, **more))
        app.sessions.action_open(long)
        await until(pilot, lambda: composer.text == "kept")
        composer.text = "third"
        await pilot.press("enter")
        activity = app.query_one(ActivityLine)
        await until(pilot, lambda: "Loading the session" in str(activity.render()))
        await pilot.press("enter")  # a key that is pressed again sends once
        assert len(app.query_one(ChatPane).transcript.entries) == 2
        gate.set()
        await until(pilot, lambda: len(workspace.state.entries) == 6)
        await until(pilot, lambda: workspace.state.entries[-1].status == "complete")
        await settle(pilot)
        said = [
            entry.message.content
            for entry in workspace.state.entries
            if entry.message.role == "user"
        ]
        assert said == ["first", "second", "third"]
        assert composer.text == ""
        assert "Loading" not in str(activity.render())

        # One that is left meanwhile gets nothing, and what was typed is its draft.
        await workspace.sessions.new()
        await app.chat.drafts.restore()
        await until(pilot, lambda: composer.text == "of the new chat")
        gate.clear()
        app.sessions.action_open(long)
        await until(pilot, lambda: composer.text == "")
        composer.text = "not sent"
        await pilot.press("enter")
        await until(pilot, lambda: "Loading" in str(activity.render()))
        await app.chat.drafts.save()
        await workspace.sessions.new()
        await app.chat.drafts.restore()
        gate.set()
        await settle(pilot)
        await until(pilot, lambda: composer.text == "of the new chat")
        assert await workspace.store.drafts.get(long) == "not sent"
        assert len(await branch(long)) == 6
