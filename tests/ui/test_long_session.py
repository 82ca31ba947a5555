"""A long conversation is on the screen, and keys are taken, before its request is composed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.ui.app_under_test import make_app, opened, say, settle, until
from tui_chat.ui.acting import drafting
from tui_chat.ui.chat import ChatPane, Composer
from tui_chat.ui.inspector import Inspector

pytestmark = pytest.mark.usefixtures("undrawn")


async def test_keys_are_taken_while_a_long_session_is_composed_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafting, "LONG_BRANCH", 2)
    gate = threading.Event()
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "a question")
        desk, inspector = app.desk, app.query_one(Inspector)
        assert desk is not None
        long = desk.session_id
        await desk.new()
        await settle(pilot)
        at_once = desk.composed

        def later(*given: Any) -> Any:
            assert threading.current_thread() is not threading.main_thread() or gate.is_set()
            assert gate.wait(30)
            return at_once(*given)

        monkeypatch.setattr(desk, "composed", later)
        await desk.open(long)
        transcript = app.query_one(ChatPane).transcript
        await until(pilot, lambda: len(transcript.entries) == 2)
        await pilot.press("h", "i")
        assert app.query_one(Composer).text == "hi"
        gate.set()

        def body() -> bytes:
            return inspector.composed.payload.body if inspector.composed is not None else b""

        await until(pilot, lambda: b"a question" in body() and b'"hi"' in body())
