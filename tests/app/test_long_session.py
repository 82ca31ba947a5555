"""A long conversation is on the screen, and keys are taken, before its request is composed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.app import make_app, opened, say, settle, until
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.workspace import requests


async def test_keys_are_taken_while_a_long_session_is_composed_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LONG_BRANCH", 2)
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
