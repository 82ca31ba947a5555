"""Replies of generateContent and streamGenerateContent.

1. Every event of a stream is a whole GenerateContentResponse; its texts are deltas, its function
   calls are whole, and its usage counts from the beginning, so that the last one holds.
2. A `thoughtSignature` belongs to the very part it sits on, and may come with an empty text.
   Neighbouring thoughts are one block until one of them is signed.
3. On Vertex a function call may come in partial arguments, by JSON path; see `partial_arguments`.
4. A part that is none of ours (code it ran, a picture) is kept whole.
5. `candidatesTokenCount` leaves out thoughts; both are output.
6. The reply has ended when a `finishReason` was seen, or when the prompt was blocked and there
   will be no candidate. It is STOP for function calls too.
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
from tui_chat.protocols.gemini.partial_arguments import PartialArguments

_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "MODEL_ARMOR",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
        ),
        "content_filter",
    ),
}
_UNSPECIFIED = ("", "FINISH_REASON_UNSPECIFIED")
_ASIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "partMetadata"})
"""Fields that describe a part and are not its content."""


class ReplyParser:
    """Reads one streamed reply."""

    def __init__(self) -> None:
        self._events = ReplyEvents()
        self._calls = 0
        self._thoughts = 0
        self._thinking = False
        self._partial: PartialArguments | None = None
        self._counts: dict[str, int] = {}

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream. Raises Refused, ReplyCut."""
        for chunk in load_event(event, data, whole=self._events.ended):
            self.take_in(chunk)
        return self._events.drain()

    def close(self) -> Sequence[StreamEvent]:
        """Check that the reply ended with its stream. Raises ReplyCut if it did not."""
        return self._events.close()

    def take_in(self, response: JsonObject) -> None:
        """Read one response, of a stream or whole."""
        candidates = as_array(response.get("candidates"))
        feedback = as_object(response.get("promptFeedback"))
        if candidates or feedback or "usageMetadata" in response:
            self._events.start(
                as_string(response.get("modelVersion")), as_string(response.get("responseId"))
            )
        for each in candidates:
            candidate = as_object(each)
            if as_count(candidate.get("index")) in (None, 0):
                self._candidate(candidate)
        if (blocked := as_string(feedback.get("blockReason"))) and not candidates:
            self._events.finish(
                "content_filter", blocked, as_string(feedback.get("blockReasonMessage"))
            )
        self._usage(as_object(response.get("usageMetadata")))

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        if not self._events.ended:
            self._settle()
            self._events.finish("stop", "")
        return fold_reply(self._events)

    def _candidate(self, candidate: JsonObject) -> None:
        for part in as_array(as_object(candidate.get("content")).get("parts")):
            self._part(as_object(part))
        raw = as_string(candidate.get("finishReason"))
        if raw not in _UNSPECIFIED:
            self._settle()
            detail = as_string(candidate.get("finishMessage"))
            self._events.finish(_REASONS.get(raw, "other"), raw, detail)

    def _part(self, part: JsonObject) -> None:
        signature = as_string(part.get("thoughtSignature"))
        if part.get("thought") is True and "text" in part:
            self._thought(as_raw_string(part.get("text")), signature)
            return
        content = next((name for name in part if name not in _ASIDE), "text")
        if content == "text":
            text = as_raw_string(part.get("text"))
            if text:
                self._thinking = False
            self._events.add_text(text, signature=signature)
            return
        self._thinking = False
        if "functionCall" in part:
            self._call(as_object(part.get("functionCall")), signature)
        else:
            self._events.add_other(content, part)

    def _thought(self, text: str, signature: str) -> None:
        if not self._thinking:
            self._thoughts += 1
        self._thinking = not signature
        self._events.add_reasoning(
            self._events.block_index(self._thoughts), text, signature=signature
        )

    def _call(self, call: JsonObject, signature: str) -> None:
        name = as_string(call.get("name"))
        if name or not self._calls:
            self._settle()
            self._calls += 1
        number = self._events.call_index(self._calls)
        more = call.get("willContinue") is True
        if more or "partialArgs" in call or self._partial is not None:
            if self._partial is None:
                self._partial = PartialArguments(call.get("args"))
            for piece in as_array(call.get("partialArgs")):
                self._partial.add(as_object(piece))
            self._events.add_tool_call(
                number, id=as_string(call.get("id")), name=name, signature=signature
            )
            if not more:
                self._settle()
            return
        arguments = to_json(call.get("args") or {})
        self._events.add_tool_call(
            number, arguments, id=as_string(call.get("id")), name=name, signature=signature
        )

    def _settle(self) -> None:
        """Hand out the arguments of a call that came in pieces."""
        if self._partial is not None:
            arguments, self._partial = self._partial.whole(), None
            self._events.add_tool_call(self._events.call_index(self._calls), to_json(arguments))

    def _usage(self, fields: JsonObject) -> None:
        for name in _COUNTED:
            if (number := as_count(fields.get(name))) is not None:
                self._counts[name] = number
        counts = self._counts
        output = [counts[n] for n in ("candidatesTokenCount", "thoughtsTokenCount") if n in counts]
        self._events.set_usage(
            Usage(
                input=counts.get("promptTokenCount"),
                output=sum(output) if output else None,
                cached=counts.get("cachedContentTokenCount"),
                reasoning=counts.get("thoughtsTokenCount"),
                output_apart=counts.get("thoughtsTokenCount", 0),
            )
        )


_COUNTED = (
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)


def read_reply(body: bytes) -> Reply:
    """Read an answer that came whole; a stream without `alt=sse` is a list of responses."""
    answer = load_body(body)
    responses = [as_object(each) for each in as_array(answer)] or [as_object(answer)]
    if not any("candidates" in r or "promptFeedback" in r for r in responses):
        raise not_a_reply(answer)
    parser = ReplyParser()
    for response in responses:
        parser.take_in(response)
    return parser.finish()
