"""Content encodings of HTTP bodies: gzip, deflate, br and zstd, decoded within a limit.

A body of a few kilobytes may decode to gigabytes, so no more than the limit is ever produced.
Nothing of ours is sent in these encodings; they are read from other programs' requests, and from
the replies that those asked for.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

_PIECE = 1 << 16
"""Bytes that are produced at once."""
_MOST_CODINGS = 4
"""Codings of one body; real ones have one."""


class EncodingFault(ValueError):
    """A body is not in the encoding that its header names, or the encoding is unknown."""


class _Coding(Protocol):
    """Decodes one coding."""

    def decode(self, data: bytes, limit: int) -> bytes:
        """Return what the data decode to, at most `limit` bytes."""
        ...


class ContentDecoder:
    """Decodes a body piece by piece."""

    def __init__(self, encoding: str, limit: int) -> None:
        """`encoding` is the value of `content-encoding`, and `limit` the maximum number of decoded
        bytes. Raises EncodingFault for an unknown encoding.
        """
        names = [name for part in encoding.split(",") if (name := part.strip().lower())]
        if len(names) > _MOST_CODINGS:
            raise EncodingFault(f"{len(names)} content encodings")
        self._codings: list[_Coding] = []
        for name in reversed(names):
            if name == "identity":
                continue
            if name not in _CODINGS:
                raise EncodingFault(f"unknown content encoding {name[:40]!r}")
            self._codings.append(_CODINGS[name]())
        self._room = limit
        self.exceeded = False
        """True if the body decodes to more than the limit; the rest is dropped."""

    def decode(self, data: bytes) -> bytes:
        """Return what the next bytes decode to. Raises EncodingFault."""
        if self.exceeded:
            return b""
        for coding in self._codings:
            try:
                data = coding.decode(data, self._room + 1)
            except EncodingFault:
                raise
            except Exception as error:  # each library has errors of its own
                raise EncodingFault(f"the body cannot be decoded: {error}") from error
        if len(data) > self._room:
            self.exceeded, data = True, data[: self._room]
        self._room -= len(data)
        return data


def decode_body(body: bytes, encoding: str, limit: int) -> bytes:
    """Return a decoded body. Raises EncodingFault, also for a body that exceeds the limit."""
    decoder = ContentDecoder(encoding, limit)
    decoded = decoder.decode(body)
    if decoder.exceeded:
        raise EncodingFault(f"the body decodes to more than {limit:,} bytes")
    return decoded


class _Zlib:
    """gzip with any number of members, or deflate with or without a zlib header."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window)
        self._begun = False

    def decode(self, data: bytes, limit: int) -> bytes:
        out = bytearray()
        while data and len(out) < limit:
            if self._stream.eof:  # a further gzip member
                self._stream = zlib.decompressobj(self._window)
            try:
                out += self._stream.decompress(data, limit - len(out))
            except zlib.error:
                if self._begun or self._window != zlib.MAX_WBITS:
                    raise
                self._window = -zlib.MAX_WBITS  # raw deflate, which some servers send
                self._stream = zlib.decompressobj(self._window)
                continue
            self._begun = True
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
        return bytes(out)


class _Brotli:
    def __init__(self) -> None:
        brotli: Any = import_module("brotli")  # it has no types
        self._stream = brotli.Decompressor()

    def decode(self, data: bytes, limit: int) -> bytes:
        out = bytearray()
        piece: bytes = self._stream.process(data, output_buffer_limit=_PIECE)
        while piece and len(out) < limit:
            out += piece
            piece = self._stream.process(b"", output_buffer_limit=_PIECE)
        return bytes(out + piece)


class _Zstandard:
    def __init__(self) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        self._new = zstd.ZstdDecompressor
        self._stream = self._new()

    def decode(self, data: bytes, limit: int) -> bytes:
        out = bytearray()
        while len(out) < limit and (data or not self._stream.needs_input):
            if self._stream.eof:  # a further frame
                self._stream = self._new()
            out += self._stream.decompress(data, max_length=limit - len(out))
            data = self._stream.unused_data if self._stream.eof else b""
            if self._stream.eof and not data:
                break
        return bytes(out)


_CODINGS: dict[str, Callable[[], _Coding]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstandard,
}
