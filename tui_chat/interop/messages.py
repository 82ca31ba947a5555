"""Unified messages as JSON or JSON lines, in the form of OpenAI; see `message_json`.

Messages without an `id` are numbered from 1, and one with `muted` is not sent. Exports contain the
active branch, without what only our own JSON has (other branches, reasoning, sources, usage).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import cast

from tui_chat.errors import InputError
from tui_chat.interop.message_json import message_json, read_message
from tui_chat.interop.readable_parts import active_branch
from tui_chat.models.json_text import json_fault
from tui_chat.models.message import Message, Muted
from tui_chat.models.sanitize import sanitize
from tui_chat.models.transcript import SessionTranscript


def message_lines(transcript: SessionTranscript, _: tzinfo = UTC) -> Iterator[str]:
    """Yield the active branch, one message per line."""
    for entry in active_branch(transcript):
        fields = message_json(entry.message)
        if entry.message.muted.whole:
            fields["muted"] = True
        line = json.dumps(fields, ensure_ascii=False, allow_nan=False)
        # Also U+2028 and U+2029, which some readers treat as line ends.
        yield sanitize(line, "json") + "\n"


def read_history(text: str, source: str) -> tuple[Message, ...]:
    """Read messages from JSON or JSONL text; `source` is what errors call it.

    Raises InputError naming the source, the place (a JSON path or a line) and the fault.
    """
    return tuple(read_line(value, place, index) for index, (value, place) in _values(text, source))


def _values(text: str, source: str) -> Iterator[tuple[int, tuple[object, str]]]:
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith("["):
        whole = _parsed(text.lstrip("\ufeff"), source)
        values = cast("list[object]", whole)
        yield from enumerate((value, f"{source}: $[{i}]") for i, value in enumerate(values))
        return
    # Not splitlines: U+2028 is legal inside a JSON string.
    lines = ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip("\ufeff \t\r"))
    for index, (number, line) in enumerate(lines):
        place = f"{source}: line {number}"
        yield index, (_parsed(line.lstrip("\ufeff"), place), place)


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} {json_fault(text, error).sentence}") from error


def read_line(value: object, place: str, index: int) -> Message:
    """Parse a message that may be muted; without an id it gets its number, `index` + 1. Raises
    InputError.
    """
    message = read_message(value, place, index)
    muted = cast("dict[str, object]", value).get("muted")
    if isinstance(muted, dict):  # of an older export
        muted = cast("dict[str, object]", muted).get("whole")
    return replace(message, muted=Muted(whole=True)) if muted is True else message
