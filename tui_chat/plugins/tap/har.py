"""HAR files: the provider calls in them, explained as those that the tap records.

http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlsplit

from tui_chat.cli.captured import RecordingReader
from tui_chat.cli.output import write_compact, write_json, write_line
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.tap.call_output import call_json, call_line, heading
from tui_chat.plugins.tap.calls import RecordedReplyReader, read_call
from tui_chat.plugins.tap.comparison import compare
from tui_chat.plugins.tap.conversations import Conversations
from tui_chat.plugins.tap.exchange import Held, RecordedExchange
from tui_chat.plugins.tap.har_file import HarEntry, read_entry
from tui_chat.plugins.tap.http_messages import RequestHead
from tui_chat.plugins.tap.recorded_call import RecordedCall, calibrate_call

MOST_ENTRIES = 100_000
"""Maximum entries that are read."""
_MAX_BODY = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HarCall:
    """A provider call of a HAR file."""

    number: int
    """Among the calls, from 1."""
    began: float
    """Seconds since the epoch; 0 if the file does not say."""
    recorded: RecordedCall


def holds_har(text: str) -> bool:
    """Return True if a text looks like a HAR file."""
    start = text[:100_000].lstrip("\ufeff \t\r\n")
    return start.startswith("{") and '"log"' in start[:1000] and '"entries"' in text


def choose_call(text: str, number: int | None, *, as_json: bool) -> str | None:
    """Return the request of a call of a HAR file, or print what is asked for and return None.

    Raises InputError.
    """
    count = 0
    for call in har_calls(text):
        count += 1
        if number is None and as_json:
            write_compact(call_json(call.recorded, call.began, ()))
        elif number is None:
            if count == 1:
                write_line(f"call  {heading()}")
            write_line(f"{call.number:>4}  {call_line(call.recorded, call.began)}")
        elif call.number == number:
            if as_json:
                write_json(call_json(call.recorded, call.began, ()))
                return None
            if call.recorded.call.captured is None:
                raise InputError(f"Call {number}: {call.recorded.call.fault}")
            request = call.recorded.call.recorded
            lines = [f"{request.method} {request.url}"]
            lines += [f"{name}: {value}" for name, value in request.headers or ()]
            return "\n".join(lines) + "\n\n" + request.body.decode("utf-8", "replace")
    if not count:
        advice = "Save it with contents, from a program that calls a provider itself."
        raise InputError("The HAR file has no call of a provider.", advice=advice)
    if number is not None:
        raise InputError(f"There is no call {number}: the HAR file has {count}.")
    if not as_json:
        write_line("--call N opens one of them in the inspector.", err=True)
    return None


def har_calls(text: str) -> Iterator[HarCall]:
    """Yield the provider calls of a HAR file. Raises InputError if it is none."""
    try:
        entries = json.loads(text.lstrip("\ufeff"))["log"]["entries"]
    except (ValueError, RecursionError) as error:
        raise InputError(f"The HAR file is not JSON: {error}") from error
    except (KeyError, TypeError):
        entries = None
    if not isinstance(entries, list):
        raise InputError("This is not a HAR file: it has no list of entries.")
    conversations, ends = Conversations(), dict[int, float]()
    number = 0
    for entry in cast("list[Any]", entries)[:MOST_ENTRIES]:
        try:
            read = read_entry(entry)
            exchange = _exchange(read, number + 1) if read is not None else None
        except ValueError:  # a body that is not base64, or a URL that is none
            continue
        call = read_call(exchange) if exchange is not None else None
        if read is None or exchange is None or call is None:
            continue
        number += 1
        began = read.started or 0.0
        placed = conversations.place(call)
        idle = began - ends.get(placed.previous.exchange, began) if placed.previous else 0.0
        ends[exchange.number] = began + (exchange.ended or 0.0) - exchange.began
        comparison = compare(placed, None, max(0.0, idle))
        reader = RecordedReplyReader(call)
        pieces = exchange.response.chunks
        reader.feed(pieces, [exchange.first_byte or 0.0] * len(pieces))
        reader.close(exchange.ended or 0.0)
        if reader.reply.id:
            message = reader.reply.message(call.protocol)
            conversations.remember_response(placed, reader.reply.id, message)
        call, comparison = calibrate_call(call, comparison, reader.reply.usage.input)
        yield HarCall(number, began, RecordedCall(placed, call, comparison, reader))


def _exchange(entry: HarEntry, number: int) -> RecordedExchange:
    parts = urlsplit(entry.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = RequestHead(b"", entry.method, target or "/", entry.request_headers)
    upstream = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    exchange = RecordedExchange(number, head, upstream, Held(), _MAX_BODY, 0.0)
    exchange.request.add(entry.body)
    exchange.finish_request(entry.send)
    first = entry.send + entry.wait
    whole = max(first, entry.seconds or 0.0)
    if entry.status:
        exchange.begin_response(entry.status, entry.response_headers, first)
        if entry.reply:
            exchange.add_response(entry.reply, first)
        exchange.end("complete", whole)
    else:
        exchange.end("upstream cut", whole, "There was no response.")
    return exchange


RECORDINGS = RecordingReader(holds_har, choose_call)
