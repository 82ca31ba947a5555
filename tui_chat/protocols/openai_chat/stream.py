"""Replies of the Chat Completions API, and of the many that imitate it.

1. A chunk's `delta` and a whole answer's `message` have one shape and are read by one function.
   Perplexity sends both in each: in a whole answer the `message` counts and the delta is empty,
   in a stream the `message` repeats what the deltas have said so far.
2. Only choice 0 is read. Text may come as a string or as typed parts.
3. Tool calls are told apart by `index`. Where it is missing, or one index comes with a second
   id and name, the id begins a new call.
4. Reasoning comes under a vendor's name: `reasoning_content`, `reasoning`, or OpenRouter's
   `reasoning_details`, which repeat `reasoning` and win over it.
5. The reply has ended when a `finish_reason` was seen or `[DONE]` came. Usage comes later still,
   in a chunk without choices. An empty `finish_reason` is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.reply import FinishReason, Reply, StreamEvent
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_raw_string,
    as_string,
    to_json,
)
from tui_chat.protocols.common.reply_events import (
    ReplyEvents,
    fold_reply,
    load_body,
    load_event,
    not_a_reply,
)

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}

_LEGACY = -1
"""The index of a `function_call` from before there were `tool_calls`."""

_PLAIN_REASONING = ("reasoning_content", "reasoning")


class ReplyParser:
    """Reads one streamed reply."""

    def __init__(self) -> None:
        self._events = ReplyEvents()
        self._ids: list[str] = []
        """The ids of the calls so far, by our numbers."""
        self._numbers: dict[int, int] = {}
        """Our number by the provider's index."""
        self._done = False
        self._has_deltas = False
        """True if a delta has had content yet, so that a message would only repeat it."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        if data.strip() == "[DONE]":
            self._done = True
            if not self._events.ended:
                self._events.finish("stop", "")
        elif not self._done:
            for chunk in load_event(event, data, whole=self._events.ended):
                self.take_in(chunk)
        return self._events.drain()

    def close(self) -> Sequence[StreamEvent]:
        """Check that the reply ended with its stream. Raises ReplyCut if it did not."""
        return self._events.close()

    def take_in(self, chunk: JsonObject, *, is_whole: bool = False) -> None:
        """Read a chunk of a stream, or an answer that came whole."""
        choices = as_array(chunk.get("choices"))
        usage = as_object(chunk.get("usage")) or as_object(
            as_object(chunk.get("x_groq")).get("usage")
        )
        if choices or usage or "choices" in chunk:
            self._events.start(as_string(chunk.get("model")), as_string(chunk.get("id")))
        for each in choices:
            choice = as_object(each)
            if as_count(choice.get("index")) not in (None, 0):
                continue
            self._delta(self._said_by(choice, is_whole=is_whole))
            usage = usage or as_object(choice.get("usage"))
            if raw := as_string(choice.get("finish_reason")):
                self._events.finish(_REASONS.get(raw.lower(), "other"), raw)
        if usage:
            self._events.set_usage(_usage(usage))

    def _said_by(self, choice: JsonObject, *, is_whole: bool) -> JsonObject:
        """Return what a choice adds to the reply, whether it stands in `delta` or `message`."""
        delta, message = _fields_said(choice.get("delta")), _fields_said(choice.get("message"))
        if is_whole:
            return delta | message
        if delta:
            self._has_deltas = True
            return delta
        # Without deltas, messages are all there is. Beside an empty delta, a message may be a
        # repetition of deltas to come, unless the reply ends here.
        last = choice.get("delta") is None or bool(as_string(choice.get("finish_reason")))
        return message if last and not self._has_deltas else {}

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        if not self._events.ended:
            self._events.finish("stop", "")
        return fold_reply(self._events)

    def _delta(self, delta: JsonObject) -> None:
        self._reason(delta)
        google = as_object(as_object(delta.get("extra_content")).get("google"))
        content = delta.get("content")
        signature = as_string(google.get("thought_signature"))
        if parts := as_array(content):
            self._parts(parts)
            self._events.add_text("", signature=signature)
        else:
            self._events.add_text(as_raw_string(content), signature=signature)
        if refusal := as_raw_string(delta.get("refusal")):
            self._events.add_refusal(refusal)
        for each in as_array(delta.get("tool_calls")):
            self._call(as_object(each))
        if function := as_object(delta.get("function_call")):
            self._function(_LEGACY, "", function)

    def _parts(self, parts: list[object]) -> None:
        for each in parts:
            part = as_object(each)
            match part.get("type"):
                case "thinking":  # Mistral: text parts inside
                    for inner in as_array(part.get("thinking")):
                        text = as_raw_string(as_object(inner).get("text"))
                        self._events.add_reasoning(
                            self._events.block_index("thinking"), text, kind="thinking"
                        )
                case "refusal":
                    self._events.add_refusal(as_raw_string(part.get("refusal")))
                case _:
                    self._events.add_text(as_raw_string(part.get("text")))

    def _reason(self, delta: JsonObject) -> None:
        spoke = False
        for each in as_array(delta.get("reasoning_details")):
            spoke = self._detail(as_object(each)) or spoke
        for field in () if spoke else _PLAIN_REASONING:
            if text := as_raw_string(delta.get(field)):
                self._events.add_reasoning(self._events.block_index(field), text, kind=field)
                break
        for each in as_array(delta.get("thinking_blocks")):  # litellm, beside reasoning_content
            if signature := as_string(as_object(each).get("signature")):
                block = self._events.block_index(_PLAIN_REASONING[0])
                self._events.add_reasoning(block, signature=signature)

    def _detail(self, detail: JsonObject) -> bool:
        """Read one of OpenRouter's details. Return True if it had readable text."""
        kind = as_string(detail.get("type"))
        text = as_raw_string(detail.get("text")) or as_raw_string(detail.get("summary"))
        signature = as_string(detail.get("signature"))
        encrypted = as_string(detail.get("data"))
        if text or signature or encrypted:
            self._events.add_reasoning(
                self._events.block_index((kind, as_count(detail.get("index")))),
                text,
                signature=signature,
                encrypted=encrypted,
                id=as_string(detail.get("id")),
                kind=f"{kind} {as_string(detail.get('format'))}".strip(),
            )
        return bool(text)

    def _call(self, call: JsonObject) -> None:
        google = as_object(as_object(call.get("extra_content")).get("google"))
        self._function(
            as_count(call.get("index")),
            as_string(call.get("id")),
            as_object(call.get("function")),
            as_string(google.get("thought_signature")),
        )

    def _function(
        self, index: int | None, id: str, function: JsonObject, signature: str = ""
    ) -> None:
        fields = function.get("arguments")
        arguments = "" if fields is None else fields if isinstance(fields, str) else to_json(fields)
        name = as_string(function.get("name"))
        if arguments or name or id or signature:
            number = self._number(index, id, name)
            self._events.add_tool_call(number, arguments, id=id, name=name, signature=signature)

    def _number(self, index: int | None, id: str, name: str) -> int:
        """Return the number of the call that a delta belongs to."""
        again = False
        number = len(self._ids) - 1 if index is None else self._numbers.get(index, -1)
        if number >= 0:
            known = self._ids[number]
            other = bool(id and id != known)
            if index is None:
                again = other or bool(name and not id)
            else:
                again = other and bool(name and known)
        if number < 0 or again:
            number = self._events.call_index(len(self._ids))
            self._ids.append(id)
        self._ids[number] = self._ids[number] or id
        if index is not None:
            self._numbers[index] = number
        return number


def _fields_said(value: object) -> dict[str, object]:
    """Return the fields of a delta or message that say something; its role alone does not."""
    return {
        k: v for k, v in as_object(value).items() if k != "role" and v not in (None, "", [], {})
    }


def _usage(fields: JsonObject) -> Usage:
    details = as_object(fields.get("prompt_tokens_details"))
    cached = as_count(details.get("cached_tokens"))
    if cached is None:
        cached = as_count(fields.get("prompt_cache_hit_tokens"))  # DeepSeek
    prompt, output = (
        as_count(fields.get("prompt_tokens")),
        as_count(fields.get("completion_tokens")),
    )
    reasoning = as_count(as_object(fields.get("completion_tokens_details")).get("reasoning_tokens"))
    total = as_count(fields.get("total_tokens"))
    # xAI counts reasoning beside the completion; its total gives it away.
    apart = 0
    if reasoning and total and total == (prompt or 0) + (output or 0) + reasoning:
        apart, output = reasoning, (output or 0) + reasoning
    return Usage(
        input=prompt,
        output=output,
        cached=cached,
        cache_write=as_count(details.get("cache_write_tokens")),
        reasoning=reasoning,
        output_apart=apart,
    )


def read_reply(body: bytes) -> Reply:
    """Read a reply that came whole. Raises Refused, ReplyCut."""
    answer = as_object(load_body(body))
    if not as_array(answer.get("choices")):
        raise not_a_reply(answer)
    parser = ReplyParser()
    parser.take_in(answer, is_whole=True)
    return parser.finish()
