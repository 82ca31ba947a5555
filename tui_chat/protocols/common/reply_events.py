"""Reading a reply: from bytes, or one event of a stream, to JSON objects, and on to our events.

`load_body` and `load_event` parse JSON and raise what the provider reports as an error.
`ReplyEvents` collects what one event of a stream contains. It holds what is the same for all
protocols: text is made fit for UTF-8, blocks and calls are numbered in order of arrival, and a
reply that stopped for tool calls is told from one that stopped.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from tui_chat.errors import ReplyCut, TooLarge
from tui_chat.models.reply import (
    Finished,
    FinishReason,
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    Started,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    UsageReport,
    advance,
)
from tui_chat.models.text import clean
from tui_chat.models.usage import NO_USAGE, Usage
from tui_chat.protocols.common.error_body import ErrorBody, find_error, one_line, stream_error
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    as_array,
    as_object,
    load_json,
    to_json,
)

_Channel: TypeAlias = str | tuple[str, int]
"""What a delta belongs to: text, refusal, or one block or call."""


class ReplyEvents:
    """The events of one reply; `drain` hands out those since the last time.

    A character beyond the BMP may be cut between two deltas by a gateway that counts in UTF-16.
    Its first half is held back until the second half, other text or the end comes.
    """

    def __init__(self) -> None:
        self._out: list[StreamEvent] = []
        self._held: dict[_Channel, str] = {}
        self._calls: dict[Hashable, int] = {}
        self._blocks: dict[Hashable, int] = {}
        self._model = self._id = ""
        self._usage = NO_USAGE
        self.began = False
        """True if any part of the reply has arrived."""
        self.ended = False
        """True if the provider has said why it stopped."""
        self._has_text = self._refused = False

    def drain(self) -> list[StreamEvent]:
        """Hand out the events since the last time."""
        out, self._out = self._out, []
        return out

    def start(self, model: str, id: str, *, kept: bool = False) -> None:
        """Add the start of the reply, or its model or id if they are known only now."""
        if self.began and (not model or self._model) and (not id or self._id):
            return
        self.began = True
        self._model = self._model or model
        self._id = self._id or id
        self._out.append(Started(self._model, self._id, kept))

    def start_next(self, id: str) -> None:
        """Begin another reply in the same stream; its id is the one that can be continued."""
        self.ended = False
        if id and id != self._id and self.began:
            self._id = id
            self._out.append(Started(self._model, id))

    def add_text(self, text: str, *, signature: str = "", id: str = "", phase: str = "") -> None:
        """Add text."""
        text = self._join_surrogates("text", text)
        if text or signature or id:
            self._has_text = self._has_text or bool(text)
            self._out.append(TextDelta(text, signature, id, phase))

    def add_refusal(self, text: str) -> None:
        """Add text of a refusal."""
        if text := self._join_surrogates("refusal", text):
            self._refused = True
            self._out.append(RefusalDelta(text))

    def block_index(self, key: Hashable) -> int:
        """Return the number of a reasoning block, a new one where the key is new."""
        return self._blocks.setdefault(key, len(self._blocks))

    def add_reasoning(
        self,
        index: int,
        text: str = "",
        *,
        signature: str = "",
        encrypted: str = "",
        id: str = "",
        kind: str = "",
    ) -> None:
        """Add to the reasoning block `index`."""
        text = self._join_surrogates(("reasoning", index), text)
        self._out.append(ReasoningDelta(index, text, signature, encrypted, id, kind))

    def call_index(self, key: Hashable) -> int:
        """Return the number of a tool call, a new one where the key is new."""
        return self._calls.setdefault(key, len(self._calls))

    def add_tool_call(
        self,
        index: int,
        arguments: str = "",
        *,
        id: str = "",
        name: str = "",
        signature: str = "",
        item_id: str = "",
    ) -> None:
        """Add to the tool call `index`.

        A call that came without an id keeps none: an id made up here would pass for the
        provider's. Where a protocol demands one, its encoder makes it from the place.
        """
        arguments = self._join_surrogates(("call", index), arguments)
        self._out.append(ToolCallDelta(index, id, name, arguments, signature, item_id))

    def add_other(self, name: str, block: object) -> None:
        """Add a whole block that only the provider understands."""
        self._out.append(OtherBlock(name, to_json(block)))

    def set_usage(self, usage: Usage) -> None:
        """Set the usage so far; some providers repeat it with every chunk."""
        if usage != self._usage:
            self._usage = usage
            self._out.append(UsageReport(usage))

    def finish(self, reason: FinishReason, raw: str, detail: str = "") -> None:
        """End the reply. Some providers always say `stop`; the content decides what that means."""
        self.flush()
        if reason == "stop" and self._calls:
            reason = "tool_calls"
        elif reason == "stop" and self._refused and not self._has_text:
            reason = "refusal"
        self.began = self.ended = True
        self._out.append(Finished(reason, raw, detail))

    def close(self) -> Sequence[StreamEvent]:
        """Check that the reply ended with its stream. Raises ReplyCut if it did not."""
        if not self.ended:
            raise incomplete_reply(began=self.began)
        return ()

    def flush(self) -> None:
        """Add the halves of characters whose other half never came."""
        held, self._held = self._held, {}
        for channel, half in held.items():
            text = clean(half)
            match channel:
                case ("reasoning", index):
                    self._out.append(ReasoningDelta(index, text))
                case (_, index):
                    self._out.append(ToolCallDelta(index, arguments=text))
                case "refusal":
                    self._out.append(RefusalDelta(text))
                case _:
                    self._out.append(TextDelta(text))

    def _join_surrogates(self, channel: _Channel, text: str) -> str:
        if not self._held and text.isascii():
            return text
        if not text:
            return text
        text = self._held.pop(channel, "") + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._held[channel] = text[-1]
            text = text[:-1]
        return clean(text)


def fold_reply(events: ReplyEvents) -> Reply:
    """Return the reply that the events collected so far make."""
    reply = Reply()
    for event in events.drain():
        reply = advance(reply, event)
    return reply


def load_body(body: bytes) -> object:
    """Parse an answer that came whole. Raises ReplyCut where it is not JSON, and Refused where
    it is an error in spite of its status.
    """
    text = body.decode("utf-8-sig", "replace")
    try:
        value = load_json(text)
    except ValueError:
        raise ReplyCut(
            f"The answer is not JSON: “{excerpt}”."
            if (excerpt := one_line(text, 120))
            else "The answer is empty.",
            advice="Check that the base URL is that of the API and the protocol fits it.",
        ) from None
    for answer in (as_object(value), *map(as_object, as_array(value)[:1])):
        _raise_for_error(answer)
    return value


def load_event(event: str, data: str, *, whole: bool) -> list[JsonObject]:
    """Return the objects in one event of a stream: one, as a rule, or none.

    `whole` says that the reply has already ended, so that rubbish can be passed over. Raises
    Refused where the provider reports an error, ReplyCut where the data is not JSON: text may
    be missing then, and the reader must know.
    """
    data = data.strip()
    if not data or data == "[DONE]":
        return []
    try:
        value = load_json(data)
    except ValueError:
        if event == "error":
            raise stream_error(ErrorBody(one_line(data))) from None
        if whole:
            return []
        raise ReplyCut(
            f"The provider sent a piece of the reply that cannot be read: “{one_line(data, 120)}”.",
            advice="What came before it is kept; send again for a whole reply.",
        ) from None
    found = [as_object(each) for each in as_array(value) or [value]]
    for chunk in found:
        if event == "error":
            raise stream_error(find_error(chunk) or ErrorBody(one_line(data)))
        _raise_for_error(chunk)
    return found


def _raise_for_error(chunk: JsonObject) -> None:
    error = chunk.get("error")
    if error or "error" in (chunk.get("type"), chunk.get("object")):  # `object`: vLLM
        raise stream_error(find_error(chunk) or ErrorBody())


def not_a_reply(answer: object) -> ReplyCut:
    """Return the error for JSON that is not a reply of the protocol."""
    error = find_error(answer)
    detail = f": {error.message}" if error and error.message else "."
    return ReplyCut(
        f"The answer is JSON, but no reply{detail}",
        advice="Check that the base URL is that of the API and the protocol fits it.",
    )


def too_large(what: str, most: int, unit: str) -> TooLarge:
    """Return the error for something that a parser keeps until it is whole, and that has no end."""
    return TooLarge(
        f"The {what} have more than {most:,} {unit}; what came before that is kept.",
        advice="Send again for a whole reply.",
    )


def incomplete_reply(*, began: bool) -> ReplyCut:
    """Return the error for a stream that ended before the reply did."""
    return ReplyCut(
        "The connection ended in the middle of the reply."
        if began
        else "The connection ended before the reply began.",
        advice="What came is kept; send again for a whole reply." if began else "Send again.",
    )
