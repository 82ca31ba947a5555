"""Notices to the desktop: well-formed, harmless, through tmux too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.app import make_app, opened, replied
from tests.support.tables import each_row
from tui_chat.ui.chat.composer import Composer


@each_row(
    ("away", "seconds", "is_temporary", "texts"),
    [
        (True, 60, False, ["hello"]),
        (False, 60, False, []),
        (True, 1, False, []),
        (True, 60, True, ["The reply has ended."]),
    ],
)
async def test_a_long_reply_notifies_an_absent_user(
    away: bool,
    seconds: int,
    is_temporary: bool,
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    app = make_app(tmp_path, model="echo")
    told: list[str] = []

    def sequence(how: str, title: str, text: str, environ: Mapping[str, str]) -> str:
        told.append(text)
        return ""

    module = "tui_chat.ui.terminal.clipboard_and_notifications"
    monkeypatch.setattr(f"{module}.notification_sequence", sequence)
    monkeypatch.setattr(f"{module}.LONG_REPLY", 2 if seconds < 2 else 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert app.workspace is not None
        if is_temporary:
            await app.workspace.sessions.new_temporary()
            await app.chat.drafts.restore()
        app.app_focus = not away
        app.query_one(Composer).text = "hello"
        app.query_one(Composer).action_submit()  # a key would bring the focus back
        await replied(pilot)
        await app.workers.wait_for_complete(
            [each for each in app.workers if each.group == "notice"]
        )
        assert told == texts
