"""Files that the user attaches to a message.

1. The type of a file is detected from its first bytes, not its name: an image called `.txt` is an
   image.
2. Images, audio and PDFs become parts with their bytes; other UTF-8 text becomes a document.
   Everything else is refused, since no provider accepts it.
3. Only regular files below a size limit are read: a pipe would block.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

from tui_chat.errors import InputError
from tui_chat.files import STANDARD_INPUT, open_file, read_standard_input
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import card_error, is_character_card
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.media import detect_mime, format_size, kind_of, pixels_of
from tui_chat.models.text import clean
from tui_chat.paths import expanded
from tui_chat.tokens.counter import media_tokens

LARGEST = 20_000_000
"""Maximum bytes of an image, audio or PDF; no provider accepts larger ones in a request."""
_PACKED = "part:"
"""The mark of what was no file, in drafts of earlier versions."""
LARGEST_TEXT = 2_000_000
"""Maximum bytes of a text; more than any model reads."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to the next message."""

    path: Path
    size: int
    """Bytes."""
    part: MediaBlock
    is_card: bool = False
    """True if it is a character card, which is sent as the picture or text that it is."""

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.name

    @property
    def stored(self) -> str:
        """What it is read from again: its path."""
        return str(self.path)

    @property
    def card_hint(self) -> str:
        """A sentence that says what it is and how to import it; empty if it is no card."""
        if not self.is_card:
            return ""
        kind = "picture" if self.part.media == "image" else "text"
        error = card_error(self.path)
        return f"{str(error).removesuffix('.')}; it is attached as a {kind}. {error.advice}"

    @property
    def label(self) -> str:
        """Name, size, pixels and tokens: `photo.png · 34 kB · 640 × 480 · ~765 tokens`."""
        facts = [self.name, format_size(self.size)]
        if pixels := pixels_of(self.part):
            facts.append(f"{pixels[0]:,} × {pixels[1]:,}")
        if not self.part.text:
            facts.append(f"~{media_tokens(self.part):,} tokens")
        return " · ".join(facts)


def read_attachment(path: Path) -> Attachment:
    """Read a file, or standard input for `-`, as a part. Raises InputError with file and fault."""
    if path == STANDARD_INPUT:
        data = read_standard_input(LARGEST)
        return Attachment(path, len(data), _part(path, data), is_character_card(data))
    path = expanded(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder.", advice="Attach the files in it.")
        if not path.exists():
            raise InputError(f"{path} does not exist.")
        if not path.is_file():
            raise InputError(f"{path} is not a regular file.")
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(LARGEST + 1) if size <= LARGEST else b""
        if (size := max(size, len(data))) > LARGEST:  # it may have grown meanwhile
            raise _too_large(str(path), size, LARGEST)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    return Attachment(path, len(data), _part(path, data), is_character_card(data))


def stored_attachment(stored: str) -> Attachment:
    """Read an attachment of a stored draft again. Raises InputError."""
    if stored.startswith(_PACKED):
        raise InputError("An attachment of the stored draft was no file, and is gone.")
    return read_attachment(Path(stored))


def _part(path: Path, data: bytes) -> MediaBlock:
    """Return content as a part."""
    if path == STANDARD_INPUT:
        path = Path("input")
    words = str(path)
    if not data:
        raise InputError(f"{words} is empty.")
    if mime := detect_mime(data):
        return MediaBlock(kind_of(mime), mime, data=base64.b64encode(data).decode(), name=path.name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text and is_character_card(data):
        raise card_error(path)
    if "\0" in text:
        raise InputError(
            f"{words} is neither an image (PNG, JPEG, GIF, WebP), audio (WAV, MP3, AAC, FLAC, "
            "Ogg), a PDF nor UTF-8 text."
        )
    if len(data) > LARGEST_TEXT:
        raise _too_large(words, len(data), LARGEST_TEXT)
    return MediaBlock("file", "text/plain", text=clean(text), name=path.name)


def _too_large(words: str, size: int, limit: int) -> InputError:
    return InputError(
        f"{words} is too large: {format_size(size)}.", advice=f"The limit is {format_size(limit)}."
    )
