"""Pictures to attach."""

from __future__ import annotations

import io

from PIL import Image


def drawing(kind: str = "PNG", size: tuple[int, int] = (64, 48)) -> bytes:
    """Return a picture that is half red and half blue."""
    image = Image.new("RGB", size, "red")
    image.paste("blue", (0, size[1] // 2, *size))
    content = io.BytesIO()
    image.save(content, kind)
    return content.getvalue()
