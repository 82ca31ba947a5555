"""JSON, parsed value by value, and JSON lines.

An export of ten years of conversations is one array of hundreds of megabytes. Its text is in
memory, and of its elements one at a time. Reading ends at the first one that is not JSON, and what
precedes it was read. NaN, infinite numbers and numbers of thousands of digits are refused.
`docs/dev/decisions.md` says why this is not `ijson`.

Of JSON lines, a damaged line costs that line only. One larger than `LARGEST_LINE` is skipped
without being kept in memory, and reading ends after `LARGEST_FILE` bytes, since all records of a
file are one conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
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
    pieces: Iterable[bytes], take: Callable[[JsonObject], str], place: str = ""
) -> Iterator[FoundConversation]:
    """Give all records of a text to `take`, which returns a fault or nothing; yield the faults.
    `place` is the file, if it is not the main one.
    """
    size, front = 0, f"{place}: " if place else ""
    for number, line in enumerate(split_lines(pieces, LARGEST_LINE), 1):
        size += len(line or b"")
        if size > LARGEST_FILE:
            fault = f"the conversation is larger than {LARGEST_FILE // 2**20} MiB; "
            fault += "what precedes this line was read"
        elif line is None:
            fault = f"is larger than {LARGEST_LINE // 2**20} MiB"
        else:
            try:
                record = parse_line(line)
                fault = take(record) if record is not None else ""
            except BadLine as error:
                fault = str(error)
        if fault:
            yield FoundConversation(f"{front}line {number}", fault=fault)
        if size > LARGEST_FILE:
            return


class BadText(ValueError):
    """Nothing more can be parsed from here on."""


class JsonText:
    """A text of JSON: an array, whose elements are parsed one by one, or one value or more."""

    def __init__(self, pieces: Iterable[bytes], *, largest: int = LARGEST) -> None:
        """Raises BadText if it is too large or not UTF-8."""
        data = bytearray()
        for piece in pieces:
            data += piece
            if len(data) > largest:
                raise BadText(f"is larger than {largest // 2**20:,} MiB")
        try:
            self._text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadText(f"is not UTF-8 text (near byte {error.start})") from error
        self._at = 0

    @property
    def line(self) -> int:
        """The number of the current line."""
        return self._text.count("\n", 0, self._at) + 1

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        self._at = cast("re.Match[str]", _SPACE.match(self._text, self._at)).end()
        return self._text[self._at : self._at + 1]

    def value(self) -> object:
        """Return the next complete value. Raises BadText."""
        if not self.peek():
            raise BadText("ends before it is complete")
        try:
            value, self._at = STRICT_DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            if error.pos >= len(self._text) or "Unterminated" in error.msg:
                raise BadText(f"ends within the value that begins in line {self.line}") from None
            fault = json_fault(self._text, error)
            raise BadText(f"{fault.sentence} in line {fault.line}") from None
        except (ValueError, RecursionError) as error:
            fault = json_fault(self._text[self._at :], error)
            raise BadText(f"{fault.sentence} in line {self.line + fault.line - 1}") from None
        return value

    def elements(self) -> Iterator[object]:
        """Yield the elements of an array. Raises BadText."""
        self._at += 1
        if self.peek() != "]":
            yield self.value()
        while (char := self.peek()) == ",":
            self._at += 1
            yield self.value()
        if char != "]":
            actual = f"“{char}”" if char else "the end"
            raise BadText(f"is not JSON: expected “,” or “]” in line {self.line}, not {actual}")
        self._at += 1


_SPACE = re.compile(r"[ \t\r\n]*")
