"""Types of pictures, sounds and files, their bytes and their URLs.

1. A type says what a part is only if it is on the list here; anything else is a file. SVG is not on
   it: it can hold scripts.
2. Sound without a header (PCM, as models speak it) is written with the header of a WAV file.
"""

from __future__ import annotations

import re
import struct
from base64 import b64decode, b64encode
from dataclasses import replace
from mimetypes import guess_type
from typing import Final

from tui_chat.models.blocks import MediaBlock, MediaKind


def _of(kind: MediaKind, family: str, endings: dict[str, str]) -> dict[str, tuple[MediaKind, str]]:
    return {f"{family}/{name}": (kind, ending) for name, ending in endings.items()}


_TYPES = {
    **_of("image", "image", {"png": ".png", "jpeg": ".jpg", "gif": ".gif", "webp": ".webp"}),
    **_of("image", "image", {"avif": ".avif", "heic": ".heic", "heif": ".heif"}),
    **_of("audio", "audio", dict.fromkeys(("wav", "x-wav", "wave", "l16", "pcm"), ".wav")),
    **_of("audio", "audio", {"mpeg": ".mp3", "mp3": ".mp3", "ogg": ".ogg", "opus": ".opus"}),
    **_of("audio", "audio", {"flac": ".flac", "aac": ".aac", "mp4": ".m4a", "webm": ".webm"}),
    **_of("video", "video", {"mp4": ".mp4", "webm": ".webm", "quicktime": ".mov"}),
    **_of("file", "application", {"pdf": ".pdf", "json": ".json"}),
    **_of("file", "text", {"plain": ".txt", "csv": ".csv", "markdown": ".md"}),
}
"""The kind of part of each type, and the ending of a file of it."""

_MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}(?:; ?[\w.+-]{1,40}=[\w.+-]{1,40}){0,4}", re.ASCII)
_PCM = frozenset({"audio/l16", "audio/pcm"})
_RATE = re.compile(r"rate=(\d{4,6})(?!\d)")
_PCM_RATE = 24_000
"""Samples a second of PCM that does not say it; OpenAI and Gemini speak so, mono, 16 bits."""

_MAGIC: Final[tuple[tuple[bytes, int, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"\xff\xfb", 0, "audio/mpeg"),
    (b"\xff\xf3", 0, "audio/mpeg"),
    (b"\xff\xf1", 0, "audio/aac"),
    (b"\xff\xf9", 0, "audio/aac"),
    (b"fLaC", 0, "audio/flac"),
    (b"OggS", 0, "audio/ogg"),
    (b"%PDF-", 0, "application/pdf"),
)
"""Bytes and their offset, and the type of files with them."""


def known_mime(mime: str) -> str:
    """Return a MIME type if it is well formed, else an empty string."""
    return mime if _MIME.fullmatch(mime) else ""


def kind_of(mime: str) -> MediaKind:
    """Return the kind of part of a type; `file` if it is not on the list."""
    return _TYPES.get(_base(mime), ("file", ""))[0]


def detect_mime(data: bytes) -> str:
    """Return the type of a file by its first bytes; empty if they do not tell."""
    return next((mime for magic, offset, mime in _MAGIC if data[offset:].startswith(magic)), "")


def detect_mime_of_base64(data: str) -> str:
    """Return the type of base64 data by its first bytes; empty if they do not tell."""
    try:
        return detect_mime(b64decode(data[:32], validate=True))
    except ValueError:
        return ""


def size_of(part: MediaBlock) -> int:
    """Return the bytes of a part; 0 if it has only a link or an id."""
    if part.text:
        return len(part.text.encode("utf-8", "replace"))
    return max(len(part.data) * 3 // 4 - part.data[-2:].count("="), 0)


def format_size(size: int) -> str:
    """Format a number of bytes: `812 B`, `34 kB`, `1.2 MB`."""
    if size < 1_000:
        return f"{size} B"
    if size < 999_500:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB"


def describe(part: MediaBlock) -> str:
    """Return what a part is called, in a few words: `photo.png · 34 kB`. Not safe to draw."""
    size = size_of(part)
    facts = [part.name or part.mime or part.url]
    facts += [format_size(size)] if size else ["damaged"] if is_damaged(part) else []
    return " · ".join(fact for fact in facts if fact)


HEADER_BYTES = 262_144
"""Bytes of an image in which its pixels are looked for; JPEG has previews in front of them."""


def pixels_of(part: MediaBlock) -> tuple[int, int] | None:
    """Return width and height of an image in pixels; None if its header does not say."""
    if part.media != "image" or not part.data:
        return None
    try:
        data = b64decode(part.data[: HEADER_BYTES // 3 * 4])
    except ValueError:
        return None
    try:
        return _pixels(data)
    except (struct.error, IndexError):  # it ends within its header
        return None


def _pixels(data: bytes) -> tuple[int, int] | None:
    """Read a PNG, GIF, WebP or JPEG header. Raises struct.error, IndexError if it is cut off."""
    kind, width, height = data[12:16], 0, 0
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = struct.unpack_from(">II", data, 16)
    elif data.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", data, 6)
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        # https://developers.google.com/speed/webp/docs/riff_container
        if kind == b"VP8X":
            width = int.from_bytes(data[24:27], "little") + 1
            height = int.from_bytes(data[27:30], "little") + 1
        elif kind == b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        else:
            width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", data, 26))
    elif data.startswith(b"\xff\xd8"):
        offset = 2
        while data[offset] == 0xFF:
            marker = data[offset + 1]
            if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the frame header
                height, width = struct.unpack_from(">HH", data, offset + 5)
                break
            offset += 2 + struct.unpack_from(">H", data, offset + 2)[0]
    return (width, height) if 0 < width < 1_000_000 and 0 < height < 1_000_000 else None


def is_damaged(part: MediaBlock) -> bool:
    """Return True for a part whose content could not be read when it came."""
    return not (part.data or part.url or part.file_id or part.text)


def file_of(part: MediaBlock, number: int) -> tuple[str, bytes] | None:
    """Return a name and the bytes of a part as a file; `number` names one without a name.

    None if it has no bytes here, or they are not base64.
    """
    if part.text:
        return file_name(part, number), part.text.encode("utf-8", "replace")
    try:
        content = b64decode(with_header(part).data, validate=True)
    except ValueError:
        return None
    return (file_name(part, number), content) if content else None


def with_header(part: MediaBlock) -> MediaBlock:
    """Return PCM as a WAV file, without data if that is not base64; any other part as it is."""
    if _base(part.mime) not in _PCM or not part.data:
        return part
    try:
        samples = b64decode(part.data, validate=True)
    except ValueError:
        return replace(part, data="")
    rate = _RATE.search(part.mime)
    content = _with_wav_header(samples, int(rate[1]) if rate else _PCM_RATE)
    return replace(part, mime="audio/wav", data=b64encode(content).decode())


def file_name(part: MediaBlock, number: int) -> str:
    """Return a safe file name for a part; `number` names one without a name."""
    base = _base(part.mime)
    ending = _TYPES.get(base, ("", ".txt" if part.text else ".bin"))[1]
    name = re.sub(r"[^\w.+-]+", "-", part.name).strip("-.")[-80:] or f"{part.media}-{number}"
    if guess_type(name)[0] != base:
        name += "" if name.endswith(ending) else ending
    return name


def as_text(part: MediaBlock) -> MediaBlock:
    """Return a document of text as text; any other part as it is."""
    is_text = part.mime.startswith("text/") or part.mime == "application/json"
    if part.media != "file" or not part.data or not is_text:
        return part
    try:
        return replace(part, text=b64decode(part.data, validate=True).decode(), data="")
    except ValueError:
        return part


def _base(mime: str) -> str:
    return mime.partition(";")[0].strip().lower()


def _with_wav_header(samples: bytes, rate: int) -> bytes:
    """Return mono PCM of 16 bits, little-endian, as a WAV file."""
    size = len(samples)
    form = b"".join(
        number.to_bytes(width, "little")
        for number, width in ((16, 4), (1, 2), (1, 2), (rate, 4), (2 * rate, 4), (2, 2), (16, 2))
    )
    head = b"RIFF" + (36 + size).to_bytes(4, "little") + b"WAVEfmt " + form
    return head + b"data" + size.to_bytes(4, "little") + samples


# URLs of pictures and files: `data:`, in which OpenAI's protocols carry bytes, and links

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def standard_base64(data: str) -> str:
    """Return standard base64; empty if the data is not base64.

    Google also accepts the URL-safe alphabet and missing padding.
    """
    data = data.translate(_URL_SAFE)
    data += "=" * (-len(data) % 4)
    return data if _BASE64.fullmatch(data) else ""


_URL_SAFE = {ord("-"): "+", ord("_"): "/"}


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return type and base64 data; None for other URLs, and for what could not be rebuilt."""
    match = _DATA_URL.match(url)
    if match is None or (len(url) - match.end()) % 4 or not _BASE64.fullmatch(url, match.end()):
        return None
    return match[1], url[match.end() :]


def data_url(mime: str, data: str) -> str:
    """Return the data URL of these bytes."""
    return f"data:{mime};base64,{data}"


def is_link(url: str) -> bool:
    """Return True if a provider could fetch the URL."""
    return url.startswith(("http://", "https://"))
