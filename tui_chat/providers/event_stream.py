"""The events of a stream, by what it contains: its content type may be wrong.

1. Server-sent events are split according to the standard. A last event counts without its blank
   line: real servers forget it, and it may hold text and the finish reason.
2. A JSON value that begins a line is an event without a name: one of a stream of JSON lines, or an
   error that a gateway wrote between events. It may be written over several lines; of a list that
   is, each entry is an event.
3. `error: TEXT` is an event called `error`, as llama.cpp writes it.
4. Other lines continue the data before them, in which a server left a line break. If there is
   none, they come last, as one event: the words of a proxy that had no reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

NamedData: TypeAlias = tuple[str, str]
"""The name of an event, empty if it has none, and its data."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_FIELD = re.compile(r"(?:id|retry)(?::|$)|(?:data|event)$")
_EVENTS = re.compile(rb"(?:data|event|id|retry|error)?:", re.IGNORECASE)
_SCANNED = 1_000_000
"""Characters of a line whose brackets are counted; of a longer one the last one decides."""
_FIRST_LINE = 65_536
"""Bytes of a first line whose end is waited for. A longer one is read with the whole body."""
_STRAY = 1_000
"""Characters that are kept of lines that are no part of an event."""


class EventSplitter:
    """Splits the text of one stream, which may come in any pieces. Its cost is linear."""

    def __init__(self) -> None:
        self._line: list[str] = []
        """The pieces of the line that has begun."""
        self._skips_feed = False
        """True after a carriage return, whose line feed may follow."""
        self._began = False
        self._name = ""
        self._data: list[str] = []
        self._is_open: bool | None = None
        """True if the first data is JSON without its end; None if nobody asked yet."""
        self._json: list[str] = []
        """The lines of a JSON value that has no end yet."""
        self._depth = 0
        """Its open brackets."""
        self._stray = ""

    def feed(self, text: str) -> Iterator[NamedData]:
        """Yield the events that end in this piece of text."""
        if text and not self._began:
            self._began = True
            text = text.removeprefix("\ufeff")
        if self._skips_feed and text:
            text = text.removeprefix("\n")
            self._skips_feed = False
        self._skips_feed = text.endswith("\r") or (self._skips_feed and not text)
        first, *rest = _LINE_END.split(text)
        self._line.append(first)
        for start in rest:
            line = "".join(self._line)
            self._line = [start]
            yield from self._read(line)

    def close(self) -> Iterator[NamedData]:
        """Yield what the end of the stream completes."""
        yield from self._read("".join(self._line))
        yield from self._end_json()
        yield from self._end_event()
        if self._stray:
            yield "", self._stray

    def _read(self, line: str) -> Iterator[NamedData]:
        if self._json and not _EVENTS.match(line[:8].encode()):
            yield from self._add_json(line)
            return
        yield from self._end_json()
        if not line:
            yield from self._end_event()
        elif line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        elif line.startswith(":"):
            pass
        elif line.startswith("event:"):
            self._name = line[6:].removeprefix(" ")
        elif line[:6].lower() == "error:":
            yield from self._end_event()
            yield "error", line[6:].strip()
        elif _FIELD.match(line):
            pass
        elif self._has_open_data():
            self._data.append(line)
        elif (start := line.lstrip("[,] \t" if _change(line) else ", \t"))[:1] in ("{", "["):
            if self._data:
                yield from self._end_event()
            yield from self._add_json(start)
        elif len(self._stray) < _STRAY and line.strip("[,] \t"):
            self._stray += f"{line[:_STRAY]}\n"

    def _has_open_data(self) -> bool:
        if self._is_open is None and self._data:
            first = self._data[0]
            self._is_open = first.lstrip()[:1] in ("{", "[") and _change(first) != 0
        return bool(self._is_open)

    def _add_json(self, line: str) -> Iterator[NamedData]:
        change = _change(line)
        if line.strip():
            self._json.append(line)
        if change is not None:
            self._depth += change
        if change is None or self._depth <= 0:
            yield from self._end_json()

    def _end_json(self) -> Iterator[NamedData]:
        if self._json:
            text = "\n".join(self._json).strip()
            if text.startswith("{"):
                text = text.rstrip(",] \t")
            name, self._name, self._json, self._depth = self._name, "", [], 0
            yield name, text

    def _end_event(self) -> Iterator[NamedData]:
        name, data, self._name, self._data = self._name, self._data, "", []
        self._is_open = None
        if data:
            yield name, "\n".join(data)


def _change(line: str) -> int | None:
    """Return how many more brackets a line opens than it closes; None if it ends in a string."""
    if len(line) > _SCANNED:
        return 0 if line.rstrip()[-1:] in ("}", "]") else 1
    bare = _STRING.sub("", line)
    if '"' in bare:
        return None
    return bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")


def begins_events(start: bytes) -> bool | None:
    """Return True if a body that begins so is a stream, False if it is one value or no JSON, None
    if more of it must be known.
    """
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if len(start) < 7 and b"\n" not in start:
        return None
    if start[:1] != b"{":
        return _EVENTS.match(start) is not None
    line, end, _ = start.partition(b"\n")
    if not end and len(line) < _FIRST_LINE:
        return None
    return bool(end) and _change(line.decode("utf-8", "replace")) == 0
