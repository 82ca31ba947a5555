"""Reads and writes the text chunks of PNG files, in which character cards are kept.

PNG (third edition), section 11.3.3: `tEXt` is Latin-1, `zTXt` compressed Latin-1, `iTXt` UTF-8 that
may be compressed. https://www.w3.org/TR/png-3/#11textinfo
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_TEXT = 16 * 2**20
"""Bytes of one text, uncompressed."""
_MOST_CHUNKS = 100_000
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")


@dataclass(frozen=True, slots=True)
class _Chunk:
    kind: bytes
    content: memoryview


def read_texts(png: bytes) -> dict[str, str]:
    """Return the texts of a PNG file by their keywords in lower case; of two with the same keyword
    the first. A file that breaks off yields the texts before that place. Raises InputError if it is
    no PNG file, or a text is too long or cannot be read.
    """
    texts: dict[str, str] = {}
    for chunk in _chunks(png):
        if chunk.kind in _TEXTS:
            keyword, text = _text(chunk)
            texts.setdefault(keyword.lower(), text)
    return texts


def with_texts(png: bytes, texts: Mapping[str, str]) -> bytes:
    """Return a PNG file with `tEXt` chunks of these texts (ASCII) in place of those with the same
    keywords. Raises InputError if it is no whole PNG file.
    """
    replaced = {keyword.lower() for keyword in texts}
    pieces: list[bytes | memoryview] = [SIGNATURE]
    has_end = False
    for chunk in _chunks(png):
        if chunk.kind in _TEXTS and _keyword(chunk).lower() in replaced:
            continue
        if chunk.kind == b"IEND":
            has_end = True
            for keyword, text in texts.items():
                content = keyword.encode("latin-1") + b"\0" + text.encode("ascii")
                pieces += _written(b"tEXt", content)
        pieces += _written(chunk.kind, chunk.content)
    if not has_end:
        raise InputError("The PNG file is incomplete: its end is missing.")
    return b"".join(pieces)


def without_texts(png: bytes, keywords: frozenset[str]) -> bytes:
    """Return a PNG file without the texts of these keywords (lower case). Raises InputError."""
    pieces: list[bytes | memoryview] = [SIGNATURE]
    for chunk in _chunks(png):
        if chunk.kind not in _TEXTS or _keyword(chunk).lower() not in keywords:
            pieces += _written(chunk.kind, chunk.content)
    return b"".join(pieces)


def _written(kind: bytes, content: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return len(content).to_bytes(4, "big"), kind, content, checksum.to_bytes(4, "big")


def _chunks(png: bytes) -> Iterator[_Chunk]:
    """Yield the chunks up to the end of the picture, or to where the file breaks off."""
    if not png.startswith(SIGNATURE):
        raise InputError("It is not a PNG file.")
    view = memoryview(png)
    at = len(SIGNATURE)
    for _ in range(_MOST_CHUNKS):
        length = int.from_bytes(view[at : at + 4], "big")
        kind = bytes(view[at + 4 : at + 8])
        end = at + 8 + length
        if len(kind) < 4 or end > len(view):
            return
        yield _Chunk(kind, view[at + 8 : end])
        if kind == b"IEND":
            return
        at = end + 4
    raise InputError(f"The PNG file has more than {_MOST_CHUNKS:,} chunks.")


def _keyword(chunk: _Chunk) -> str:
    return bytes(chunk.content[:80]).partition(b"\0")[0].decode("latin-1")


def _text(chunk: _Chunk) -> tuple[str, str]:
    keyword = _keyword(chunk)
    rest = chunk.content[len(keyword) + 1 :]
    if chunk.kind == b"tEXt":
        return keyword, _checked(bytes(rest[: MOST_TEXT + 1]), keyword).decode("latin-1")
    if chunk.kind == b"zTXt":
        return keyword, _inflated(rest[1:], keyword).decode("latin-1")
    is_compressed = bytes(rest[:1]) == b"\1"
    content = bytes(rest[2:]).split(b"\0", 2)[-1]  # behind a language and a translated keyword
    data = _inflated(memoryview(content), keyword) if is_compressed else _checked(content, keyword)
    return keyword, data.decode("utf-8", "replace")


def _inflated(data: memoryview, keyword: str) -> bytes:
    try:
        return _checked(zlib.decompressobj().decompress(data, MOST_TEXT + 1), keyword)
    except zlib.error as error:
        raise InputError(f"The text “{keyword}” of the PNG file is damaged: {error}.") from error


def _checked(data: bytes, keyword: str) -> bytes:
    if len(data) > MOST_TEXT:
        raise InputError(
            f"The text “{keyword}” of the PNG file is longer than {MOST_TEXT // 2**20} MB."
        )
    return data
