"""Model calls: an exchange read as a request and as a reply.

1. `read_call` reads a request when all of it has passed. It parses the body and counts tokens, so
   it runs in a thread.
2. `ReplyReader` reads the response while it passes, in whatever pieces it comes.
3. Everything here has the credentials masked: it may be shown and stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, cast

from tui_chat.analysis.captured_request import CapturedRequest, read_captured, with_edits
from tui_chat.compose import Composed
from tui_chat.errors import InputError, ProviderError, ReplyCut
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.content_encoding import ContentDecoder, EncodingFault, decode_body
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.payload import JsonValue, Payload, render, tree_of
from tui_chat.models.reply import Reply, Rope, StreamEvent, advance
from tui_chat.models.session import (
    ARRIVAL_TICK,
    MAX_RESPONSE_BYTES,
    RawResponse,
    RecordedRequest,
)
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.plugins.tap.credentials import Credentials
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.programs import NO_PROGRAM, Program, program_of
from tui_chat.plugins.tap.upstreams import model_in_path, protocol_of_call
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.registry import protocol_of, protocol_of_path
from tui_chat.providers.response_recorder import read_recorded, recorded_events

MAX_DECODED = 128 * 1024 * 1024
"""Maximum bytes of a body after its content encoding is undone."""
_BODY_ORIGIN = Origin(OriginKind.SETTING, "body", "request body")
_STREAM_TYPES = ("text/event-stream", "application/x-ndjson", "application/jsonl")


@dataclass(frozen=True, slots=True)
class Call:
    """The request of a model call."""

    exchange: RecordedExchange
    protocol: Protocol
    body: bytes
    """The body as it is kept: its content encoding undone, credentials masked. Empty if it was
    larger than the limit."""
    captured: CapturedRequest | None
    """None if the body cannot be read."""
    composed: Composed | None
    """The same request with the origin of each character; None if it cannot be read."""
    exact: Payload | None
    """The body laid out as it was sent."""
    fault: str = ""
    """The reason why the body cannot be read."""
    is_masked: bool = False
    """True if the body had credentials, which are masked in `body`."""
    program: Program = NO_PROGRAM
    """The program that sent it."""
    came: Call | None = None
    """The request as it came, if the user edited it; then this one was sent in its place."""

    @property
    def as_it_came(self) -> Call:
        """The request as its program sent it, which tells its conversation."""
        return self.came or self

    @property
    def recorded(self) -> RecordedRequest:
        """The request as it was sent."""
        exchange = self.exchange
        headers, came = exchange.headers, ""
        if self.came is not None and exchange.hold is not None:
            headers = exchange.hold.sent_headers
            came = self.came.body.decode("utf-8", "replace")
        return RecordedRequest(
            exchange.method, exchange.url, headers, self.body, self.is_masked, came=came
        )

    @property
    def model(self) -> str:
        """The model that was asked; empty if unknown."""
        return self.composed.model if self.composed else model_in_path(self.exchange.target)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the request; none if it cannot be read."""
        return self.composed.envelope.turns if self.composed is not None else ()


def read_call(exchange: RecordedExchange, command: Sequence[str] = ()) -> Call | None:
    """Return the model call of an exchange whose request is whole; None for any other request.

    `command` is the one that the tap was started with. Of an edited request it is the call that
    was sent.
    """
    if exchange.method != "POST":
        return None
    call = _received_call(exchange)
    if call is None:
        return None
    instructions = next((str(turn.text) for turn in call.turns if turn.role == "system"), "")
    program = program_of(exchange.headers, command, instructions)
    call = replace(call, program=program)
    sent = exchange.hold.sent if exchange.hold is not None else None
    return call if sent is None else edited_call(call, sent)


def _received_call(exchange: RecordedExchange) -> Call | None:
    path_protocol = protocol_of_path(exchange.path)
    if not exchange.request.is_whole:
        fault = f"The body of {exchange.request.size:,} bytes is larger than the limit."
        return _unread(exchange, path_protocol, b"", fault)
    try:
        body = decode_body(exchange.request.data, exchange.encoding, MAX_DECODED)
    except EncodingFault as error:
        return _unread(exchange, path_protocol, b"", f"The body cannot be read: {error}.")
    return _read_call(exchange, body)


def _read_call(
    exchange: RecordedExchange, body: bytes, wanted: Protocol | None = None
) -> Call | None:
    parsed = json_object(body)
    exchange.credentials.add_body(parsed)
    masked = exchange.credentials.mask_bytes(body)
    if is_masked := masked != body:
        body, parsed = masked, json_object(masked)
    protocol = protocol_of_call(exchange.method, exchange.target, parsed or {}, wanted)
    if protocol is None:
        return None
    try:
        captured = read_captured(body.decode("utf-8-sig"), protocol)
        exact = render(tree_of(cast("JsonValue", parsed), _BODY_ORIGIN))
        endpoint = Endpoint(f"tap {exchange.upstream}", protocol, exchange.upstream)
        composed = captured.composed(endpoint, model_in_path(exchange.target))
    except (UnicodeDecodeError, ValueError, RecursionError, InputError) as error:
        fault = f"The body cannot be read: {error}"
        return Call(exchange, protocol, body, None, None, None, fault, is_masked)
    return Call(exchange, protocol, body, captured, composed, exact, "", is_masked)


def names_fit(call: Call, pattern: str) -> bool:
    """Return True if a pattern such as `claude-*` fits protocol, model, path or program of a call,
    whatever the case of its letters.
    """
    names = (call.protocol.value, call.model, call.exchange.path, call.program.name)
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for name in names)


def edited_call(came: Call, body: bytes) -> Call:
    """Return the call that was sent in place of another one, with this body."""
    call = _read_call(came.exchange, body, came.protocol)
    if call is None or call.composed is None or came.composed is None:
        fault = "The edited request cannot be read."
        return call or replace(came, captured=None, composed=None, exact=None, fault=fault)
    composed = with_edits(came.composed, call.composed)
    return replace(call, composed=composed, program=came.program, came=came)


def _unread(
    exchange: RecordedExchange, protocol: Protocol | None, body: bytes, fault: str
) -> Call | None:
    if protocol is None:
        return None
    return Call(exchange, protocol, body, None, None, None, fault)


def json_object(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a body; None if it is none."""
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class RecordedReplyReader:
    """Reads the reply of a call while it arrives."""

    def __init__(self, call: Call) -> None:
        exchange = call.exchange
        self._credentials: Credentials = exchange.credentials
        self._protocol = call.protocol
        self._parser = protocol_of(call.protocol).parser()
        self._status = exchange.status
        media = exchange.response_header("content-type").partition(";")[0].strip().lower()
        self.media = media
        self._streams = media in _STREAM_TYPES and self._status < 400
        self._decoder = ContentDecoder("", MAX_DECODED)
        self._began = exchange.began
        self._body = bytearray()
        self._read = 0
        """Bytes of the body that were read as events."""
        self._times: list[tuple[int, int]] = []
        self.reply = Reply()
        self.error: ProviderError | None = None
        self.fault = ""
        """The reason why the body itself cannot be read."""
        self.first: float | None = None
        """The time of the first text, reasoning or call; None before it."""
        try:
            encoding = exchange.response_header("content-encoding")
            self._decoder = ContentDecoder(encoding, MAX_DECODED)
        except EncodingFault as error:
            self.fault, self._streams = f"The reply cannot be read: {error}.", False

    def feed(self, pieces: Sequence[bytes], times: Sequence[float]) -> None:
        """Read the next pieces of the body, each with the time of its arrival."""
        for piece, at in zip(pieces, times, strict=True):
            if self.fault:
                return
            try:
                self._body += self._decoder.decode(piece)
            except EncodingFault as error:
                self.fault = f"The reply cannot be read: {error}."
                return
            milliseconds = round((at - self._began) * 1000)
            if self._times and milliseconds - self._times[-1][0] < ARRIVAL_TICK:
                self._times.pop()
            self._times.append((milliseconds, len(self._body)))
            if self._streams and self.error is None:
                self._read_events(_end_of_events(self._body, self._read), at)

    def close(self, at: float) -> None:
        """Read what is left, at the end of the response, however it ended."""
        if self._status >= 400:
            self.error = response_error(self._status, self._masked())
        elif self.fault:
            self.error = ReplyCut(self.fault)
        elif self._streams and self.error is None:
            self._read_events(len(self._body), at)
            try:
                self._advance(self._parser.close(), at)
            except ProviderError as error:
                self.error = self.error or error
        elif not self._streams:
            reply, self.error = read_recorded(self._masked(), self._protocol)
            tokens = unpack_tokens(str(reply.tokens))
            if tokens and self._credentials.are_spelled(token.text for token in tokens):
                reply = replace(reply, tokens=Rope())
            self.reply = reply
            self.first = None if reply.is_empty else at
        for event in self._credentials.close_events():
            self.reply = advance(self.reply, event)

    def _read_events(self, end: int, at: float) -> None:
        if end <= self._read:
            return
        data, self._read = bytes(self._body[self._read : end]), end
        try:
            for name, text in recorded_events(data):
                masked = self._credentials.mask_text(text)
                self._advance(self._parser.feed(name, masked), at)
        except ProviderError as error:
            self.error = error

    def _advance(self, events: Sequence[StreamEvent], at: float) -> None:
        for event in self._credentials.mask_events(events):
            self.reply = advance(self.reply, event)
        if self.first is None and not self.reply.is_empty:
            self.first = at

    def _masked(self) -> bytes:
        return self._credentials.mask_response(bytes(self._body))

    def received(self) -> RawResponse:
        """Return the response as it was received, content encoding undone."""
        body = self._masked()
        if self._credentials.came_in_pieces:
            body = b"[The body is not kept: it had a key of the request in it, in pieces.]"
        gone = max(0, len(body) - MAX_RESPONSE_BYTES)
        times = tuple((ms, size) for ms, size in self._times if size > gone)
        size = max(len(self._body), len(body))
        return RawResponse(self._status, self.media, body[gone:], size, times)

    @property
    def body(self) -> bytes:
        """All of the response's body, content encoding undone."""
        received = self.received()
        return self._masked() if received.gone else received.body


def _end_of_events(body: bytearray, start: int) -> int:
    """Return the offset after the last whole event, or after the last line of JSON lines."""
    if body.startswith(b"{", start):
        return body.rfind(b"\n", start) + 1
    ends = (body.rfind(end, start) + len(end) for end in (b"\n\n", b"\r\n\r\n", b"\r\r"))
    return max(end if end > start + 1 else 0 for end in ends)
