"""JSON, parsed value by value, and JSON lines.

An export of ten years of conversations is one array of hundreds of megabytes. Its text is in
memory, and of its values one at a time: elements of an array, members of an object.

1. A value that is not JSON, but has matching brackets, is skipped, and reading continues
   (`BadValue`). If the text ends first, reading ends (`BadText`).
2. NaN, infinite numbers and numbers of thousands of digits are refused.

`docs/dev/decisions.md` says why this is not `ijson`.

Of JSON lines, a damaged line costs that line only. One larger than `LARGEST_LINE` is skipped
without being kept in memory, and reading ends after `LARGEST_FILE` bytes, since all records of a
file are one conversation.
"""

from __future__ import annotations

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

LARGEST = 2**30
"""Maximum bytes of a text that is read as a whole."""
LARGEST_LINE = 64 * 2**20
"""Maximum bytes of a line; a record may hold pictures."""
LARGEST_FILE = 256 * 2**20
"""Maximum bytes of a conversation."""
_MOST_FAULTS = 200
"""Maximum number of faults of a file that are kept; further ones are counted."""
_MOST_BAD = 1_000
"""Maximum number of values that are no JSON."""
_MOST_VALUES = 2_000_000
"""Maximum number of objects and arrays in a line, about."""


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


class JsonText:
    """A text of JSON values, read in order."""

    def __init__(self, pieces: Iterable[bytes], *, largest: int = LARGEST) -> None:
        """Raises BadText if it is too large."""
        data = bytearray()
        for piece in pieces:
            data += piece
            if len(data) > largest:
                raise BadText(f"is larger than {largest // 2**20:,} MiB")
        self._broken = ""
        """Why the text ends here, if it is no UTF-8 from there on."""
        try:
            self._text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self._text = data[: error.start].decode("utf-8-sig")
            self._broken = f"is not UTF-8 text (near byte {error.start})"
        self._at = self._counted = self._bad = 0
        self._line = 1

    @property
    def line(self) -> int:
        """The number of the current line."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end. Raises BadText."""
        self._at = _end_of(_SPACE, self._text, self._at)
        if self._broken and self._at == len(self._text):
            raise BadText(self._broken)
        return self._text[self._at : self._at + 1]

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
            value, self._at = STRICT_DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            raise self._bad_value() from None
        return value

    def value_or_fault(self) -> object:
        """Return the next value, or the BadValue in its place. Raises BadText."""
        try:
            return self.value()
        except BadValue as error:
            return error

    def elements(self, place: str) -> Iterator[tuple[str, object]]:
        """Yield the elements of an array with their places; a BadValue for one that is no JSON."""
        for index in self._each("[", "]"):
            yield f"{place}[{index}]", self.value_or_fault()

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value."""
        for _ in self._each("{", "}"):
            key = self.value_or_fault() if self.peek() == '"' else None
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

    def _bad_value(self) -> BadValue | BadText:
        """Return what is wrong with the next value, and skip it if it ends."""
        line, begin = self.line, self._at
        self._bad += 1
        if self._bad > _MOST_BAD:
            return BadText(f"has too many values that are no JSON, up to line {line}")
        end = self._end_of_value()
        if end is None:
            return BadText(self._broken or f"ends within the value that begins in line {line}")
        self._at = end
        raw = self._text[begin:end]
        try:
            STRICT_DECODER.decode(raw)
        except (ValueError, RecursionError) as error:
            fault = json_fault(raw, error)
            # The value may start anywhere in its first line, whose columns are not the file's.
            column = f", column {fault.column}" if fault.line > 1 else ""
            return BadValue(f"{fault.sentence} in line {line + fault.line - 1}{column}")
        return BadValue(f"is not JSON in line {line}")

    def _end_of_value(self) -> int | None:
        """Return where the next value ends, by its quotes and brackets; None if it does not."""
        at, depth = self._at, 0
        if self._text[at] not in '"{[':
            return max(_end_of(_BARE, self._text, at), at + 1)  # a stray character is skipped
        while (token := _STRUCTURE.search(self._text, at)) is not None:
            at = token.end()
            if token[0] == '"':
                at = _end_of(_IN_STRING, self._text, at) + 1
                if at > len(self._text):
                    return None
            else:
                depth += 1 if token[0] in "{[" else -1
            if depth <= 0:
                return at
        return None


_SPACE = re.compile(r"[ \t\r\n]*")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_BARE = re.compile(r"[^\s,\]}]*")


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    return cast("re.Match[str]", pattern.match(text, at)).end()
