"""Files with a message: chosen, shown, kept with the draft, and on the wire."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.ui.app_under_test import make_app, opened, replied, settle, until
from tui_chat.offline import HttpRequest
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.status_lines import AttachmentLine
from tui_chat.ui.areas.inspector.inspector import Inspector

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_a_file_is_attached_kept_and_sent_as_the_inspector_shows_it(tmp_path: Path):
    picture = tmp_path / "photo.png"
    picture.write_bytes(PNG)
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        app.attachments.action_attach(str(picture))
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await pilot.press(*"look", "ctrl+q")
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await settle(pilot)
        assert app.query_one(Composer).text == "look"
        shown = app.query_one(Inspector).composed
        assert shown is not None
        assert base64.b64encode(PNG) in shown.payload.body
        await pilot.press("enter")
        await replied(pilot)
        assert [r.body for r in received] == [shown.payload.body]
        workspace = app.workspace
        assert workspace is not None
        assert [part.name for part in workspace.state.entries[0].message.parts] == ["photo.png"]
        assert app.query_one(AttachmentLine).count == 0
        assert await workspace.drafts.files() == ()


async def test_a_file_that_cannot_be_attached_is_reported(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        app.query_one(Composer).text = f"/attach {tmp_path}/missing"
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.notifications.shown))
        assert "does not exist" in str([n.message for n in app.notifications.shown])
        assert app.query_one(AttachmentLine).count == 0
