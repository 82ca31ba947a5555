"""HAR 1.2: the conversations of the provider calls that a browser or proxy recorded.

http://www.softwareishard.com/blog/har-12-spec/

1. A call is chosen by the path of its URL and the shape of its body;
   counts of tokens, model lists and everything else are passed over.
2. A request holds the whole conversation, so requests that begin alike become one conversation,
   and where they differ a branch. The reply follows its request.
3. Bodies are decoded in the file, whatever its headers say. Neither headers nor URLs are kept, so
   no key is.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from hashlib import sha256
from urllib.parse import urlsplit

from tui_chat.errors import InputError
from tui_chat.interop.formats import FoundConversation, ListFormat
from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import TranscriptBuilder
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string, to_json
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.reply import Reply
from tui_chat.protocols.registry import protocol_of, protocol_of_path
from tui_chat.providers.response_recorder import read_recorded

FAILED = "A request got no reply that can be read; its messages were kept."

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class HarEntry:
    """A request and its response. Bodies are decoded, as they are in the file."""

    method: str
    url: str
    request_headers: tuple[tuple[str, str], ...]
    """Without the content encoding, which is undone in the file; keys are not masked."""
    body: bytes
    status: int
    """0 if there was no response."""
    response_headers: tuple[tuple[str, str], ...]
    reply: bytes
    """The body of the response; empty if the file does not have it."""
    started: float | None
    """Seconds since the epoch."""
    send: float
    """Seconds to send the request."""
    wait: float
    """Seconds from the end of the request to the first byte of the response."""
    seconds: float | None
    """Seconds from the request to the end of the response."""

    @property
    def path(self) -> str:
        """The path of the URL; empty if that is none."""
        try:
            return urlsplit(self.url).path.rstrip("/")
        except ValueError:
            return ""


def read_entry(value: object) -> HarEntry | None:
    """Return an entry of a HAR file; None if its request has no body. Raises ValueError."""
    entry = as_object(value)
    request, response = as_object(entry.get("request")), as_object(entry.get("response"))
    posted, content = as_object(request.get("postData")), as_object(response.get("content"))
    body = _content(posted, "request")
    if not body:
        return None
    headers = _headers(response)
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers += (("content-type", as_string(content.get("mimeType"))),)
    status, timings = response.get("status"), as_object(entry.get("timings"))
    return HarEntry(
        as_string(request.get("method")).upper(),
        as_string(request.get("url")),
        _headers(request),
        body,
        status if isinstance(status, int) and status > 0 else 0,
        headers,
        _content(content, "response"),
        parse_timestamp(entry.get("startedDateTime")),
        _seconds(timings.get("send")) or 0.0,
        _seconds(timings.get("wait")) or 0.0,
        _seconds(entry.get("time")),
    )


def _content(content: JsonObject, what: str) -> bytes:
    text = as_string(content.get("text"))
    if as_string(content.get("encoding")) != "base64":
        return text.encode("utf-8", "replace")
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"has a {what} that is not base64") from error


def _headers(message: JsonObject) -> tuple[tuple[str, str], ...]:
    pairs = (as_object(header) for header in as_array(message.get("headers")))
    headers = ((as_string(pair.get("name")), as_string(pair.get("value"))) for pair in pairs)
    return tuple((name, value) for name, value in headers if name.lower() != "content-encoding")


def _seconds(milliseconds: object) -> float | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    is_time = 0 <= milliseconds < _LONGEST_CALL  # also false for infinity and NaN
    return milliseconds / 1000 if is_time else None


_LONGEST_CALL = 10**12
"""Milliseconds from which the time of a call is an error."""


@dataclass(frozen=True, slots=True)
class _ModelCall:
    """A call of a provider."""

    protocol: Protocol
    entry: HarEntry


@dataclass(slots=True)
class _CallConversation:
    """Requests that begin with the same messages."""

    tree: TranscriptBuilder
    protocol: Protocol
    head: str | None = None
    model: str = ""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """The message at the end of each path of digests."""

    def add(self, message: Message, path: str, before: str | None, **facts: object) -> str:
        """Add a message unless it is known at this place; return its id."""
        message_id = self.ids.get(path)
        if message_id is not None:
            return message_id
        message = replace(message, id=self.tree.id_of(path))
        self.ids[path] = self.tree.add(message, before, **facts)  # type: ignore[arg-type]
        return message.id


def _read(entries: Iterable[tuple[str, object]], _: JsonObject) -> Iterator[FoundConversation]:
    conversations: dict[str, _CallConversation] = {}
    exchanges = 0
    for place, value in entries:
        try:
            if isinstance(value, ValueError):
                raise value
            exchange = _exchange(value)
        except ValueError as error:
            yield FoundConversation(place, fault=str(error))
            continue
        if exchange is not None:
            exchanges += 1
            try:
                _add(conversations, exchange)
            except InputError as error:
                yield FoundConversation(f"{place}.request.postData", fault=str(error))
    yield from _results(conversations)
    if not exchanges:
        advice = "Save it with contents, from a program that calls a provider itself."
        yield FoundConversation("", fault="has no call of a provider", advice=advice, unknown=True)


def _results(conversations: dict[str, _CallConversation]) -> Iterator[FoundConversation]:
    for talk in conversations.values():
        transcript = talk.tree.transcript(title="", head_id=talk.head, model=talk.model)
        if transcript.entries:
            yield FoundConversation("", transcript, notes=tuple(talk.tree.notes))


def _exchange(value: object) -> _ModelCall | None:
    """Return the call of an entry; None if it is not a call of a provider. Raises ValueError."""
    method = as_string(as_object(as_object(value).get("request")).get("method")).upper()
    entry = read_entry(value) if method == "POST" else None
    if entry is None or not entry.body.lstrip().startswith(b"{"):
        return None
    protocol = protocol_of_path(entry.path)
    return None if protocol is None else _ModelCall(protocol, entry)


def _add(conversations: dict[str, _CallConversation], exchange: _ModelCall) -> None:
    """Add the messages of an exchange to its conversation. Raises InputError."""
    definition = protocol_of(exchange.protocol)
    envelope = definition.decode(exchange.entry.body)
    messages = [_message(turn) for turn in envelope.turns]
    if not messages:
        return
    first = next((n for n, item in enumerate(messages, 1) if item.role != "system"), len(messages))
    root = _digest("\n".join(_digest("", item) for item in messages[:first]))
    talk = conversations.get(root)
    if talk is None:
        tree = TranscriptBuilder("har", exchange.protocol, root)
        talk = conversations[root] = _CallConversation(tree, exchange.protocol)
    before, path = None, ""
    for message in messages:
        path = _digest(path, message)
        before = talk.add(message, path, before)
    talk.head = before
    model = envelope.parameters.model.value
    reply = _reply(exchange)
    if reply is None or reply.is_empty:
        talk.tree.notes.append(FAILED)
        return
    talk.model = reply.model or model
    message = reply.message(exchange.protocol, timestamp=exchange.entry.started)
    talk.head = talk.add(
        message,
        _digest(path, message),
        before,
        model=talk.model,
        usage=reply.usage,
        seconds=exchange.entry.seconds,
        finish=reply.finish.raw if reply.finish else "",
        status="complete" if reply.finish else "interrupted",
    )


def _message(turn: Turn) -> Message:
    return Message(
        turn.role,
        turn.text.plain,
        tool_calls=turn.tool_calls,
        tool_call_id=turn.tool_call_id,
        name=turn.name,
        semantics=turn.semantics,
        parts=turn.parts,
    )


def _digest(path: str, message: Message | None = None) -> str:
    """Return a hash of a path and a message, of what replies and later requests both have."""
    parts = [path]
    if message is not None:
        parts += [message.role, message.content.strip(), message.tool_call_id]
        parts += [f"{call.name} {_same_form(call)}" for call in message.tool_calls]
        parts += [part.data or part.url or part.file_id or part.text for part in message.parts]
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _same_form(call: ToolCall) -> str:
    try:
        return to_json(json.loads(call.arguments))
    except (ValueError, RecursionError):
        return call.arguments


def _reply(exchange: _ModelCall) -> Reply | None:
    """Return the reply as far as it can be read; None if there is none."""
    body = exchange.entry.reply.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body or exchange.entry.status >= 400:
        return None
    return read_recorded(body, exchange.protocol)[0]


FORMATS = (ListFormat(("log", "entries"), lambda _: True, _read),)
