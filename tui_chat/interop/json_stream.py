"""JSON in pieces, parsed value by value, and JSON lines.

An export of ten years of conversations is one array of hundreds of megabytes. An array is read
element by element, an object member by member; one value and one piece are in memory.

1. A value within a piece is decoded in place. For a value that the end of a piece cuts, the end is
   found first, from quotes and brackets alone, so that nothing is decoded twice.
2. A value that is not JSON, but has matching brackets, is skipped, and reading continues
   (`BadValue`). If the text ends first, reading ends (`BadText`).
3. A value larger than `LARGEST` is skipped, and not kept in memory.
4. NaN, infinite numbers and numbers of thousands of digits are refused.

`docs/dev/decisions.md` says why this is not `ijson`.

Of JSON lines, a damaged line costs that line only.

1. A line is parsed on its own, so that one that was cut does not swallow the next ones.
2. A line larger than `LARGEST_LINE` is skipped without being kept in memory, and reading ends after
   `LARGEST_FILE` bytes, since all records of a file are one conversation.
3. What cannot be read is a fault with the number of its line.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias, cast

from tui_chat.interop.transcript_builder import FoundConversation
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


Record: TypeAlias = "tuple[int, JsonObject]"
"""The number of a line, and its object."""
LARGEST = 256 * 2**20
"""Maximum characters of a value; enough for a conversation with hundreds of images."""

_SPACE = re.compile(r"[ \t\r\n]*")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BARE = re.compile(r"[^\s,\]}]*")
_OPENING, _CLOSING = "{[", "}]"


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

    def __iter__(self) -> Iterator[Record]:
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
                yield self.line, record

    def fault(self, sentence: str) -> None:
        """Report that the current line cannot be used."""
        if len(self._faults) < _MOST_FAULTS:
            self._faults.append(FoundConversation(f"line {self.line}", fault=sentence))
        else:
            self._more_faults += 1

    def faults(self, place: str = "") -> Iterator[FoundConversation]:
        """Yield what could not be read so far; `place` is the file, if it is not the main one."""
        for fault in self._faults:
            yield (
                fault
                if not place
                else FoundConversation(f"{place}: {fault.place}", fault=fault.fault)
            )
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
            following = self._text[self._at : self._at + 1]
            if following > " ":
                return following
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
        line = self.line
        raw = self._raw()
        try:
            return STRICT_DECODER.decode(raw)
        except (ValueError, RecursionError) as error:
            fault = json_fault(raw, error)
            # The value may start anywhere in its first line, whose columns are not the file's.
            column = f", column {fault.column}" if fault.line > 1 else ""
            where = f"line {line + fault.line - 1}{column}"
            raise BadValue(f"{fault.sentence} in {where}") from error

    def stop(self) -> None:
        """Stop reading."""
        self._texts, self._text, self._at = iter(()), "", 0

    def elements(self) -> Iterator[int]:
        """Yield the indices of an array; the caller reads each value."""
        yield from self._each("[", "]")

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value."""
        for _ in self._each("{", "}"):
            try:
                key = self.value() if self.peek() == '"' else None
            except BadValue as error:
                raise BadText(str(error)) from error
            if not isinstance(key, str):
                raise BadText(f"is not JSON: expected a key in line {self.line}")
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
        """Get the next piece, and release what was read."""
        for text in self._texts:
            if text:
                self._text, self._at = self._text[self._at :] + text, 0
                return True
        return False

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _raw(self) -> str:
        """Return the text of the next value, found by its quotes and brackets."""
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
                    raise BadText(f"ends within the value that begins in line {line}")
                return
            at = self._at

    def _follow(
        self, at: int, start: int, depth: int, in_string: bool
    ) -> tuple[int, int, bool, bool]:
        """Scan to the end of the value or the piece. Return the offset, the depth, True if
        it is within a string, and True if it is the end of the value.
        """
        text = self._text
        if not (depth or in_string) and (start < 0 or text[at] not in '"{['):
            end = cast("re.Match[str]", _BARE.match(text, at)).end()
            if end == at == start:  # a stray character is skipped
                end += 1
            return end, 0, False, end < len(text)
        while True:
            if in_string:
                at = cast("re.Match[str]", _IN_STRING.match(text, at)).end()
                if at >= len(text) or text[at] == "\\":
                    return at, depth, True, False
                at, in_string = at + 1, False
            else:
                token = _STRUCTURE.search(text, at)
                if token is None:
                    return len(text), depth, False, False
                at = token.end()
                match token.group():
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
