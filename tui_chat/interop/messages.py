"""Unified messages as JSON or JSON lines, in the form of OpenAI; see `message_json`.

Messages without an `id` are numbered from 1. Exports contain the active branch, without what only
our own JSON has (other branches, reasoning, usage). `references` are what a reply rests on, and
`muted` names parts of the content by their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.interop.message_json import is_written_as_text, message_json, read_message
from tui_chat.interop.own_json import read_references
from tui_chat.interop.readable_parts import active_branch
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.about import About, Summary
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.boundary import InvalidValue, plain, read
from tui_chat.models.citations import NO_REFERENCES
from tui_chat.models.json_text import json_fault
from tui_chat.models.message import Message, Muted, place_citations
from tui_chat.models.sanitize import sanitize
from tui_chat.models.transcript import SessionTranscript


@dataclass(frozen=True, slots=True)
class MutedParts:
    """What of a message is muted, as a file says it."""

    whole: bool = False
    parts: tuple[int, ...] = ()
    """The numbers of pictures, sounds and files."""


def message_lines(transcript: SessionTranscript, _: tzinfo = UTC) -> Iterator[str]:
    """Yield the active branch, one message per line."""
    for entry in active_branch(transcript):
        line = json.dumps(_message_json(entry.message), ensure_ascii=False, allow_nan=False)
        # Also U+2028 and U+2029, which some readers treat as line ends.
        yield sanitize(line, "json") + "\n"


def _message_json(message: Message) -> dict[str, Any]:
    fields, about = message_json(message), message.about
    if message.muted:
        fields["muted"] = plain(_muted_parts(message))
    if about.references != NO_REFERENCES:
        citations = [plain(citation) for citation in message.citations]
        fields["references"] = plain(about.references) | (
            {"citations": citations} if citations else {}
        )
    if about.summary is not None:
        fields["summary"] = plain(about.summary)
    return fields


def _muted_parts(message: Message) -> MutedParts:
    # Documents are written as text, so the parts after them have other numbers.
    places = [
        index
        for index, block in enumerate(message.blocks)
        if isinstance(block, MediaBlock) and not is_written_as_text(block)
    ]
    parts = tuple(n for n, index in enumerate(places) if index in message.muted.blocks)
    return MutedParts(message.muted.whole, parts)


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
    """Parse a message with what our exports add to it; without an id it gets its number, `index` +
    1. Raises InputError.
    """
    message = read_message(value, place, index)
    fields = cast("dict[str, Any]", value)
    summary = _summary(fields.get("summary"), place)
    if summary is not None:
        message = replace(message, about=About(summary=summary))
    if fields.get("references") is not None:
        references, citations = read_references(fields["references"], f"{place}.references")
        blocks = list(message.blocks)
        place_citations(blocks, citations)
        about = replace(message.about, references=references)
        message = replace(message, blocks=tuple(blocks), about=about)
    muted = _muted(fields.get("muted"), message, f"{place}.muted")
    return replace(message, muted=muted) if muted else message


def _summary(value: object, place: str) -> Summary | None:
    if value is None:
        return None
    summary = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    kept, messages = summary.get("kept"), summary.get("messages")
    for number in (kept, messages):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            fault = "must be an object with the numbers `kept` and `messages`"
            raise InputError(f"{place}.summary: {fault}")
    return Summary(cast("int", kept), cast("int", messages), summary.get("enabled") is not False)


def _muted(value: object, message: Message, place: str) -> Muted:
    """Return what is muted: true is the whole message."""
    if value is None or isinstance(value, bool):
        return Muted(whole=value is True)
    if isinstance(value, dict):  # older exports say so of reasoning, which they do not have
        value = {k: v for k, v in cast("dict[str, Any]", value).items() if k != "reasoning"}
    try:
        muted = read(MutedParts, value)
    except InvalidValue as error:
        fault = error.faults[0]
        path = "".join(f".{name}" for name in fault.path)
        raise InputError(f"{place}{path} {fault.sentence}") from error
    media = [i for i, block in enumerate(message.blocks) if isinstance(block, MediaBlock)]
    return Muted(muted.whole, tuple(media[n] for n in muted.parts if 0 <= n < len(media)))
