"""Saying a reply as Chat Completions.

A stream is `data:` chunks and `data: [DONE]`. The role comes once, on the first chunk; a tool
call's id and name come once, on the first delta of its index, and its arguments in pieces after
that. With `stream_options.include_usage` every chunk has `usage: null` and one more chunk, with
no choices, has the numbers. Reasoning is `reasoning_content`, the field that DeepSeek and those
after it add; OpenAI itself never shows reasoning in this protocol.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline import tokens
from tui_chat.offline.asked import Asked
from tui_chat.offline.node import compact
from tui_chat.offline.openai import house
from tui_chat.offline.pieces import Finish, Reasoning, Said, Text, ToolCall
from tui_chat.offline.problems import Broken, Overloaded, RateLimited
from tui_chat.offline.world import World

_REASONS = {"stop": "stop", "stop_sequence": "stop", "length": "length", "tool_calls": "tool_calls"}
_FINGERPRINT = "fp_loopback"


class ChatVoice:
    """One Chat Completions reply."""

    def __init__(self, asked: Asked, world: World) -> None:
        self.id = f"chatcmpl-{world.token(29)}"
        self._asked = asked
        self._world = world
        self._created = int(world.now())
        self._calls = 0
        self._started = False
        options = asked.body.get("stream_options")
        self._usage: bool = options is not None and options.get("include_usage") is True

    def begin(self) -> bytes:
        """Nothing: the role travels with the first piece, as it does at OpenAI."""
        return b""

    def say(self, said: Said) -> bytes:
        """One chunk, or several for a tool call."""
        match said:
            case Text(text):
                return self._first({"content": ""}) + self._delta({"content": text})
            case Reasoning(text):
                first = self._first({"content": None, "reasoning_content": ""})
                return first + self._delta({"reasoning_content": text})
            case ToolCall(name, arguments, id):
                index, self._calls = self._calls, self._calls + 1
                call = {
                    "index": index,
                    "id": f"call_{id}",
                    "type": "function",
                    "function": {"name": name, "arguments": ""},
                }
                opened = {"tool_calls": [call]}
                first = self._first({"content": None, **opened}) or self._delta(opened)
                return first + b"".join(
                    self._delta(
                        {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                    )
                    for piece in tokens.split(arguments)
                )
            case _:
                assert_never(said)

    def end(self, finish: Finish) -> bytes:
        """Return the finish reason, the usage if it was asked for, and the end mark."""
        out = self._first({"content": ""}) + self._chunk(
            [self._choice({}, _REASONS[finish.reason])]
        )
        if self._usage:
            out += self._chunk([], self._cost(finish))
        return out + b"data: [DONE]\n\n"

    def fail(self, problem: RateLimited | Broken | Overloaded) -> bytes:
        """Return a chunk that is an error object; no end mark follows."""
        return _data({"error": house.describe(problem)[1]})

    def whole(self, pieces: Sequence[Said], finish: Finish) -> bytes:
        """Return the `chat.completion` object."""
        text = "".join(piece.text for piece in pieces if isinstance(piece, Text))
        reasoning = "".join(piece.text for piece in pieces if isinstance(piece, Reasoning))
        calls = [
            {
                "id": f"call_{piece.id}",
                "type": "function",
                "function": {"name": piece.name, "arguments": piece.arguments},
            }
            for piece in pieces
            if isinstance(piece, ToolCall)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = calls
        message |= {"refusal": None, "annotations": []}
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _REASONS[finish.reason],
        }
        body = {
            "id": self.id,
            "object": "chat.completion",
            "created": self._created,
            "model": self._asked.model,
            "choices": [choice],
            "usage": self._cost(finish),
            "service_tier": "default",
            "system_fingerprint": _FINGERPRINT,
        }
        return json.dumps(body, ensure_ascii=False, indent=2).encode()

    def _first(self, delta: dict[str, Any]) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._delta({"role": "assistant", **delta, "refusal": None})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self._chunk([self._choice(delta, None)])

    @staticmethod
    def _choice(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        chunk: dict[str, Any] = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._asked.model,
            "service_tier": "default",
            "system_fingerprint": _FINGERPRINT,
            "choices": choices,
        }
        if self._usage:
            chunk["usage"] = usage
        return _data(chunk)

    def _cost(self, finish: Finish) -> dict[str, Any]:
        prompt = tokens.estimate(self._asked.characters)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": finish.output,
            "total_tokens": prompt + finish.output,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": finish.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def _data(chunk: dict[str, Any]) -> bytes:
    return f"data: {compact(chunk)}\n\n".encode()
