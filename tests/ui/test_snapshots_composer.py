"""Pictures of where one types: text that grows, pastes, files, candidates, earlier texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import NARROW, Album
from tui_chat.models.message import Part
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.workspace.attachments import Attachment


async def test_typing(album: Album, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("notes.md", "photo.png", "plans"):
        (tmp_path / "here" / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)

        await pilot.press("/")
        await until(pilot, lambda: composer.suggestions.is_open)
        await album.take_matrix(pilot, "commands")
        looks = ("tui-chat-mono", "tui-chat-contrast", "tui-chat-colourblind-light")
        await album.take(pilot, "commands", sizes=(NARROW,), themes=looks)
        await pilot.press("backspace", "@")
        await until(pilot, lambda: composer.suggestions.is_open)
        await album.take(pilot, "files")

        composer.text = "Hello, 你好"
        await say(pilot, composer.text)
        composer.text = "What would you take along?"
        part = Part("image", "image/png", data="iVBORw0KGgo=", name="photo.png")
        app.chat.drafts.show_attachments((Attachment(Path("photo.png"), 34_000, part),))
        pasted = "\n".join(f"line {n}" for n in range(400))
        composer.post_message(events.Paste(pasted))
        await settle(pilot)
        composer.insert("\n\n1. a rope\n2. a map, and 一把伞\n3. bread\n4. a knife")
        await settle(pilot)
        await album.take(pilot, "grown, with a paste and a file")

        app.chat.drafts.show_attachments(())
        composer.text = ""
        await pilot.press("up")
        await settle(pilot)
        await album.take(pilot, "an earlier text")

        await pilot.resize_terminal(*NARROW)
        composer.text = "木漏れ日を一言で言える英語はありますか。雪の重みから松の枝を守る縄は何と"
        await pilot.press(*"呼びますか")
        await settle(pilot)
        await album.take(pilot, "typed with an input method")
        assert app.query_one(Transcript).entries
