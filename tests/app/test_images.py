"""Pictures: what their chips say, and the preview in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.support.app import make_app, opened, replied, rows_shown, say, settle, until
from tests.support.drawings import drawing
from tests.support.pictures import Album
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.attachments import AttachmentLine
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.base import PathPrompt
from tui_chat.ui.dialogs.file_viewer import ImagePreview


async def attached(pilot: Pilot[None], path: Path) -> TuiChat:
    app = await opened(pilot)
    app.attachments.action_attach(str(path))
    await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
    return app


async def test_a_picture_is_a_chip_with_a_preview(album: Album, tmp_path: Path) -> None:
    path = tmp_path / "flag.png"
    path.write_bytes(drawing())
    async with album.of(make_app(tmp_path, model="picture")) as pilot:
        app = await attached(pilot, path)
        chips = app.query_one(AttachmentLine)
        assert "flag.png · 139 B · 64 × 48 · ~765 tokens" in chips.render().plain.replace(
            f"{path.stat().st_size} B", "139 B"
        )
        await pilot.click(AttachmentLine, offset=(6, 0))
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await settle(pilot)
        await album.take(pilot, "previewed")
        assert app.screen.query_one("#picture", Static).size.height > 10
        await pilot.press("escape")
        await say(pilot, "Draw one.")
        rows = rows_shown(app.query_one(Transcript))
        assert any("▣ image  flag.png" in row and "64 × 48" in row for row in rows)
        assert sum("~765 tokens" in row for row in rows) == 2, "that of the model, too"
        app.query_one(Transcript).focus()
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))


async def test_without_the_library_a_picture_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_chat.ui.dialogs.file_viewer.find_spec", lambda name: None)
    path = tmp_path / "flag.png"
    path.write_bytes(drawing())
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await attached(pilot, path)
        await app.run_action("attachments.view(0)")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        await pilot.press("escape", "backspace")
        await until(pilot, lambda: not app.query_one(AttachmentLine).count)
        await pilot.press(*"words", "enter")
        await replied(pilot)
