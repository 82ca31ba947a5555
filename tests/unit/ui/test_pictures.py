"""Pictures: their size, and those that are refused."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.support.drawings import drawing
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.blocks import MediaBlock
from tui_chat.ui.dialogs.file_viewer import MOST_PIXELS, ImagePreview
from tui_chat.ui.terminal.external_programs import open_outside


def test_only_what_cannot_run_is_opened(tmp_path: Path) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\nPATH=/usr/bin:/bin\ncp "$1" "{tmp_path}/opened"\n'
        f'echo "$1" > "{tmp_path}/name"\n'
    )
    opener.chmod(0o700)
    desktop = {"DISPLAY": ":0", "PATH": str(tmp_path)}
    content = drawing()
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
    whole = drawing()
    bomb = whole[:16] + (60_000).to_bytes(4, "big") * 2 + whole[24:]
    assert MOST_PIXELS < 60_000**2
    for content in (b"", b"\x89PNG\r\n\x1a\n" + bytes(2_000), whole[:60], bomb):
        with pytest.raises(InputError):
            ImagePreview.of("a.png", content)


@each_row("kind", ["PNG", "GIF", "WEBP", "JPEG"])
def test_pixels_are_read_from_the_header(kind: str) -> None:
    from tui_chat.models.media import pixels_of

    content = drawing(kind, (300, 7))
    encoded = base64.b64encode(content).decode()
    assert pixels_of(MediaBlock("image", data=encoded)) == (300, 7)
    for length in range(64):
        part = MediaBlock("image", data=base64.b64encode(content[:length]).decode())
        assert pixels_of(part) in (None, (300, 7))
