"""HAR files: the provider calls in them, explained as those that the tap records.

http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlsplit

from tui_chat.errors import InputError
from tui_chat.tap.calls import RecordedReplyReader, failure_of, read_call
from tui_chat.tap.comparison import compare
from tui_chat.tap.conversations import Conversations
from tui_chat.tap.exchange import Held, RecordedExchange
from tui_chat.tap.http_messages import Headers, RequestHead
from tui_chat.tap.recorder import RecordedCall

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
        read = _exchange(entry, number + 1)
        call = read_call(read[0]) if read is not None else None
        if read is None or call is None:
            continue
        number += 1
        exchange, began = read
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
        failure = failure_of(exchange, reader.error)
        recorded = RecordedCall(
            placed, call, comparison, reader, reader.error, failure, None, "", ""
        )
        yield HarCall(number, began, recorded)


def _exchange(entry: Any, number: int) -> tuple[RecordedExchange, float] | None:
    """Return the exchange of an entry, and when it began; None if it has none."""
    request, response = _object(_object(entry).get("request")), _object(entry).get("response")
    url, method = request.get("url"), request.get("method")
    posted = _object(request.get("postData"))
    if not isinstance(url, str) or not isinstance(method, str) or not posted:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = RequestHead(b"", method.upper(), target or "/", _headers(request))
    upstream = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    send, wait, whole = _times(_object(entry))
    exchange = RecordedExchange(number, head, upstream, Held(), _MAX_BODY, 0.0)
    exchange.request.add(_content(posted))
    exchange.finish_request(send)
    answer = _object(response)
    content = _object(answer.get("content"))
    status = answer.get("status")
    if isinstance(status, int) and status > 0:
        headers = _headers(answer)
        if not any(name.lower() == "content-type" for name, _ in headers):
            headers += (("content-type", str(content.get("mimeType") or "")),)
        exchange.begin_response(status, headers, send + wait)
        if data := _content(content):
            exchange.add_response(data, send + wait)
        exchange.end("complete", whole)
    else:
        exchange.end("upstream cut", whole, "There was no response.")
    return exchange, _began(_object(entry).get("startedDateTime"))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _headers(message: dict[str, Any]) -> Headers:
    """Return the headers of a message, without the encoding, which is undone in the file."""
    found = message.get("headers")
    pairs = (_object(each) for each in cast("list[Any]", found if isinstance(found, list) else []))
    return tuple(
        (str(pair.get("name")), str(pair.get("value")))
        for pair in pairs
        if str(pair.get("name")).lower() != "content-encoding"
    )


def _content(content: dict[str, Any]) -> bytes:
    text = content.get("text")
    if not isinstance(text, str):
        return b""
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            return b""
    return text.encode("utf-8", "replace")


def _times(entry: dict[str, Any]) -> tuple[float, float, float]:
    """Return the seconds of sending, of waiting, and of all of it."""
    timings = _object(entry.get("timings"))

    def seconds(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return max(0.0, float(value) / 1000) if is_number else 0.0

    send, wait = seconds(timings.get("send")), seconds(timings.get("wait"))
    return send, wait, max(send + wait, seconds(entry.get("time")))


def _began(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0
