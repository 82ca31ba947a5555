"""Replies of Ollama's `/api/chat`.

1. A stream is one JSON object a line. Each has a `message` whose text and thinking are deltas and
   whose tool calls are whole; the last one has `done` and the figures. An answer that came whole
   is one such object.
2. `done_reason` is `stop` for tool calls too. `load` and `unload` answer a request that has no
   messages.
3. An error in the middle of a stream is a line with `error` alone.
4. Calls have ids in newer servers only.
5. `logprobs` stand beside `message`, in the form of OpenAI; those of thinking are left out.
"""

from __future__ import annotations

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    JsonObject,
    as_array,
    as_count,
    as_object,
    as_raw_string,
    as_string,
    to_json,
)
from tui_chat.models.reply import Reply
from tui_chat.models.reply_end import finish_reason
from tui_chat.models.usage import Usage
from tui_chat.protocols.common.openai import read_tokens
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    protocol = Protocol.OLLAMA

    def __init__(self) -> None:
        super().__init__()
        self._thought: object = None
        """The key of the reasoning that is being said, if the model is thinking."""

    def take_in(self, chunk: JsonObject, event: str = "") -> None:
        """Read a line of a stream, or an answer that came whole."""
        events, message = self._events, as_object(chunk.get("message"))
        done = chunk.get("done") is True
        if message or done:
            events.start(as_string(chunk.get("model")), "")
        if thinking := as_raw_string(message.get("thinking")):
            self._thought = self._thought or object()
            events.add_reasoning(events.block_index(self._thought), thinking)
        text, calls = as_raw_string(message.get("content")), as_array(message.get("tool_calls"))
        images = as_array(message.get("images"))
        if text or calls or images:
            self._thought = None
        events.add_text(text)
        for call in map(as_object, calls):
            function = as_object(call.get("function"))
            arguments = function.get("arguments")
            arguments = arguments if isinstance(arguments, str) else to_json(arguments or {})
            id, name = as_string(call.get("id")), as_string(function.get("name"))
            events.add_tool_call(events.call_index(object()), arguments, id=id, name=name)
        for image in images:
            events.add_media(as_string(image), kind="image")
        if message.get("content") or not message.get("thinking"):
            events.add_tokens(read_tokens(chunk.get("logprobs")))
        counts = as_count(chunk.get("prompt_eval_count")), as_count(chunk.get("eval_count"))
        events.set_usage(Usage(*counts))
        if done:
            raw = as_string(chunk.get("done_reason"))
            events.finish(finish_reason(raw), raw)

    def finish(self) -> Reply:
        """Return the reply that was taken in. Raises ReplyCut if it has no end."""
        self.close()
        return super().finish()


def read_reply(body: bytes) -> Reply:
    """Read a whole reply, or the lines that a proxy collected. Raises Refused, ReplyCut."""
    parser = ReplyParser()
    lines = body.strip().split(b"\n")
    if len(lines) > 1 and all(line.startswith(b"{") for line in lines):
        for line in lines:
            parser.take_in(as_object(load_body(line)))
        return parser.finish()
    answer = as_object(load_body(body))
    if not as_object(answer.get("message")) and answer.get("done") is not True:
        raise not_a_reply(answer)
    parser.take_in(answer)
    return parser.finish()
