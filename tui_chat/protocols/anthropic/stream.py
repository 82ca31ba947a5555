"""Replies of the Messages API.

1. A message is a list of content blocks; in a stream each one starts, grows and stops. A whole
   answer is read as blocks that start and stop at once.
2. A tool's input is the joined `partial_json`, kept as it came; none at all means `{}`.
3. A signature grows like text. A redacted block is its opaque `data`.
4. A block without a unified form (a search, its results) is joined and kept whole; its sources, and
   those that the text cites, are read too.
5. Usage in `message_delta` replaces that of `message_start`. `input_tokens` excludes what was read
   from the cache or written to it; the input is the sum of the three.
6. The reply has ended when `stop_reason` came. `message_stop` adds nothing, and the last event of
   a stream is lost if a server forgets the blank line.
7. A second `message_start` in the same stream continues the reply; see `reply_events`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_raw_string,
    as_string,
    decode_lenient,
    to_json,
)
from tui_chat.models.reply import MOST_PIECES, REPLY_SIZE, Reply
from tui_chat.models.reply_end import finish_reason
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply, too_large


@dataclass(slots=True)
class _Block:
    """A content block that is still arriving."""

    kind: Literal["text", "thinking", "tool", "other"]
    number: int = 0
    """Ours, of a reasoning block or a call."""
    start: JsonObject = field(default_factory=dict[str, object])
    """As it began: for the input of a call that came at once, and for blocks not ours."""
    grown: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The text added to a block that is not ours; of a call only that there was some."""


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    protocol = Protocol.ANTHROPIC

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, _Block] = {}
        """Those that have not ended, by their index."""
        self._starts: dict[int, int] = {}
        """How many have started at an index: some gateways give all of them one."""
        self._turn = 0
        self._counts: dict[str, int] = {}
        self._grown = 0
        """Characters that blocks which are not ours grew by."""

    def take_message(self, message: JsonObject) -> None:
        """Read a message as far as it has come: whole, or what a stream starts with."""
        self._events.start(as_string(message.get("model")), as_string(message.get("id")))
        content = message.get("content")
        if isinstance(content, str):
            self._events.add_text(content)
        for index, block in enumerate(as_array(content)):
            self._start(index, as_object(block))
            self._stop(index)
        self._usage(as_object(message.get("usage")))
        self._stopped(message)

    def take_in(self, chunk: JsonObject, event: str = "") -> None:
        """Read one event of a stream."""
        kind = as_string(chunk.get("type")) or event
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
                self._events.begin_next()
                self.take_message(as_object(chunk.get("message")))
            case "message_delta":
                self._usage(as_object(chunk.get("usage")))
                self._stopped(as_object(chunk.get("delta")))
            case "message":  # a whole answer where a stream was asked for
                self.take_message(chunk)
            case "message_stop" if not self._events.ended:
                self._events.finish("stop", "")
            case _:
                pass

    def _start(self, index: int, fields: JsonObject) -> None:
        kind = as_string(fields.get("type"))
        if index not in self._blocks:
            self._starts[index] = self._starts.get(index, 0) + 1
        if len(self._blocks) >= MOST_PIECES:
            raise too_large("blocks of the reply", MOST_PIECES, "beginnings without an end")
        match kind:
            case "text":
                self._blocks[index] = _Block("text")
                for citation in as_array(fields.get("citations")):
                    self._cite(as_object(citation))
                self._events.add_text(as_raw_string(fields.get("text")))
            case "thinking" | "redacted_thinking":
                data = as_string(fields.get("data"))
                self._events.add_reasoning(
                    self._block(index, "thinking").number,
                    as_raw_string(fields.get("thinking")),
                    signature="" if data else as_string(fields.get("signature")),
                    form="redacted_thinking" if data else "",
                    keys={"data": data} if data else None,
                )
            case "tool_use":
                block = self._block(index, "tool")
                block.start = fields
                self._events.add_tool_call(
                    block.number,
                    id=as_string(fields.get("id")),
                    name=as_string(fields.get("name")),
                    keys={k: v for k, v in fields.items() if k not in _CALL_KEYS and v},
                )
            case "":
                pass
            case _:
                self._blocks[index] = _Block("other", start=fields)

    def _block(self, index: int, kind: Literal["thinking", "tool"]) -> _Block:
        """Return the block at `index`; one that never started starts now."""
        block = self._blocks.get(index)
        if block is None or block.kind != kind:
            key = (self._turn, index, self._starts.get(index, 0), kind)
            new_number = self._events.call_index if kind == "tool" else self._events.block_index
            block = self._blocks[index] = _Block(kind, new_number(key))
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
            case "citations_delta":
                self._cite(as_object(delta.get("citation")))
            case "thinking_delta" | "signature_delta":
                number, signature = self._block(index, "thinking").number, delta.get("signature")
                thought = as_raw_string(delta.get("thinking"))
                self._events.add_reasoning(number, thought, signature=as_string(signature))
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
            whole = _assembled(block)
            self._events.add_other(as_string(block.start.get("type")), whole)
            self._read_search(whole)

    def _cite(self, citation: JsonObject) -> None:
        """Add the source of a citation."""
        title, url = as_string(citation.get("title")), as_string(citation.get("url"))
        file, key, number = "", None, as_count(citation.get("document_index"))
        if not url and number is not None:
            title = as_string(citation.get("document_title")) or f"Document {number + 1}"
            file, key = as_string(citation.get("file_id")), ("document", number)
        self._events.add_source(title, url or as_string(citation.get("source")), file, key=key)

    def _read_search(self, block: JsonObject) -> None:
        """Read the result of a search or fetch that the provider ran."""
        content = block.get("content")
        if block.get("type") not in ("web_search_tool_result", "web_fetch_tool_result"):
            return
        for result in map(as_object, as_array(content) or [content]):
            if url := as_string(result.get("url")):
                document = as_object(result.get("content"))
                title = as_string(result.get("title")) or as_string(document.get("title"))
                self._events.add_consulted(title, url)

    def _usage(self, fields: JsonObject) -> None:
        for name in ("input_tokens", *_CACHES, "output_tokens"):
            number = as_count(fields.get(name))
            is_empty = number == fields.get("input_tokens") == 0  # some servers end with zeros
            if number is not None and not (is_empty and name in self._counts):
                self._counts[name] = number
        counts, created = self._counts, as_object(fields.get("cache_creation"))
        written = [as_count(created.get(f"ephemeral_{life}_input_tokens")) for life in ("5m", "1h")]
        if written[1] is not None:
            counts["hour"] = written[1]
        if written != [None, None]:
            counts.setdefault(_CACHES[1], sum(filter(None, written)))
        fresh, (read, write) = counts.get("input_tokens"), map(counts.get, _CACHES)
        self._events.set_usage(
            Usage(
                input=None if fresh is None else fresh + (read or 0) + (write or 0),
                output=counts.get("output_tokens"),
                cached=read,
                cache_write=write,
                reasoning=as_count(
                    as_object(fields.get("output_tokens_details")).get("thinking_tokens")
                ),
                cache_write_1h=counts.get("hour", 0),
                tier=as_string(fields.get("service_tier")),
            )
        )

    def _stopped(self, fields: JsonObject) -> None:
        if raw := as_string(fields.get("stop_reason")):
            detail = as_string(as_object(fields.get("stop_details")).get("explanation"))
            self._events.finish(finish_reason(raw), raw, detail)


_CALL_KEYS = frozenset({"type", "id", "name", "input", "cache_control"})
_CACHES = ("cache_read_input_tokens", "cache_creation_input_tokens")


def _assembled(block: _Block) -> JsonObject:
    """Return a block without a unified form as a whole answer would have it."""
    whole = dict(block.start)
    for name, pieces in block.grown.items():
        text = "".join(pieces)
        if name == "partial_json":
            try:
                whole["input"] = decode_lenient(text) if text else whole.get("input")
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
