"""Notices to the desktop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app import make_app, opened, replied
from tests.support.tables import each_row
from tui_chat.ui.chat.composer import Composer


@each_row(
    ("away", "seconds", "texts"),
    [(True, 60, ["The reply has ended."]), (False, 60, []), (True, 1, [])],
)
async def test_a_long_reply_notifies_an_absent_user(
    away: bool,
    seconds: int,
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    app = make_app(tmp_path, model="echo")
    told: list[str] = []

    def sequence(how: str, title: str, text: str) -> str:
        told.append(text)
        return ""

    module = "tui_chat.ui.terminal.clipboard_and_notifications"
    monkeypatch.setattr(f"{module}.notification_sequence", sequence)
    monkeypatch.setattr(f"{module}.LONG_REPLY", 2 if seconds < 2 else 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert app.workspace is not None
        app.app_focus = not away
        app.query_one(Composer).text = "hello"
        app.query_one(Composer).action_submit()  # a key would bring the focus back
        await replied(pilot)
        assert told == texts
