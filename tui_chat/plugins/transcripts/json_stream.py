"""JSON in pieces, parsed value by value, and JSON lines.

An export of ten years of conversations is one array of hundreds of megabytes. An array is read
element by element, an object member by member; one value and one piece are in memory.

1. A value within a piece is decoded in place. For one that the end of a piece cuts, the end is
   found first, from quotes and brackets alone.
2. A value that is not JSON, but has matching brackets, is skipped, and reading continues
   (`BadValue`). If the text ends first, or the value is larger than `LARGEST`, reading ends
   (`BadText`).
3. NaN, infinite numbers and numbers of thousands of digits are refused.

`docs/dev/decisions.md` says why this is not `ijson`.

Of JSON lines, a damaged line costs that line only. One larger than `LARGEST_LINE` is skipped
without being kept in memory, and reading ends after `LARGEST_FILE` bytes, since all records of a
file are one conversation.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import cast

from tui_chat.interop.formats import FoundConversation
from tui_chat.models.json_text import (
    LENIENT_DECODER,
    STRICT_DECODER,
    JsonObject,
    json_fault,
    type_name,
)

LARGEST_LINE = 64 * 2**20
"""Maximum bytes of a line; a record may hold pictures."""
LARGEST_FILE = 256 * 2**20
"""Maximum bytes of a conversation."""
_MOST_FAULTS = 200
"""Maximum number of faults of a file that are kept; further ones are counted."""
_MOST_VALUES = 2_000_000
"""Maximum number of objects and arrays in a line, about."""
LARGEST = 256 * 2**20
"""Maximum characters of a value; enough for a conversation with hundreds of images."""

_SPACE = re.compile(r"[ \t\r\n]*")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BARE = re.compile(r"[^\s,\]}]*")


class BadLine(ValueError):
    """A line is not a JSON object."""


def parse_line(line: bytes) -> JsonObject | None:
    """Return the object of a line; None for a blank line. Raises BadLine."""
    text = line.strip(b" \t\r\n")
    if not text:
        return None
    if len(text) > _MOST_VALUES and text.count(b"{") + text.count(b"[") > _MOST_VALUES:
        raise BadLine("has too many values")
    try:
        value = LENIENT_DECODER.decode(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadLine(f"is not UTF-8 text (byte {error.start} of the line)") from error
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc) or error.msg.startswith("Unterminated string"):
            raise BadLine("is not JSON: the line is cut") from error
        fault = json_fault(error.doc, error)
        raise BadLine(f"{fault.sentence} at character {fault.offset + 1} of the line") from error
    except (ValueError, RecursionError) as error:
        raise BadLine(json_fault("", error).sentence) from error
    if not isinstance(value, dict):
        raise BadLine(f"must be an object, not {type_name(value)}")
    return cast("JsonObject", value)


class JsonLines:
    """The records of a text of JSON lines, and the faults of those that cannot be read."""

    def __init__(self, pieces: Iterable[bytes], *, largest: int = LARGEST_LINE) -> None:
        self._pieces = pieces
        self._largest = largest
        self._faults: list[FoundConversation] = []
        self._more_faults = 0
        self.line = 0
        """The number of the current line."""

    def __iter__(self) -> Iterator[JsonObject]:
        size = 0
        for line in split_lines(self._pieces, self._largest):
            self.line += 1
            if line is None:
                self.fault(f"is larger than {self._largest // 2**20} MiB")
                continue
            size += len(line)
            if size > LARGEST_FILE:
                self.fault(
                    f"the conversation is larger than {LARGEST_FILE // 2**20} MiB; "
                    "what precedes this line was read"
                )
                return
            try:
                record = parse_line(line)
            except BadLine as error:
                self.fault(str(error))
                continue
            if record is not None:
                yield record

    def fault(self, sentence: str) -> None:
        """Report that the current line cannot be used."""
        if len(self._faults) < _MOST_FAULTS:
            self._faults.append(FoundConversation(f"line {self.line}", fault=sentence))
        else:
            self._more_faults += 1

    def faults(self, place: str = "") -> Iterator[FoundConversation]:
        """Yield what could not be read so far; `place` is the file, if it is not the main one."""
        for fault in self._faults:
            yield replace(fault, place=f"{place}: {fault.place}") if place else fault
        if self._more_faults:
            yield FoundConversation(place, fault=f"{self._more_faults:,} more lines are damaged")


def split_lines(pieces: Iterable[bytes], largest: int) -> Iterator[bytes | None]:
    """Yield the lines of a text without their ends; None for a line of more than `largest` bytes.

    Only LF ends a line: U+2028 is legal inside JSON.
    """
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            size += end - start
            yield b"".join((*held, piece[start:end])) if size <= largest else None
            held, size, start = [], 0, end + 1
        if start < len(piece):
            size += len(piece) - start
            if size <= largest:
                held.append(piece[start:])
            else:
                held = []
    if size:
        yield b"".join(held) if size <= largest else None


def read_records(
    lines: JsonLines, take: Callable[[JsonObject], str], place: str = ""
) -> Iterator[FoundConversation]:
    """Give all records to `take`, which returns a fault or nothing; then yield the faults. `place`
    is the file, if it is not the main one.
    """
    for record in lines:
        if fault := take(record):
            lines.fault(fault)
    yield from lines.faults(place)


class BadValue(ValueError):
    """A value cannot be parsed; the following ones can."""


class BadText(ValueError):
    """Nothing more can be parsed from here on."""


class JsonStream:
    """A text of JSON values, read in order."""

    def __init__(self, pieces: Iterable[bytes], *, largest: int = LARGEST) -> None:
        self._texts: Iterator[str] = _decoded(pieces)
        self._text = ""
        self._at = 0
        self._largest = largest
        self.line = 1
        """The number of the current line."""

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            self._advance(cast("re.Match[str]", _SPACE.match(self._text, self._at)).end())
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, char: str) -> None:
        """Skip the next character, which must be `char`. Raises BadText."""
        next_char = self.peek()
        if next_char != char:
            actual = f"“{next_char}”" if next_char else "the end"
            raise BadText(f"is not JSON: expected “{char}” in line {self.line}, not {actual}")
        self._at += 1

    def value(self) -> object:
        """Return the next complete value. Raises BadValue and BadText."""
        if not self.peek():
            raise BadText("ends before it is complete")
        try:
            value, end = STRICT_DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            pass  # cut by the end of the piece, or invalid; its end will show
        else:
            if end < len(self._text) or self._text[self._at] in '"{[':
                self._advance(end)
                return value
            # otherwise a number may continue in the next piece
        line, end = self.line, self._end()
        raw = self._text[self._at : end]
        self._advance(end)
        try:
            return STRICT_DECODER.decode(raw)
        except (ValueError, RecursionError) as error:
            fault = json_fault(raw, error)
            # The value may start anywhere in its first line, whose columns are not the file's.
            column = f", column {fault.column}" if fault.line > 1 else ""
            where = f"line {line + fault.line - 1}{column}"
            raise BadValue(f"{fault.sentence} in {where}") from error

    def member(self) -> object:
        """Return the next value, without which the rest is of no use. Raises BadText."""
        try:
            return self.value()
        except BadValue as error:
            raise BadText(str(error)) from error

    def elements(self) -> Iterator[int]:
        """Yield the indices of an array; the caller reads each value."""
        yield from self._each("[", "]")

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value."""
        for _ in self._each("{", "}"):
            key = self.member() if self.peek() == '"' else None
            if not isinstance(key, str):
                raise BadText(f"is not JSON: expected a key in line {self.line}")
            self.take(":")
            yield key

    def _each(self, opening: str, closing: str) -> Iterator[int]:
        self.take(opening)
        index = 0
        while index or self.peek() != closing:
            yield index
            index += 1
            if self.peek() == closing:
                break
            self.take(",")
        self._at += 1

    def _more(self) -> bool:
        """Append as much as there is, at least a piece, and release what was read."""
        texts, size = [self._text[self._at :]], 0
        for text in self._texts:
            texts.append(text)
            size += len(text)
            if size > len(texts[0]):
                break
        self._text, self._at = "".join(texts), 0
        return size > 0

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _end(self) -> int:
        """Return the offset behind the next value, whose text is complete then. Raises BadText."""
        if self._text[self._at] not in '"{[':
            while (end := _bare_end(self._text, self._at)) == len(self._text) and self._more():
                pass
            return max(end, self._at + 1)  # a stray character is skipped
        at, depth, in_string = self._at, 0, False
        while True:
            if in_string:
                at = cast("re.Match[str]", _IN_STRING.match(self._text, at)).end()
                is_cut = self._text[at : at + 1] != '"'
                at, in_string = (at, True) if is_cut else (at + 1, False)
            else:
                token = _STRUCTURE.search(self._text, at)
                is_cut, bracket = token is None, token[0] if token is not None else ""
                at = len(self._text) if token is None else token.end()
                in_string = bracket == '"'
                depth += (bracket in ("{", "[")) - (bracket in ("}", "]"))
            if not (is_cut or in_string or depth > 0):
                return at
            if is_cut:
                at -= self._at
                if at > self._largest:
                    size = self._largest // 2**20
                    raise BadText(f"has a value of more than {size} MiB in line {self.line}")
                if not self._more():
                    raise BadText(f"ends within the value that begins in line {self.line}")


def _bare_end(text: str, at: int) -> int:
    return cast("re.Match[str]", _BARE.match(text, at)).end()


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
