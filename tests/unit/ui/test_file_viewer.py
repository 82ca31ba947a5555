"""Pictures: their size, and those that are refused."""

from __future__ import annotations

import base64

import pytest

from tests.support.drawings import drawing
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.blocks import MediaBlock
from tui_chat.ui.dialogs.file_viewer import MOST_PIXELS, ImagePreview


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
