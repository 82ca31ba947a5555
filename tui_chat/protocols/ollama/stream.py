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
from tui_chat.protocols.common.reply_events import ReplyReader, load_body, not_a_reply
from tui_chat.protocols.common.token_lists import read_tokens


class ReplyParser(ReplyReader):
    """Reads one streamed reply."""

    protocol = Protocol.OLLAMA

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._thoughts = 0
        self._is_thinking = False

    def take_in(self, chunk: JsonObject, event: str = "") -> None:
        """Read a line of a stream, or an answer that came whole."""
        message = as_object(chunk.get("message"))
        done = chunk.get("done") is True
        if message or done:
            self._events.start(as_string(chunk.get("model")), "")
        self._message(message)
        if message.get("content") or not message.get("thinking"):
            self._events.add_tokens(read_tokens(chunk.get("logprobs")))
        self._events.set_usage(
            Usage(
                input=as_count(chunk.get("prompt_eval_count")),
                output=as_count(chunk.get("eval_count")),
            )
        )
        if done:
            raw = as_string(chunk.get("done_reason"))
            self._events.finish(finish_reason(raw), raw)

    def finish(self) -> Reply:
        """Return the reply that was taken in. Raises ReplyCut if it has no end."""
        self.close()
        return super().finish()

    def _message(self, message: JsonObject) -> None:
        if thinking := as_raw_string(message.get("thinking")):
            if not self._is_thinking:
                self._is_thinking = True
                self._thoughts += 1
            self._events.add_reasoning(self._events.block_index(self._thoughts), thinking)
        if text := as_raw_string(message.get("content")):
            self._is_thinking = False
            self._events.add_text(text)
        for call in as_array(message.get("tool_calls")):
            self._is_thinking = False
            self._call(as_object(call))
        for image in as_array(message.get("images")):
            self._is_thinking = False
            self._events.add_media(as_string(image), kind="image")

    def _call(self, call: JsonObject) -> None:
        function = as_object(call.get("function"))
        arguments = function.get("arguments")
        self._calls += 1
        self._events.add_tool_call(
            self._events.call_index(self._calls),
            arguments if isinstance(arguments, str) else to_json(arguments or {}),
            id=as_string(call.get("id")),
            name=as_string(function.get("name")),
        )


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
