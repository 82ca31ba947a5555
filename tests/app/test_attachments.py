"""Files with a message: chosen, shown, kept with the draft, and on the wire."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from PIL import Image, ImageGrab

from tests.support.app import make_app, opened, replied, screen_text, settle, until, workspace_of
from tests.support.vendors import HttpRequest
from tui_chat.errors import InputError
from tui_chat.ui.chat.attachments import AttachmentLine
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.terminal.clipboard_pictures import clipboard_picture

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


async def test_a_file_is_attached_kept_and_sent_as_the_inspector_shows_it(tmp_path: Path):
    picture = tmp_path / "photo.png"
    picture.write_bytes(PNG)
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        app.attachments.action_attach(str(picture))
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await pilot.press(*"look", "ctrl+q")
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await settle(pilot)
        assert app.query_one(Composer).text == "look"
        shown = app.query_one(Inspector).composed
        assert base64.b64encode(PNG) in shown.payload.body
        await pilot.press("enter")
        await replied(pilot)
        assert [r.body for r in received] == [shown.payload.body]
        workspace = workspace_of(app)
        assert [part.name for part in workspace.state.entries[0].message.parts] == ["photo.png"]
        assert app.query_one(AttachmentLine).count == 0
        assert await workspace.sessions.draft_files() == ()


async def test_a_file_that_cannot_be_attached_is_reported(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = f"/attach {tmp_path}/missing"
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.notifications.shown))
        assert "does not exist" in str([n.message for n in app.notifications.shown])
        assert app.query_one(AttachmentLine).count == 0


async def test_the_picture_in_the_clipboard_is_attached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[object] = [Image.new("RGB", (30, 20), "red")]
    monkeypatch.setattr(ImageGrab, "grabclipboard", lambda: held[0])
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        drafts = app.main.panes.chat.drafts
        await pilot.press("ctrl+v")
        await until(pilot, lambda: len(drafts.attachments) == 1)
        pasted = drafts.attachments[0]
        assert pasted.path.parent == tmp_path / "pasted"
        assert pasted.path.stat().st_mode & 0o077 == 0
        assert "30 × 20" in pasted.label
        copied = tmp_path / "copied.png"
        Image.new("RGB", (3, 2)).save(copied)
        held[0] = [str(copied)]  # a file that was copied in a file manager
        await pilot.press(*"/paste-picture", "enter")
        await until(pilot, lambda: len(drafts.attachments) == 2)
        assert drafts.attachments[1].path == copied
        held[0] = None
        app.copy_to_clipboard("words")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: app.query_one(Composer).text == "words")
        app.query_one(Composer).text = ""
        await pilot.press(*"/paste-picture", "enter")
        await until(pilot, lambda: "no picture" in app.notifications.log[-1].message)


async def test_a_pasted_picture_of_a_temporary_session_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageGrab, "grabclipboard", lambda: Image.new("RGB", (30, 20)))
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/temporary", "enter")
        workspace = app.workspace
        await until(pilot, lambda: workspace.state.is_temporary)
        await pilot.press(*"/paste-picture", "enter")
        await until(pilot, lambda: bool(app.notifications.log))
        assert "temporary session" in app.notifications.log[-1].message
        assert list((tmp_path / "pasted").iterdir()) == []


def test_a_clipboard_without_a_program_to_read_it_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grab() -> None:
        raise NotImplementedError("wl-paste or xclip is required")

    monkeypatch.setattr(ImageGrab, "grabclipboard", grab)
    with pytest.raises(InputError, match="xclip is required"):
        clipboard_picture(tmp_path)


def test_pasted_pictures_are_kept_for_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageGrab, "grabclipboard", lambda: Image.new("RGB", (3, 2)))
    first = clipboard_picture(tmp_path)
    assert first is not None
    os.utime(first, (0, 0))
    second = clipboard_picture(tmp_path)
    assert second is not None
    assert list(tmp_path.iterdir()) == [second]


async def test_words_of_an_attached_text_are_found_in_the_conversation(tmp_path: Path):
    notes = tmp_path / "notes.txt"
    notes.write_text("alpha zebra\nbeta quokka\n")
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        app.attachments.action_attach(str(notes))
        await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
        await pilot.press(*"look", "enter")
        await replied(pilot)
        await pilot.press("shift+tab", "/", *"quokka")  # in the file, and in the reply
        await until(pilot, lambda: " of 2" in screen_text(app))
