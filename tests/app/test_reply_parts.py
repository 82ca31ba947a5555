"""Pictures and files of messages: the lines below a message, and saving them."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from tests.support.app import make_app, opened, replied, until
from tui_chat.ui.chat.attachments import AttachmentLine
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import Confirm, PathPrompt

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)


async def test_s_saves_a_picture_and_asks_before_it_replaces_a_file(tmp_path: Path):
    picture = tmp_path / "photo.png"
    picture.write_bytes(PNG)
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        app.attachments.action_attach(str(picture))
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await pilot.press(*"look", "enter")
        await replied(pilot)
        transcript = app.query_one(Transcript)
        transcript.focus()
        app.conversation.action_save()
        await until(pilot, lambda: bool(app.notifications.shown))
        assert "no picture" in str([each.message for each in app.notifications.shown])
        assert transcript.show_message(transcript.entries[0].message.id)
        app.conversation.action_save()
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        assert app.screen.query_one(Input).value == "photo.png"
        target = tmp_path / "copy.png"
        app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, target.exists)
        await until(pilot, lambda: target.stat().st_size == len(PNG))
        target.write_bytes(b"mine")
        app.conversation.action_save()
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert target.read_bytes() == b"mine"
