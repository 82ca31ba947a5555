"""Replies of the Responses API.

1. A reply is a list of items; in a stream each one is added, grows and is done. An item is known
   by its index, since some gateways change its id with each event, and by the id that it began
   with, since others give all items one index. What came in deltas is not read again from `done`,
   except `encrypted_content`, which is whole only there.
2. An item that came without deltas (a gateway that sends `done` only, or nothing but
   `response.completed`) is read from the first event that has it whole.
3. A message item begins a piece of text with its own id and phase. A reasoning item is a block,
   or two if it has both a summary and the reasoning itself.
4. A generated image is a part; its previews are passed over. An item without a unified form (a
   search, a shell call) is kept whole for pass-through. The sources of a search are read too.
5. `logprobs` come with the deltas of a text, and again with the whole; with deltas that lack them
   they are read from there.
6. The reply has ended with `response.completed` or `.incomplete`; `.failed` and `error` raise.
   There is no finish reason for tool calls; the items show them.
7. A second `response.created` in the same stream continues the reply, under its own id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_count,
    as_object,
    as_objects,
    as_raw_string,
    as_string,
    to_json,
)
from tui_chat.models.reply import MOST_PIECES, Reply, StreamEvent
from tui_chat.models.reply_end import finish_reason
from tui_chat.protocols.common.error_body import ErrorBody, find_error, stream_error
from tui_chat.protocols.common.openai import add_annotation, read_tokens, read_usage
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply, too_large
from tui_chat.protocols.openai_responses.messages import IMAGE_CALL, MORE, REPLY, STRING

_SUMMARY = "summary"
_RAW = "reasoning_text"
_ENDS = tuple(
    f"response.{word}" for word in ("completed", "done", "incomplete", "failed", "cancelled")
)
_GROWING = {
    **dict.fromkeys(("response.output_text.delta", "response.output_text.done"), "message"),
    **dict.fromkeys(("response.refusal.delta", "response.refusal.done"), "message"),
    "response.function_call_arguments.delta": "function_call",
    "response.function_call_arguments.done": "function_call",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning.delta": "reasoning",
}
"""Events of a text of an item, with the type of the item."""


@dataclass(slots=True)
class _Item:
    """The state of an item that is still arriving."""

    key: tuple[int, int]
    """The index of its response in the stream, and its own number in that."""
    kind: str = ""
    """Its type; empty until an event names it."""
    ids: frozenset[str] = frozenset()
    """Its id and that of its call, as its beginning had them."""
    is_done: bool = False
    blocks: dict[str, int] = field(default_factory=dict[str, int])
    """Reasoning: our block for each kind; "" until the first kind is known."""
    grew: set[str] = field(default_factory=set[str])
    """Those of its texts that came in deltas."""
    parts: set[int] = field(default_factory=set[int])
    """Message: those of its parts that came."""
    is_more: bool = False
    """Reasoning: true if it has the id of the item before it, which it continues."""
    part: tuple[str, int] | None = None
    """Reasoning: the part that came last, for the blank line between parts."""


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    protocol = Protocol.OPENAI_RESPONSES

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, _Item] = {}
        """The newest one at each index."""
        self._named: dict[str, _Item] = {}
        """By the ids that they began with."""
        self._count = 0
        self._turn = 0
        self._reasoning_id = ""
        """The id of the reasoning item that began last, if nothing else has begun since then."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        is_end = data.strip() == "[DONE]" and self._events.has_content  # of a gateway
        if is_end and not self._events.ended:
            self.raise_unread()
            self._events.finish("stop", "")
        return super().feed(event, data)

    def take_in(self, chunk: JsonObject, event: str = "") -> None:
        """Read one event of a stream."""
        kind, delta = as_string(chunk.get("type")) or event, as_raw_string(chunk.get("delta"))
        index = as_count(chunk.get("output_index")) or 0
        part = as_count(chunk.get("content_index")) or 0
        if kind in _GROWING:
            item = self._named.get(as_string(chunk.get("item_id")))
            item = item or self._item(index, _GROWING[kind])
            self._grow(item, kind, delta, part, chunk)
        elif kind == "response.output_text.annotation.added":
            add_annotation(self._events, as_object(chunk.get("annotation")))
        elif kind == "response.output_item.added":
            self._begin(index, as_object(chunk.get("item")))
        elif kind == "response.output_item.done":
            self._complete(index, as_object(chunk.get("item")))
        elif kind == "response.created":
            response = as_object(chunk.get("response"))
            if self._events.began:
                self._turn += 1
                self._items, self._named, self._count, self._reasoning_id = {}, {}, 0, ""
                self._events.begin_next()
                self._events.rename(as_string(response.get("id")))
            self._start(response)
        elif not kind and "output" in chunk:  # a whole answer where a stream was asked for
            self.take_response(chunk, "completed")
        elif kind in _ENDS:
            self.take_response(as_object(chunk.get("response")), kind.removeprefix("response."))

    def _grow(self, item: _Item, kind: str, delta: str, part: int, chunk: JsonObject) -> None:
        """Read an event of a text of an item: a piece of it, or the whole, which counts unless it
        came in pieces.
        """
        match kind.removeprefix("response."):
            case "output_text.delta":
                item.grew.add("text")
                item.parts.add(min(part, MOST_PIECES))
                self._events.add_text(delta)
                self._tokens(item, chunk.get("logprobs"))
            case "output_text.done":
                text = as_raw_string(chunk.get("text"))
                if text and part not in item.parts and len(item.parts) < MOST_PIECES:
                    item.grew.add("text")
                    item.parts.add(part)
                    self._events.add_text(text)
            case "refusal.delta":
                item.grew.add("refusal")
                self._events.add_refusal(delta)
            case "refusal.done" if "refusal" not in item.grew:
                item.grew.add("refusal")
                self._events.add_refusal(as_raw_string(chunk.get("refusal")))
            case "function_call_arguments.delta":
                item.grew.add("arguments")
                self._events.add_tool_call(self._events.call_index(item.key), delta)
            case "function_call_arguments.done":
                self._arguments(item, chunk)
            case "reasoning_summary_text.delta":
                self._think(item, _SUMMARY, as_count(chunk.get("summary_index")) or 0, delta)
            case "reasoning_text.delta" | "reasoning.delta":  # vLLM
                self._think(item, _RAW, part, delta)
            case _:
                pass

    def take_response(self, response: JsonObject, status: str) -> None:
        """Read a response that has come to its end."""
        self._start(response)
        status = as_string(response.get("status")) or status
        if status == "failed" or response.get("error"):
            raise stream_error(find_error(response.get("error")) or ErrorBody(code=status))
        is_first = not self._items
        for index, item in enumerate(as_objects(response.get("output"))):
            call_id = as_string(item.get("call_id"))
            is_new_call = bool(call_id) and call_id not in self._named
            is_new_text = item.get("type") == "message" and not self._events.has_text
            if is_first or is_new_call or is_new_text:
                self._complete(index, item)
        tier = as_string(response.get("service_tier"))
        self._events.set_usage(replace(read_usage(as_object(response.get("usage"))), tier=tier))
        why = as_string(as_object(response.get("incomplete_details")).get("reason"))
        if status == "incomplete":
            self._events.finish(finish_reason(why or status), why or status)
        else:
            self._events.finish("stop" if status in ("completed", "done") else "other", status)

    def _start(self, response: JsonObject) -> None:
        model, id = as_string(response.get("model")), as_string(response.get("id"))
        self._events.start(model, id)

    def _item(self, index: int, kind: str) -> _Item:
        """Return the item at an index, a new one if what is there is of another type."""
        item = self._items.get(index)
        if item is None or item.kind not in ("", kind):
            item = self._new_item(index)
        item.kind = kind
        return item

    def _new_item(self, index: int) -> _Item:
        if self._count >= MOST_PIECES:
            raise too_large("items of the reply", MOST_PIECES, "entries")
        item = self._items[index] = _Item((self._turn, self._count))
        self._count += 1
        return item

    def _begin(self, index: int, fields: JsonObject) -> _Item:
        """Read the ids and name of an item, not its texts: they may be unfinished.

        Some gateways give all items one index: what is added there is another item, unless it is
        that which has grown without a beginning, or has the same ids.
        """
        kind = as_string(fields.get("type"))
        names = (as_string(fields.get("call_id")), as_string(fields.get("id")))
        ids = frozenset(name for name in names if name)
        item = self._items.get(index)
        is_same = item is not None and (not item.ids or bool(item.ids & ids))
        if item is None or item.is_done or not is_same or item.kind not in ("", kind):
            item = self._new_item(index)
            item.is_more = kind == "reasoning" and names[1] == self._reasoning_id != ""
        item.kind, item.ids = kind, ids
        self._reasoning_id = names[1] if kind == "reasoning" else ""
        self._named |= dict.fromkeys(ids, item)
        match fields.get("type"):
            case "message":
                if marks := _texts(fields, "id", "phase"):
                    form = REPLY if "id" in marks else STRING
                    self._events.add_text("", {"item": marks}, form)
            case "reasoning":
                block = item.blocks[""] = self._events.block_index((*item.key, ""))
                self._mark(item, block, _texts(fields, "id"))
            case "function_call":
                self._events.add_tool_call(
                    self._events.call_index(item.key),
                    id=as_string(fields.get("call_id")),
                    name=as_string(fields.get("name")),
                    keys=_texts(fields, "id"),
                )
            case _:
                pass
        return item

    def _complete(self, index: int, fields: JsonObject) -> None:
        """Read the parts of a whole item that did not come in deltas."""
        item, kind = self._whole_item(index, fields), fields.get("type")
        if item.is_done:
            return
        item.is_done = True
        match kind:
            case "message":
                self._message(item, fields)
            case "reasoning":
                self._reasoning(item, fields)
            case "function_call":
                self._arguments(item, fields)
            case "image_generation_call" if isinstance(fields.get("result"), str):
                self._image(fields)
            case _:
                self._events.add_other(as_string(kind), fields)
                if kind in ("web_search_call", "file_search_call"):
                    self._read_search(fields)

    def _whole_item(self, index: int, fields: JsonObject) -> _Item:
        """Return the item that is whole now; its id may differ from that of its beginning."""
        for name in ("call_id", "id"):
            if (item := self._named.get(as_string(fields.get(name)))) is not None:
                return item
        item = self._items.get(index)
        is_here = item is not None and not item.is_done and item.kind in ("", fields.get("type"))
        if item is None or not is_here or (fields.get("call_id") and item.ids):
            return self._begin(index, fields)
        return item

    def _arguments(self, item: _Item, fields: JsonObject) -> None:
        """Read whole arguments, unless they came in deltas."""
        values = as_object(fields.get("arguments"))
        arguments = to_json(values) if values else as_raw_string(fields.get("arguments"))
        if arguments and "arguments" not in item.grew:
            item.grew.add("arguments")
            self._events.add_tool_call(self._events.call_index(item.key), arguments)

    def _image(self, fields: JsonObject) -> None:
        form, keys = as_string(fields.get("output_format")), _texts(fields, "id")
        if keys:
            more = {key: fields[key] for key in fields if key not in ("type", "id", "result")}
            keys = {**keys, "status": "completed", **more}
        self._events.add_media(
            as_string(fields.get("result")),
            f"image/{form}" if form else "",
            kind="image",
            form=IMAGE_CALL if keys else "",
            keys=keys,
        )

    def _message(self, item: _Item, fields: JsonObject) -> None:
        has_tokens = "logprobs" in item.grew
        for part in as_objects(fields.get("content")):
            if part.get("type") == "refusal":
                if "refusal" not in item.grew:
                    self._events.add_refusal(as_raw_string(part.get("refusal")))
            elif "text" not in item.grew:
                self._events.add_text(as_raw_string(part.get("text")))
            if not has_tokens:
                self._tokens(item, part.get("logprobs"))
            for annotation in as_objects(part.get("annotations")):
                add_annotation(self._events, annotation)

    def _tokens(self, item: _Item, logprobs: object) -> None:
        if tokens := tuple(read_tokens(logprobs)):
            item.grew.add("logprobs")
            self._events.add_tokens(tokens)

    def _read_search(self, item: JsonObject) -> None:
        """Read a search that the provider ran on the web or in files."""
        action = as_object(item.get("action"))
        for source in (action, *as_objects(action.get("sources"))):
            if url := as_string(source.get("url")):
                self._events.add_consulted(as_string(source.get("title")), url)
        for result in as_objects(item.get("results")):
            if name := as_string(result.get("filename")) or as_string(result.get("file_id")):
                self._events.add_consulted(file=name)

    def _reasoning(self, item: _Item, fields: JsonObject) -> None:
        grew = frozenset(item.grew)
        for kind, parts in ((_SUMMARY, fields.get("summary")), (_RAW, fields.get("content"))):
            for number, part in enumerate(as_objects(parts)):
                text = as_raw_string(part.get("text"))
                if text and kind not in grew:
                    self._think(item, kind, number, text)
        if encrypted := _texts(fields, "encrypted_content"):
            block = min(item.blocks.values(), default=self._events.block_index((*item.key, "")))
            self._mark(item, block, encrypted)

    def _mark(self, item: _Item, block: int, keys: JsonObject) -> None:
        """Add keys of a reasoning item, unless it continues the one before, which has them."""
        form, new = (MORE, None) if item.is_more else ("", keys)
        self._events.add_reasoning(block, form=form, keys=new)

    def _think(self, item: _Item, kind: str, part: int, text: str) -> None:
        item.grew.add(kind)
        begins, form = kind not in item.blocks, ""
        if begins:
            # The first kind takes the block that the item began with.
            block = item.blocks.pop("", None)
            new = self._events.block_index((*item.key, kind)) if block is None else block
            item.blocks[kind] = new
            form = " ".join([MORE] * item.is_more + ["content"] * (kind == _RAW))
        elif item.part not in (None, (kind, part)):
            text = "\n\n" + text
        item.part = (kind, part)
        self._events.add_reasoning(item.blocks[kind], text, form=form)


def _texts(fields: JsonObject, *names: str) -> dict[str, object]:
    """Return those of these fields that are texts."""
    return {name: text for name in names if (text := as_string(fields.get(name)))}


def read_reply(body: bytes) -> Reply:
    """Read a reply that came whole. Raises Refused, ReplyCut."""
    answer = as_object(load_body(body))
    if "output" not in answer and "status" not in answer:
        raise not_a_reply(answer)
    parser = ReplyParser()
    parser.take_response(answer, "completed")
    return parser.finish()
