"""Answers of generateContent and streamGenerateContent.

1. Every event of a stream is a whole GenerateContentResponse; its texts are deltas, its function
   calls are whole, and its usage counts from the beginning, so that the last one holds.
2. A `thoughtSignature` belongs to the very part it sits on, and may come with an empty text.
   Neighbouring thoughts are one block until one of them is signed.
3. On Vertex a function call may come in partial arguments, by JSON path; see `partial_arguments`.
4. A part that is none of ours (code it ran, a picture) is kept whole.
5. `candidatesTokenCount` leaves out thoughts; both are output.
6. The reply has ended when a `finishReason` was seen, or when the prompt was blocked and there
   will be no candidate. STOP is said for function calls too.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.errors import Refused
from tui_chat.models.reply import FinishReason, Reply, StreamEvent, Usage
from tui_chat.protocols.common.error_body import refused
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    compact,
    count,
    items,
    mapping,
    raw_string,
    string,
)
from tui_chat.protocols.common.reply_events import (
    ReplyEvents,
    chunks_of,
    folded,
    no_reply,
    read_body,
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
"""Fields that say something about a part and are not its content."""


class GeminiParser:
    """Reads one streamed reply."""

    def __init__(self) -> None:
        self._events = ReplyEvents()
        self._calls = 0
        self._thoughts = 0
        self._thinking = False
        self._partial: PartialArguments | None = None
        self._counts: dict[str, int] = {}

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one event of the stream."""
        for chunk in chunks_of(event, data, whole=self._events.ended):
            self.take_in(chunk)
        return self._events.take()

    def close(self) -> Sequence[StreamEvent]:
        """Tell that the stream ended."""
        return self._events.close()

    def take_in(self, response: JsonObject) -> None:
        """Read one response, of a stream or whole."""
        candidates = items(response.get("candidates"))
        feedback = mapping(response.get("promptFeedback"))
        if candidates or feedback or "usageMetadata" in response:
            self._events.started(
                string(response.get("modelVersion")), string(response.get("responseId"))
            )
        for each in candidates:
            candidate = mapping(each)
            if count(candidate.get("index")) in (None, 0):
                self._candidate(candidate)
        if (blocked := string(feedback.get("blockReason"))) and not candidates:
            self._events.finished(
                "content_filter", blocked, string(feedback.get("blockReasonMessage"))
            )
        self._usage(mapping(response.get("usageMetadata")))

    def finish(self) -> Reply:
        """Return the reply of an answer that came whole and has been taken in."""
        if not self._events.ended:
            self._settle()
            self._events.finished("stop", "")
        return folded(self._events)

    def _candidate(self, candidate: JsonObject) -> None:
        for part in items(mapping(candidate.get("content")).get("parts")):
            self._part(mapping(part))
        raw = string(candidate.get("finishReason"))
        if raw not in _UNSPECIFIED:
            self._settle()
            detail = string(candidate.get("finishMessage"))
            self._events.finished(_REASONS.get(raw, "other"), raw, detail)

    def _part(self, part: JsonObject) -> None:
        signature = string(part.get("thoughtSignature"))
        if part.get("thought") is True and "text" in part:
            self._thought(raw_string(part.get("text")), signature)
            return
        content = next((name for name in part if name not in _ASIDE), "text")
        if content == "text":
            text = raw_string(part.get("text"))
            if text:
                self._thinking = False
            self._events.text(text, signature=signature)
            return
        self._thinking = False
        if "functionCall" in part:
            self._call(mapping(part.get("functionCall")), signature)
        else:
            self._events.other(content, part)

    def _thought(self, text: str, signature: str) -> None:
        if not self._thinking:
            self._thoughts += 1
        self._thinking = not signature
        self._events.reasoning(self._events.block(self._thoughts), text, signature=signature)

    def _call(self, call: JsonObject, signature: str) -> None:
        name = string(call.get("name"))
        if name or not self._calls:
            self._settle()
            self._calls += 1
        number = self._events.call(self._calls)
        more = call.get("willContinue") is True
        if more or "partialArgs" in call or self._partial is not None:
            if self._partial is None:
                self._partial = PartialArguments(call.get("args"))
            for piece in items(call.get("partialArgs")):
                self._partial.add(mapping(piece))
            self._events.tool(number, id=string(call.get("id")), name=name, signature=signature)
            if not more:
                self._settle()
            return
        arguments = compact(call.get("args") or {})
        self._events.tool(
            number, arguments, id=string(call.get("id")), name=name, signature=signature
        )

    def _settle(self) -> None:
        """Hand out the arguments of a call that came in pieces."""
        if self._partial is not None:
            arguments, self._partial = self._partial.whole(), None
            self._events.tool(self._events.call(self._calls), compact(arguments))

    def _usage(self, said: JsonObject) -> None:
        for name in _COUNTED:
            if (number := count(said.get(name))) is not None:
                self._counts[name] = number
        counts = self._counts
        output = [counts[n] for n in ("candidatesTokenCount", "thoughtsTokenCount") if n in counts]
        self._events.usage(
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


def read(body: bytes) -> Reply:
    """Read an answer that came whole; a stream without `alt=sse` is a list of responses."""
    answer = read_body(body)
    responses = [mapping(each) for each in items(answer)] or [mapping(answer)]
    if not any("candidates" in r or "promptFeedback" in r for r in responses):
        raise no_reply(answer)
    parser = GeminiParser()
    for response in responses:
        parser.take_in(response)
    return parser.finish()


def refusal(status: int, body: bytes) -> Refused:
    """Put an HTTP error into words."""
    return refused(status, body)
