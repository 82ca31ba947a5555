"""HAR 1.2 files: the provider calls in them, explained as those that the tap records.

http://www.softwareishard.com/blog/har-12-spec/

1. A call is chosen by the path of its URL and the shape of its body;
   counts of tokens, model lists and everything else are passed over.
2. A request holds the whole conversation, so requests that begin alike become one conversation,
   and where they differ a branch. The reply follows its request.
3. Bodies are decoded in the file, whatever its headers say. Credentials are masked.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from urllib.parse import urlsplit

from tui_chat.interop.formats import FoundConversation, ListFormat
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string
from tui_chat.plugins.tap.calls import RecordedReplyReader, read_call
from tui_chat.plugins.tap.comparison import compare
from tui_chat.plugins.tap.conversations import Conversations, PlacedCall
from tui_chat.plugins.tap.credentials import Headers
from tui_chat.plugins.tap.exchange import RecordedExchange, Request
from tui_chat.plugins.tap.message_tree import MessageTree
from tui_chat.plugins.tap.recorded_call import RecordedCall, explain

FAILED = "A request got no reply that can be read; its messages were kept."
_MOST_ENTRIES = 100_000
"""Maximum entries that are read."""
_MAX_BODY = 128 * 1024 * 1024
_LONGEST_CALL = 10**12
"""Milliseconds from which the time of a call is an error."""
_ADVICE = "Save it with contents, from a program that calls a provider itself."


class CallReader:
    """Reads the calls in the entries of a file, one after the other."""

    def __init__(self) -> None:
        self._conversations = Conversations()
        self._count = 0

    def read(self, entry: object) -> RecordedCall | None:
        """Return the call of an entry; None if it is none. Raises ValueError."""
        exchange = _exchange(as_object(entry), self._count + 1)
        call = read_call(exchange) if exchange is not None else None
        if exchange is None or call is None:
            return None
        self._count += 1
        placed = self._conversations.place(call)
        reader = RecordedReplyReader(call)
        pieces = exchange.response.chunks
        reader.feed(pieces, exchange.arrivals)
        reader.close(exchange.ended or 0.0)
        recorded = explain(call, placed, compare(placed), reader)
        self._conversations.remember_response(placed, recorded.reply.id, recorded.message)
        return recorded


def _exchange(entry: JsonObject, number: int) -> RecordedExchange | None:
    """Return the exchange of an entry; None if its request has no body. Raises ValueError."""
    request, response = as_object(entry.get("request")), as_object(entry.get("response"))
    posted, content = as_object(request.get("postData")), as_object(response.get("content"))
    if not (body := _content(posted, "request")):
        return None
    parts = urlsplit(as_string(request.get("url")))
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    method, timings = as_string(request.get("method")).upper(), as_object(entry.get("timings"))
    began = parse_timestamp(entry.get("startedDateTime")) or 0.0
    sent = Request(method, target or "/", _headers(request), body)
    upstream = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    exchange = RecordedExchange(number, sent, upstream, _MAX_BODY, began)
    exchange.requested = began + _seconds(timings.get("send"))
    first = exchange.requested + _seconds(timings.get("wait"))
    ended = max(first, began + _seconds(entry.get("time")))
    status = response.get("status")
    if not isinstance(status, int) or status <= 0:
        exchange.end("upstream cut", ended, "There was no response.")
        return exchange
    headers = _headers(response)
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers += (("content-type", as_string(content.get("mimeType"))),)
    exchange.begin_response(status, headers, first)
    if reply := _content(content, "response"):
        exchange.add_response(reply, first)
    exchange.end("complete", ended)
    return exchange


def _content(content: JsonObject, what: str) -> bytes:
    text = as_string(content.get("text"))
    if as_string(content.get("encoding")) != "base64":
        return text.encode("utf-8", "replace")
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"has a {what} that is not base64") from error


def _headers(message: JsonObject) -> Headers:
    """Return headers without the content encoding, which is undone in the file."""
    pairs = (as_object(header) for header in as_array(message.get("headers")))
    headers = ((as_string(pair.get("name")), as_string(pair.get("value"))) for pair in pairs)
    return tuple((name, value) for name, value in headers if name.lower() != "content-encoding")


def _seconds(milliseconds: object) -> float:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return 0.0
    is_time = 0 <= milliseconds < _LONGEST_CALL  # also false for infinity and NaN
    return milliseconds / 1000 if is_time else 0.0


class _CallConversation:
    """A conversation as it is imported."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self.builder = builder
        self.head: str | None = None
        self.model = ""
        self._tree = MessageTree(lambda chain: builder.id_of(chain.hex()))

    def add(self, recorded: RecordedCall) -> None:
        """Add a call's messages and its reply."""
        placed, reply = recorded.placed, recorded.reply
        added = list(self._tree.add_system(placed.system)) if placed.number == 1 else []
        for message, parent in (*added, *self._tree.add_request(placed)):
            self.builder.add(message, parent)
        self.head = before = self._tree.end_of(placed)
        if reply.is_empty:
            self.builder.notes.append(FAILED)
            return
        exchange = recorded.exchange
        self.model = reply.model or recorded.call.model
        message = reply.message(recorded.call.protocol, timestamp=exchange.began or None)
        message = replace(message, id=self.builder.id_of(f"{before} {placed.number}"))
        self._tree.add_reply(message, before)
        self.head = self.builder.add(
            message,
            before,
            model=self.model,
            usage=reply.usage,
            seconds=recorded.seconds,
            finish=reply.finish.raw if reply.finish else "",
            status="complete" if reply.finish else "interrupted",
        )


def _read(entries: Iterable[tuple[str, object]], _: JsonObject) -> Iterator[FoundConversation]:
    conversations: dict[int, _CallConversation] = {}
    reader, is_empty = CallReader(), True
    for place, value in entries:
        try:
            call = reader.read(value)
        except ValueError as error:
            yield FoundConversation(place, fault=str(error))
            continue
        if call is None:
            continue
        is_empty = False
        if call.call.captured is None:
            yield FoundConversation(f"{place}.request.postData", fault=call.call.fault)
            continue
        number = call.placed.conversation.number
        if number not in conversations:
            conversations[number] = _CallConversation(_builder(call.placed))
        conversations[number].add(call)
    for talk in conversations.values():
        transcript = talk.builder.transcript(title="", head_id=talk.head, model=talk.model)
        if transcript.entries:
            yield FoundConversation("", transcript, notes=tuple(talk.builder.notes))
    if is_empty:
        fault = "has no call of a provider"
        yield FoundConversation("", fault=fault, advice=_ADVICE, unknown=True)


def _builder(placed: PlacedCall) -> TranscriptBuilder:
    """Return the builder of a conversation, whose id its beginning decides."""
    beginning = sha256("\0".join((*placed.conversation.lane, *placed.system)).encode())
    beginning.update(b"".join(placed.keys[:1]))
    return TranscriptBuilder("har", placed.conversation.lane[0], beginning.hexdigest())


FORMATS = (ListFormat(("log", "entries"), lambda _: True, _read),)
