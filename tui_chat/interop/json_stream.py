"""JSON that arrives in pieces, read value by value.

An export of ten years of conversations is one array of hundreds of megabytes. An array is read
element by element, an object member by member; memory holds one value and one piece.

1. A value that lies within a piece is decoded in place. A value that is cut by the end of a piece
   is first followed to its end by its quotes and brackets alone, so that nothing is decoded twice.
2. A value that is not JSON, but whose end its brackets tell, is skipped, and reading goes on
   (`BadValue`). If the text ends first, reading ends (`BadText`).
3. A value larger than `LARGEST` is skipped without being kept in memory.
4. NaN, infinite numbers and numbers of thousands of digits are refused.

Why not `ijson` (3.6, yajl2_c): it is no faster (2.3 s of CPU for a 200 MB export, this takes 2.2 s)
and ends at the first broken value, so that one bad conversation would cost all that follow. It
refuses whole numbers beyond 64 bits unless every number becomes a Decimal, and a byte order mark;
it limits neither depth nor the size of a value, and has no type information.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import cast

LARGEST = 256 * 2**20
"""Characters of one value: a conversation with hundreds of pictures inside."""

_SPACE = re.compile(r"[ \t\r\n]*")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BARE = re.compile(r"[^\s,\]}]*")
_OPENING, _CLOSING = "{[", "}]"


class BadValue(ValueError):
    """One value cannot be read, and what follows it can."""


class BadText(ValueError):
    """Nothing more can be read from here on."""


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_float)


class JsonStream:
    """A text of JSON values, to be taken in order."""

    def __init__(self, pieces: Iterable[bytes], *, largest: int = LARGEST) -> None:
        self._texts: Iterator[str] = _decoded(pieces)
        self._text = ""
        self._at = 0
        self._largest = largest
        self.line = 1
        """The line that is read next."""

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            following = self._text[self._at : self._at + 1]
            if following > " ":
                return following
            self._advance(cast("re.Match[str]", _SPACE.match(self._text, self._at)).end())
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, char: str) -> None:
        """Pass over a character that must come next."""
        found = self.peek()
        if found != char:
            said = f"“{found}”" if found else "the end"
            raise BadText(f"is not JSON: “{char}” should come in line {self.line}, not {said}")
        self._at += 1

    def value(self) -> object:
        """Return the next value, whole. Raises BadValue and BadText."""
        if not self.peek():
            raise BadText("ends before it is complete")
        try:
            value, end = _DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            pass  # cut by the end of the piece, or wrong: its end tells
        else:
            if end < len(self._text) or self._text[self._at] in '"{[':
                self._advance(end)
                return value
            # else a number may go on in the next piece
        line = self.line
        raw = self._raw()
        try:
            return _DECODER.decode(raw)
        except json.JSONDecodeError as error:
            # In its first line the value may stand anywhere: its columns are not the file's.
            column = f", column {error.colno}" if error.lineno > 1 else ""
            fault = error.msg.removesuffix(" at")
            where = f"line {line + error.lineno - 1}{column}"
            raise BadValue(f"is not JSON: {fault} at {where}") from error
        except ValueError as error:
            raise BadValue(f"is not JSON: {error}") from error
        except RecursionError as error:
            raise BadValue("is nested too deeply") from error

    def stop(self) -> None:
        """Read nothing more."""
        self._texts, self._text, self._at = iter(()), "", 0

    def elements(self) -> Iterator[int]:
        """Walk an array: for each index, the caller takes the value."""
        yield from self._each("[", "]")

    def members(self) -> Iterator[str]:
        """Walk an object: for each key, the caller takes the value."""
        for _ in self._each("{", "}"):
            try:
                key = self.value() if self.peek() == '"' else None
            except BadValue as error:
                raise BadText(str(error)) from error
            if not isinstance(key, str):
                raise BadText(f"is not JSON: a key should come in line {self.line}")
            self.take(":")
            yield key

    def _each(self, opening: str, closing: str) -> Iterator[int]:
        self.take(opening)
        if self.peek() == closing:
            self._at += 1
            return
        index = 0
        while True:
            yield index
            index += 1
            if self.peek() == closing:
                self._at += 1
                return
            self.take(",")

    def _more(self) -> bool:
        """Get the next piece; what was read before is let go."""
        for text in self._texts:
            if text:
                self._text, self._at = self._text[self._at :] + text, 0
                return True
        return False

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _raw(self) -> str:
        """Take the text of the next value by its quotes and brackets."""
        parts: list[str] = []
        length = 0
        for part in self._raw_parts():
            length += len(part)
            if length > self._largest:
                parts.clear()
            else:
                parts.append(part)
        if length > self._largest:
            raise BadValue(f"is larger than {self._largest // 2**20} MiB")
        return "".join(parts)

    def _raw_parts(self) -> Iterator[str]:
        depth, in_string = 0, False
        start = at = self._at
        line = self.line
        while True:
            at, depth, in_string, done = self._follow(at, start, depth, in_string)
            yield self._text[self._at : at]
            self._advance(at)
            if done:
                return
            start = -1  # no longer at the first character
            if not self._more():
                if depth or in_string:
                    raise BadText(f"ends before what begins in line {line} is complete")
                return
            at = self._at

    def _follow(
        self, at: int, start: int, depth: int, in_string: bool
    ) -> tuple[int, int, bool, bool]:
        """Go as far towards the end of the value as the piece reaches: where that is, how deep,
        whether within a string, and whether it is the end.
        """
        text = self._text
        if not (depth or in_string) and (start < 0 or text[at] not in '"{['):
            end = cast("re.Match[str]", _BARE.match(text, at)).end()
            if end == at == start:  # a stray character: step over it
                end += 1
            return end, 0, False, end < len(text)
        while True:
            if in_string:
                at = cast("re.Match[str]", _IN_STRING.match(text, at)).end()
                if at >= len(text) or text[at] == "\\":
                    return at, depth, True, False
                at, in_string = at + 1, False
            else:
                found = _STRUCTURE.search(text, at)
                if found is None:
                    return len(text), depth, False, False
                at = found.end()
                match found.group():
                    case '"':
                        in_string = True
                        continue
                    case bracket:
                        depth += 1 if bracket in _OPENING else -1
            if depth <= 0:
                return at, 0, False, True


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    seen = 0
    try:
        for piece in pieces:
            yield decoder.decode(piece)
            seen += len(piece)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise BadText(f"is not UTF-8 text (near byte {seen + error.start})") from error
