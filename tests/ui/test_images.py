"""Pictures: what their chips say, the preview in the terminal, and programs outside."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image
from textual.pilot import Pilot
from textual.widgets import Static

from tests.support.app import make_app, opened, replied, say, settle, until
from tests.support.pictures import Album
from tui_chat.errors import InputError
from tui_chat.models.message import Part
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.status_lines import AttachmentLine
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.areas.file_views import MOST_PIXELS, ImagePreview
from tui_chat.ui.dialogs.base import PathPrompt
from tui_chat.ui.terminal.external_programs import open_outside


def picture(kind: str = "PNG", size: tuple[int, int] = (64, 48)) -> bytes:
    """Return a picture that is half red and half blue."""
    image = Image.new("RGB", size, "red")
    image.paste("blue", (0, size[1] // 2, *size))
    content = io.BytesIO()
    image.save(content, kind)
    return content.getvalue()


async def attached(pilot: Pilot[None], path: Path) -> TuiChat:
    app = await opened(pilot)
    app.attachments.action_attach(str(path))
    await until(pilot, lambda: app.query_one(AttachmentLine).count == 1)
    return app


async def test_a_picture_is_a_chip_with_a_preview(album: Album, tmp_path: Path) -> None:
    path = tmp_path / "flag.png"
    path.write_bytes(picture())
    async with album.of(make_app(tmp_path, model="picture")) as pilot:
        app = await attached(pilot, path)
        chips = app.query_one(AttachmentLine)
        assert "flag.png · 139 B · 64 × 48 · ~765 tokens" in chips.render().plain.replace(
            f"{path.stat().st_size} B", "139 B"
        )
        await album.take(pilot, "attached")
        await pilot.click(AttachmentLine, offset=(6, 0))
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await settle(pilot)
        await album.take(pilot, "previewed")
        assert app.screen.query_one("#picture", Static).size.height > 10
        await pilot.press("escape")
        await say(pilot, "Draw one.")
        rows = [line.text for _, line in app.query_one(Transcript)._viewport.rows]  # pyright: ignore[reportPrivateUsage]
        assert any("▣ image  flag.png" in row and "64 × 48" in row for row in rows)
        assert sum("~765 tokens" in row for row in rows) == 2, "that of the model, too"
        app.query_one(Transcript).focus()
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))


async def test_without_the_library_a_picture_opens_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_chat.ui.areas.file_views.find_spec", lambda name: None)
    path = tmp_path / "flag.png"
    path.write_bytes(picture())
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await attached(pilot, path)
        await app.run_action("attachments.view_part")
        await until(pilot, lambda: bool(app.notifications.shown))
        told = app.notifications.shown[-1].message
        assert "No program can show it" in told, "there is no desktop here"
        assert "package textual-image" in told
        app.query_one(Composer).text = "/detach other.png"
        await pilot.press("enter")
        await until(pilot, lambda: "no attachment “other.png”" in str(app.notifications.shown))
        app.query_one(Composer).text = "/detach flag.png"
        await pilot.press("enter")
        await until(pilot, lambda: not app.query_one(AttachmentLine).count)
        await pilot.press(*"words", "enter")
        await replied(pilot)


def test_only_what_cannot_run_is_opened(tmp_path: Path) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\nPATH=/usr/bin:/bin\ncp "$1" "{tmp_path}/opened"\n'
        f'echo "$1" > "{tmp_path}/name"\n'
    )
    opener.chmod(0o700)
    desktop = {"DISPLAY": ":0", "PATH": str(tmp_path)}
    content = picture()
    assert open_outside(content, desktop).endswith("xdg-open")
    assert (tmp_path / "opened").read_bytes() == content
    name = Path((tmp_path / "name").read_text().strip())
    assert name.suffix == ".png"
    assert name.parent.stat().st_mode & 0o077 == 0, "nobody else reads it"
    with pytest.raises(InputError, match="Only pictures"):
        open_outside(b"[Desktop Entry]\nExec=sh", desktop)
    opener.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(InputError, match="could not open it"):
        open_outside(content, desktop)
    with pytest.raises(InputError, match="No program"):
        open_outside(content, {"PATH": str(tmp_path)})


def test_hostile_pictures_are_refused() -> None:
    whole = picture()
    bomb = whole[:16] + (60_000).to_bytes(4, "big") * 2 + whole[24:]
    assert MOST_PIXELS < 60_000**2
    for content in (b"", b"\x89PNG\r\n\x1a\n" + bytes(2_000), whole[:60], bomb):
        with pytest.raises(InputError):
            ImagePreview.of("a.png", content)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "JPEG"])
def test_pixels_are_read_from_the_header(kind: str) -> None:
    from tui_chat.models.media import pixels_of

    content = picture(kind, (300, 7))
    encoded = base64.b64encode(content).decode()
    assert pixels_of(Part("image", data=encoded)) == (300, 7)
    for length in range(64):
        part = Part("image", data=base64.b64encode(content[:length]).decode())
        assert pixels_of(part) in (None, (300, 7))
