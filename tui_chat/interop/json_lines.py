"""JSON lines, one record at a time: a damaged line costs that line only.

1. A line is parsed on its own, so that one that was cut does not swallow the next ones.
2. A line larger than `LARGEST_LINE` is skipped without being kept in memory, and reading ends after
   `LARGEST_FILE` bytes, since all records of a file are one conversation.
3. What cannot be read is a fault with the number of its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TypeAlias, cast

from tui_chat.interop.transcript_builder import FoundConversation
from tui_chat.protocols.common.lenient_json import JsonObject
from tui_chat.protocols.common.request_fields import describe_json_error, type_name

LARGEST_LINE = 64 * 2**20
"""Maximum bytes of a line; a record may hold pictures."""
LARGEST_FILE = 256 * 2**20
"""Maximum bytes of a conversation."""
_MOST_FAULTS = 200
"""Maximum number of faults of a file that are kept; further ones are counted."""
_MOST_VALUES = 2_000_000
"""Maximum number of objects and arrays in a line, about."""

_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # Python programs write NaN

Record: TypeAlias = "tuple[int, JsonObject]"
"""The number of a line, and its object."""


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
        value = _DECODER.decode(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadLine(f"is not UTF-8 text (byte {error.start} of the line)") from error
    except json.JSONDecodeError as error:
        place = f"at character {error.pos + 1} of the line"
        if error.pos >= len(error.doc) or error.msg.startswith("Unterminated string"):
            raise BadLine("is not JSON: the line is cut") from error
        raise BadLine(f"is not JSON: {error.msg.removesuffix(' at')} {place}") from error
    except (ValueError, RecursionError) as error:
        raise BadLine(f"is not JSON: {describe_json_error(error)}") from error
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
