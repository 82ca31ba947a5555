"""Pictures and files of messages: the lines below a message, and saving them."""

from __future__ import annotations

import base64
from pathlib import Path

from textual.widgets import Input

from tests.support.app import make_app, opened, replied, until
from tui_chat.models.message import Message, Part
from tui_chat.models.session import Entry
from tui_chat.ui.areas.chat.header_footer import footer_lines
from tui_chat.ui.areas.chat.status_lines import AttachmentLine
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import Confirm, PathPrompt

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)
IMAGE = Part("image", "image/png", data=base64.b64encode(PNG).decode())


def footer(*parts: Part, width: int = 60) -> list[str]:
    return [line.text for line in footer_lines(Entry(Message("assistant", "Hi")), parts, "", width)]


def test_a_line_says_what_a_part_is():
    assert footer(
        IMAGE,
        Part("image", "image/png"),
        Part("file", "text/plain", text="words", name="notes.txt"),
        Part("image", url="https://files.example/a.png"),
        Part("file", "image/svg+xml", data="AAAA", name="a\x1b[2J\nb"),
    ) == [
        "▣ image  image/png · 2 kB · ~765 tokens",
        "▣ image  image/png · damaged",
        "▣ file  notes.txt · 5 B",
        "▣ image  https://files.example/a.png · ~765 tokens",
        "▣ file  a␛[2J b · 3 B · ~2,000 tokens",
    ]
    assert footer(*[IMAGE] * 5_000)[-1] == "▣ … 4,900 more attachments"
    assert all(len(line) <= 20 for line in footer(IMAGE, width=20))


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
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        assert app.screen.query_one(Input).value == "photo.png"
        target = tmp_path / "copy.png"
        app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, target.exists)
        await until(pilot, lambda: target.stat().st_size == len(PNG))
        target.write_bytes(b"mine")
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        app.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert target.read_bytes() == b"mine"
