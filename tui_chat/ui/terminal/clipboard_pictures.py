"""The picture in the system's clipboard."""

from __future__ import annotations

import io
import time
from contextlib import suppress
from pathlib import Path

from tui_chat.errors import InputError
from tui_chat.files import write_new_file

_MOST_PIXELS = 100_000_000
_KEPT_SECONDS = 7 * 24 * 3600
"""A pasted picture is a file for as long: a draft or a queued message names it by its path. What
was sent has its own copy."""


def clipboard_picture(folder: Path) -> Path | None:
    """Return the path of the picture in the clipboard, in a new file of a folder if it is in no
    file yet; None if there is none. Raises InputError if the clipboard cannot be read.
    """
    from PIL import Image, ImageGrab

    try:
        held = ImageGrab.grabclipboard()
    except NotImplementedError as error:  # it names the missing program
        raise InputError(f"The clipboard's pictures cannot be read: {error}.") from error
    except (OSError, ValueError, SyntaxError, MemoryError) as error:
        raise InputError("What is in the clipboard cannot be read as a picture.") from error
    if isinstance(held, list):  # files were copied
        return next((Path(path) for path in held if Path(path).is_file()), None)
    if not isinstance(held, Image.Image):
        return None
    if held.width * held.height > _MOST_PIXELS:
        raise InputError("The picture in the clipboard is too large.")
    data = io.BytesIO()
    held.save(data, "PNG")
    _remove_old(folder)
    return write_new_file(folder / "picture.png", data.getvalue())


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _KEPT_SECONDS
    for picture in folder.glob("picture*.png"):
        with suppress(OSError):
            if picture.stat().st_mtime < oldest:
                picture.unlink()
