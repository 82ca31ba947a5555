"""Replies of the Messages API.

1. A message is a list of content blocks; in a stream each one starts, grows and stops. A whole
   answer is read as blocks that start and stop at once.
2. A tool's input is the joined `partial_json`, kept as it came; none at all means `{}`.
3. A signature grows like text. A redacted block is its opaque `data`.
4. A block that is none of ours (a search, its results) is put together and kept whole.
5. Usage in `message_delta` overwrites what `message_start` said. `input_tokens` leaves out what
   was read from the cache or written to it; the three are one sum.
6. The reply has ended when `stop_reason` was told. `message_stop` adds nothing to it, and the
   last event of a stream is the one that gets lost when a server forgets the blank line.
7. Should a second message follow in the same stream (a gateway that runs tools itself), it goes
   on in the same reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tui_chat.models.reply import MOST_PIECES, REPLY_SIZE, FinishReason, Reply, StreamEvent
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_raw_string,
    as_string,
    load_json,
    to_json,
)
from tui_chat.protocols.common.reply_events import (
    ReplyEvents,
    fold_reply,
    load_body,
    load_event,
    not_a_reply,
    too_large,
)

_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "paused",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Block:
    """A content block that is still arriving."""

    kind: Literal["text", "thinking", "tool", "other"]
    number: int = 0
    """Ours, of a reasoning block or a call."""
    start: JsonObject = field(default_factory=dict[str, object])
    """As it began: for the input of a call that came at once, and for blocks not ours."""
    grown: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What a block that is not ours grew by; of a call only whether it did."""


class ReplyParser:
    """Reads one streamed reply."""

    def __init__(self) -> None:
        self._events = ReplyEvents()
        self._blocks: dict[int, _Block] = {}
        self._turn = 0
        self._counts: dict[str, int] = {}
        self._grown = 0
        """Characters that blocks which are not ours grew by."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        for chunk in load_event(event, data, whole=self._events.ended):
            self._take_in(as_string(chunk.get("type")) or event, chunk)
        return self._events.drain()

    def close(self) -> Sequence[StreamEvent]:
        """Check that the reply ended with its stream. Raises ReplyCut if it did not."""
        return self._events.close()

    def take_message(self, message: JsonObject) -> None:
        """Read a message as far as it has come: whole, or what a stream starts with."""
        self._events.start(as_string(message.get("model")), as_string(message.get("id")))
        for index, block in enumerate(as_array(message.get("content"))):
            self._start(index, as_object(block))
            self._stop(index)
        self._usage(as_object(message.get("usage")))
        self._stopped(message)

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        if not self._events.ended:
            self._events.finish("stop", "")
        return fold_reply(self._events)

    def _take_in(self, kind: str, chunk: JsonObject) -> None:
        index = as_count(chunk.get("index")) or 0
        match kind:
            case "content_block_delta":
                self._grow(index, as_object(chunk.get("delta")))
            case "content_block_start":
                self._start(index, as_object(chunk.get("content_block")))
            case "content_block_stop":
                self._stop(index)
            case "message_start":
                self._turn += 1
                self._blocks = {}
                self._events.ended = False  # some streams hold several replies
                self.take_message(as_object(chunk.get("message")))
            case "message_delta":
                self._usage(as_object(chunk.get("usage")))
                self._stopped(as_object(chunk.get("delta")))
            case "message_stop" if not self._events.ended:
                self._events.finish("stop", "")
            case _:
                pass

    def _start(self, index: int, fields: JsonObject) -> None:
        kind = as_string(fields.get("type"))
        if len(self._blocks) >= MOST_PIECES:
            raise too_large("blocks of the reply", MOST_PIECES, "beginnings without an end")
        match kind:
            case "text":
                self._blocks[index] = _Block("text")
                self._events.add_text(as_raw_string(fields.get("text")))
            case "thinking" | "redacted_thinking":
                number = self._block(index, "thinking").number
                self._events.add_reasoning(
                    number,
                    as_raw_string(fields.get("thinking")),
                    signature=as_string(fields.get("signature")),
                    encrypted=as_string(fields.get("data")),
                )
            case "tool_use":
                block = self._block(index, "tool")
                block.start = fields
                self._events.add_tool_call(
                    block.number, id=as_string(fields.get("id")), name=as_string(fields.get("name"))
                )
            case "":
                pass
            case _:
                self._blocks[index] = _Block("other", start=fields)

    def _block(self, index: int, kind: Literal["thinking", "tool"]) -> _Block:
        """Return the block at `index`; one that never started starts now."""
        block = self._blocks.get(index)
        if block is None or block.kind != kind:
            key = (self._turn, index, kind)
            number = (
                self._events.call_index(key) if kind == "tool" else self._events.block_index(key)
            )
            block = self._blocks[index] = _Block(kind, number)
        return block

    def _grow(self, index: int, delta: JsonObject) -> None:
        block = self._blocks.get(index)
        if block is not None and block.kind == "other":
            for name, value in delta.items():
                if name != "type" and isinstance(value, str):
                    self._grown += len(name) + len(value)
                    if self._grown > REPLY_SIZE:
                        raise too_large("blocks of the reply", REPLY_SIZE, "characters")
                    block.grown.setdefault(name, []).append(value)
            return
        match delta.get("type"):
            case "text_delta":
                self._events.add_text(as_raw_string(delta.get("text")))
            case "thinking_delta":
                number = self._block(index, "thinking").number
                self._events.add_reasoning(number, as_raw_string(delta.get("thinking")))
            case "signature_delta":
                number = self._block(index, "thinking").number
                self._events.add_reasoning(number, signature=as_string(delta.get("signature")))
            case "input_json_delta":
                block = self._block(index, "tool")
                if text := as_raw_string(delta.get("partial_json")):
                    block.grown["input"] = []
                    self._events.add_tool_call(block.number, text)
            case _:
                pass

    def _stop(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.kind == "tool" and not block.grown:
            self._events.add_tool_call(block.number, to_json(block.start.get("input") or {}))
        elif block.kind == "other":
            self._events.add_other(as_string(block.start.get("type")), _assembled(block))

    def _usage(self, fields: JsonObject) -> None:
        for name in ("input_tokens", *_CACHES, "output_tokens"):
            if (number := as_count(fields.get(name))) is not None:
                self._counts[name] = number
        details = as_object(fields.get("output_tokens_details"))
        counts = self._counts
        fresh = counts.get("input_tokens")
        apart = sum(counts.get(name, 0) for name in _CACHES)
        self._events.set_usage(
            Usage(
                input=None if fresh is None else fresh + apart,
                output=counts.get("output_tokens"),
                cached=counts.get("cache_read_input_tokens"),
                cache_write=counts.get("cache_creation_input_tokens"),
                reasoning=as_count(details.get("thinking_tokens")),
                input_apart=apart,
            )
        )

    def _stopped(self, fields: JsonObject) -> None:
        if raw := as_string(fields.get("stop_reason")):
            detail = as_string(as_object(fields.get("stop_details")).get("explanation"))
            self._events.finish(_REASONS.get(raw, "other"), raw, detail)


_CACHES = ("cache_read_input_tokens", "cache_creation_input_tokens")


def _assembled(block: _Block) -> JsonObject:
    """Return a block that is not ours as it would stand in a whole answer."""
    whole = dict(block.start)
    for name, pieces in block.grown.items():
        text = "".join(pieces)
        if name == "partial_json":
            try:
                whole["input"] = load_json(text) if text else whole.get("input")
            except ValueError:
                whole["input"] = text
        else:
            whole[name] = as_raw_string(whole.get(name)) + text
    return whole


def read_reply(body: bytes) -> Reply:
    """Read a reply that came whole. Raises Refused, ReplyCut."""
    answer = as_object(load_body(body))
    if "content" not in answer and "stop_reason" not in answer:
        raise not_a_reply(answer)
    parser = ReplyParser()
    parser.take_message(answer)
    return parser.finish()
