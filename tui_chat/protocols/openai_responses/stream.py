"""Replies of the Responses API.

1. A reply is a list of items; in a stream each one is added, grows and is done. What grew is
   not read again from `done`, except `encrypted_content`, which is only whole there.
2. An item that came without deltas (a gateway that sends `done` only, or nothing but
   `response.completed`) is read from where it first appears whole.
3. A message item begins a piece of text with its own id and phase. A reasoning item is a block,
   or two where it has both a summary and the reasoning itself.
4. An item that is none of ours (a search, a shell call) is kept whole for pass-through.
5. The reply has ended with `response.completed` or `.incomplete`; `.failed` and `error` raise.
   There is no word for a wish for tools; the items tell it.
6. Should a second response follow in the same stream, it goes on in the same reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_chat.models.reply import MOST_PIECES, FinishReason, Reply, StreamEvent
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.error_body import ErrorBody, find_error, stream_error
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_raw_string,
    as_string,
)
from tui_chat.protocols.common.reply_events import (
    ReplyEvents,
    fold_reply,
    load_body,
    load_event,
    not_a_reply,
    too_large,
)

_INCOMPLETE: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
_SUMMARY = "summary"
_RAW = "reasoning_text"
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


@dataclass(slots=True)
class _Item:
    """What is known of an item that is still arriving."""

    key: tuple[int, int]
    """Which response of the stream, which item of it."""
    blocks: dict[str, int] = field(default_factory=dict[str, int])
    """Reasoning: our block for each kind; "" until the first kind is known."""
    grew: set[str] = field(default_factory=set[str])
    """Which of its texts came in deltas."""
    part: tuple[str, int] | None = None
    """Reasoning: the part that came last, for the blank line between parts."""


class ReplyParser:
    """Reads one streamed reply."""

    def __init__(self) -> None:
        self._events = ReplyEvents()
        self._items: dict[int, _Item] = {}
        self._turn = 0

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        for chunk in load_event(event, data, whole=self._events.ended):
            self._take_in(as_string(chunk.get("type")) or event, chunk)
        return self._events.drain()

    def close(self) -> Sequence[StreamEvent]:
        """Check that the reply ended with its stream. Raises ReplyCut if it did not."""
        return self._events.close()

    def _take_in(self, kind: str, chunk: JsonObject) -> None:
        index = as_count(chunk.get("output_index")) or 0
        match kind:
            case "response.output_text.delta":
                self._item(index).grew.add("text")
                self._events.add_text(as_raw_string(chunk.get("delta")))
            case "response.refusal.delta":
                self._item(index).grew.add("refusal")
                self._events.add_refusal(as_raw_string(chunk.get("delta")))
            case "response.function_call_arguments.delta":
                item = self._item(index)
                item.grew.add("arguments")
                self._events.add_tool_call(
                    self._events.call_index(item.key), as_raw_string(chunk.get("delta"))
                )
            case "response.reasoning_summary_text.delta":
                part = as_count(chunk.get("summary_index")) or 0
                self._think(self._item(index), _SUMMARY, part, as_raw_string(chunk.get("delta")))
            case "response.reasoning_text.delta":
                part = as_count(chunk.get("content_index")) or 0
                self._think(self._item(index), _RAW, part, as_raw_string(chunk.get("delta")))
            case "response.output_item.added":
                self._begin(index, as_object(chunk.get("item")))
            case "response.output_item.done":
                self._complete(index, as_object(chunk.get("item")))
            case "response.created":
                self._created(as_object(chunk.get("response")))
            case _ if kind in _ENDS:
                self.take_response(as_object(chunk.get("response")), kind.removeprefix("response."))
            case _:
                pass

    def take_response(self, response: JsonObject, status: str) -> None:
        """Read a response that has come to its end."""
        self._start(response)
        status = as_string(response.get("status")) or status
        if status == "failed" or response.get("error"):
            raise stream_error(find_error(response.get("error")) or ErrorBody(code=status))
        if not self._items:
            for index, item in enumerate(as_array(response.get("output"))):
                self._complete(index, as_object(item))
        self._events.set_usage(_usage(as_object(response.get("usage"))))
        why = as_string(as_object(response.get("incomplete_details")).get("reason"))
        match status:
            case "completed":
                self._events.finish("stop", status)
            case "incomplete":
                self._events.finish(_INCOMPLETE.get(why, "other"), why or status)
            case _:
                self._events.finish("other", status)

    def reply(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        return fold_reply(self._events)

    def _created(self, response: JsonObject) -> None:
        if self._events.began:
            self._turn += 1
            self._items = {}
            self._events.start_next(as_string(response.get("id")))
        self._start(response)

    def _start(self, response: JsonObject) -> None:
        model, id = as_string(response.get("model")), as_string(response.get("id"))
        self._events.start(model, id, kept=response.get("store") is True)

    def _item(self, index: int) -> _Item:
        item = self._items.get(index)
        if item is None:
            if len(self._items) >= MOST_PIECES:
                raise too_large("items of the reply", MOST_PIECES, "entries")
            item = self._items[index] = _Item((self._turn, index))
        return item

    def _begin(self, index: int, fields: JsonObject) -> _Item:
        """Take what an item is called; its texts may be unfinished, and are left alone."""
        item = self._item(index)
        match fields.get("type"):
            case "message":
                self._events.add_text(
                    "", id=as_string(fields.get("id")), phase=as_string(fields.get("phase"))
                )
            case "reasoning":
                block = item.blocks[""] = self._events.block_index((*item.key, ""))
                self._events.add_reasoning(block, id=as_string(fields.get("id")))
            case "function_call":
                self._events.add_tool_call(
                    self._events.call_index(item.key),
                    id=as_string(fields.get("call_id")),
                    name=as_string(fields.get("name")),
                    item_id=as_string(fields.get("id")),
                )
            case _:
                pass
        return item

    def _complete(self, index: int, fields: JsonObject) -> None:
        """Take a whole item: what did not come in deltas."""
        item = self._items.get(index) or self._begin(index, fields)
        match fields.get("type"):
            case "message":
                self._message(item, fields)
            case "reasoning":
                self._reasoning(item, fields)
            case "function_call":
                if "arguments" not in item.grew:
                    arguments = as_raw_string(fields.get("arguments"))
                    self._events.add_tool_call(self._events.call_index(item.key), arguments)
            case kind:
                self._events.add_other(as_string(kind), fields)

    def _message(self, item: _Item, fields: JsonObject) -> None:
        for each in as_array(fields.get("content")):
            part = as_object(each)
            if part.get("type") == "refusal":
                if "refusal" not in item.grew:
                    self._events.add_refusal(as_raw_string(part.get("refusal")))
            elif "text" not in item.grew:
                self._events.add_text(as_raw_string(part.get("text")))

    def _reasoning(self, item: _Item, fields: JsonObject) -> None:
        grew = frozenset(item.grew)
        for kind, parts in ((_SUMMARY, fields.get("summary")), (_RAW, fields.get("content"))):
            for number, each in enumerate(as_array(parts)):
                text = as_raw_string(as_object(each).get("text"))
                if text and kind not in grew:
                    self._think(item, kind, number, text)
        if encrypted := as_string(fields.get("encrypted_content")):
            block = min(item.blocks.values(), default=self._events.block_index((*item.key, "")))
            self._events.add_reasoning(block, encrypted=encrypted)

    def _think(self, item: _Item, kind: str, part: int, text: str) -> None:
        item.grew.add(kind)
        block = item.blocks.get(kind)
        begins = block is None
        if block is None:
            # The first kind takes the block that the item began with.
            block = item.blocks.pop("", None)
            if block is None:
                block = self._events.block_index((*item.key, kind))
            item.blocks[kind] = block
        if item.part is not None and item.part != (kind, part) and not begins:
            text = "\n\n" + text
        item.part = (kind, part)
        self._events.add_reasoning(block, text, kind=kind if begins else "")


def _usage(fields: JsonObject) -> Usage:
    details = as_object(fields.get("input_tokens_details"))
    return Usage(
        input=as_count(fields.get("input_tokens")),
        output=as_count(fields.get("output_tokens")),
        cached=as_count(details.get("cached_tokens")),
        cache_write=as_count(details.get("cache_write_tokens")),
        reasoning=as_count(as_object(fields.get("output_tokens_details")).get("reasoning_tokens")),
    )


def read_reply(body: bytes) -> Reply:
    """Read a reply that came whole. Raises Refused, ReplyCut."""
    answer = as_object(load_body(body))
    if "output" not in answer and "status" not in answer:
        raise not_a_reply(answer)
    parser = ReplyParser()
    parser.take_response(answer, "completed")
    return parser.reply()
