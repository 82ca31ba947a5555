"""Files that a person attaches to a message: found by their beginnings, read, checked.

1. What a file is, its first bytes say, never its name: a picture called `.txt` is a picture.
2. Pictures, sounds and PDFs become parts with their bytes; any other file that is UTF-8 text
   becomes a document. Everything else is refused: no provider would know what to do with it.
3. Nothing is read that is too large, or is no ordinary file: a pipe would wait for ever.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tui_chat.errors import InputError
from tui_chat.files import open_file
from tui_chat.models.message import Part, PartKind
from tui_chat.models.text import clean
from tui_chat.paths import expanded

LARGEST = 20_000_000
"""Bytes of a picture, a sound or a PDF; no provider takes larger ones inside a request."""
LARGEST_TEXT = 2_000_000
"""Bytes of a text: already more than any model reads."""

_MAGIC: tuple[tuple[bytes, int, PartKind, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image", "image/png"),
    (b"\xff\xd8\xff", 0, "image", "image/jpeg"),
    (b"GIF87a", 0, "image", "image/gif"),
    (b"GIF89a", 0, "image", "image/gif"),
    (b"WEBP", 8, "image", "image/webp"),
    (b"WAVE", 8, "audio", "audio/wav"),
    (b"ID3", 0, "audio", "audio/mpeg"),
    (b"\xff\xfb", 0, "audio", "audio/mpeg"),
    (b"%PDF-", 0, "file", "application/pdf"),
)
"""What stands where in a file of a kind."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with the next message."""

    path: Path
    size: int
    """Bytes."""
    part: Part

    @property
    def label(self) -> str:
        """What it is called on the screen: `photo.png · 34 kB`."""
        return f"{self.path.name} · {said_size(self.size)}"


def read_attachment(path: Path) -> Attachment:
    """Read a file as a part of a message. Raises InputError naming file and fault."""
    path = expanded(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder.", advice="Attach the files in it.")
        if not path.exists():
            raise InputError(f"There is no file {path}.")
        if not path.is_file():
            raise InputError(f"{path} is no ordinary file.")
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(LARGEST + 1) if size <= LARGEST else b""
        if (size := max(size, len(data))) > LARGEST:  # it may have grown meanwhile
            raise _too_large(path, size, LARGEST)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    return Attachment(path, len(data), _part(path, data))


def _part(path: Path, data: bytes) -> Part:
    if not data:
        raise InputError(f"{path} is empty.")
    for magic, at, kind, mime in _MAGIC:
        if data[at : at + len(magic)] == magic:
            return Part(kind, mime, data=base64.b64encode(data).decode(), name=path.name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(
            f"{path} is neither a picture (PNG, JPEG, GIF, WebP), a sound (WAV, MP3), a PDF nor "
            "UTF-8 text."
        )
    if len(data) > LARGEST_TEXT:
        raise _too_large(path, len(data), LARGEST_TEXT)
    return Part("file", "text/plain", text=clean(text), name=path.name)


def _too_large(path: Path, size: int, limit: int) -> InputError:
    return InputError(
        f"{path} is too large: {said_size(size)}.", advice=f"At most {said_size(limit)} can go."
    )


def said_size(size: int) -> str:
    """Say a number of bytes: `812 B`, `34 kB`, `1.2 MB`."""
    if size < 1_000:
        return f"{size} B"
    if size < 999_500:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB"


def paths_beginning(typed: str, here: Path, limit: int = 50) -> list[str]:
    """Return the files and folders that `typed` may be the beginning of, as one would type them.

    Folders end in `/`. Hidden files come only when asked for by their dot. First those that
    begin with the last part of `typed`, then those that contain it.
    """
    folder, _, name = typed.rpartition("/")
    before = typed[: len(typed) - len(name)]
    start = expanded(Path(folder + "/" if before else ""))
    found = sorted(_listed(here / start, name), key=lambda path: (path[0], path[1].casefold()))
    return [before + path for _, path in found[:limit]]


def _listed(folder: Path, name: str) -> Iterator[tuple[bool, str]]:
    wanted = name.casefold()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                own = entry.name.casefold()
                if entry.name.startswith(".") and not name.startswith("."):
                    continue
                if wanted in own and entry.name.isprintable():
                    try:
                        slash = "/" if entry.is_dir() else ""
                    except OSError:
                        slash = ""
                    yield not own.startswith(wanted), entry.name + slash
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return
