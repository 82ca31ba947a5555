"""Saying a reply as Messages.

1. A stream is `message_start`, then blocks (`content_block_start`, deltas, `content_block_stop`)
   counted by `index`, then `message_delta` with the stop reason and the usage so far, then
   `message_stop`. A `ping` may come anywhere; here it comes after the first block starts.
2. A thinking block starts empty, grows by `thinking_delta` and gets its `signature` in one delta at
   its end. A tool's input grows by `input_json_delta`, the first of them empty.
3. `usage` in `message_delta` is the total, not an addition.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline import tokens
from tui_chat.offline.anthropic import house
from tui_chat.offline.asked import Asked
from tui_chat.offline.node import compact
from tui_chat.offline.pieces import Finish, Reasoning, Said, Text, ToolCall
from tui_chat.offline.problems import Broken, Overloaded, RateLimited
from tui_chat.offline.world import World

_REASONS = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
}


class MessagesVoice:
    """One Messages reply."""

    def __init__(self, asked: Asked, world: World) -> None:
        self.id = f"msg_01{world.token(22)}"
        self._asked = asked
        self._world = world
        self._index = -1
        self._open: str | None = None

    def begin(self) -> bytes:
        """Return the message, still empty."""
        message = self._message([], None)
        message["usage"] |= {"output_tokens": 1}
        return _event("message_start", message=message)

    def say(self, said: Said) -> bytes:
        """Return a delta, after opening the block it belongs to and closing the one before."""
        match said:
            case Reasoning(text):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                return self._opened(block) + self._delta("thinking_delta", thinking=text)
            case Text(text):
                opened = self._opened({"type": "text", "text": ""})
                return opened + self._delta("text_delta", text=text)
            case ToolCall(name, arguments, id):
                block: dict[str, Any] = {
                    "type": "tool_use",
                    "id": f"toolu_01{id[:22]}",
                    "name": name,
                    "input": {},
                }
                out = self._closed() + self._opened(block)
                for piece in ("", *tokens.split(arguments)):
                    out += self._delta("input_json_delta", partial_json=piece)
                return out + self._closed()
            case _:
                assert_never(said)

    def end(self, finish: Finish) -> bytes:
        """End the last block and the message."""
        return (
            self._closed()
            + _event(
                "message_delta",
                delta={"stop_reason": _REASONS[finish.reason], "stop_sequence": finish.stop},
                usage=self._cost(finish),
            )
            + _event("message_stop")
        )

    def fail(self, problem: RateLimited | Broken | Overloaded) -> bytes:
        """Return an `error` event; nothing follows."""
        return _event("error", error=house.describe(problem)[1])

    def whole(self, pieces: Sequence[Said], finish: Finish) -> bytes:
        """Return the message object."""
        thinking = "".join(piece.text for piece in pieces if isinstance(piece, Reasoning))
        text = "".join(piece.text for piece in pieces if isinstance(piece, Text))
        content: list[dict[str, Any]] = []
        if thinking:
            content.append({"type": "thinking", "thinking": thinking, "signature": self._sign()})
        if text:
            content.append({"type": "text", "text": text})
        content += [
            {
                "type": "tool_use",
                "id": f"toolu_01{piece.id[:22]}",
                "name": piece.name,
                "input": json.loads(piece.arguments),
            }
            for piece in pieces
            if isinstance(piece, ToolCall)
        ]
        return compact(self._message(content, finish)).encode()

    def _opened(self, block: dict[str, Any]) -> bytes:
        if self._open == block["type"]:
            return b""
        out = self._closed()
        self._index += 1
        self._open = block["type"]
        out += _event("content_block_start", index=self._index, content_block=block)
        return out + (_event("ping") if self._index == 0 else b"")

    def _closed(self) -> bytes:
        if self._open is None:
            return b""
        signed = self._open == "thinking"
        out = self._delta("signature_delta", signature=self._sign()) if signed else b""
        self._open = None
        return out + _event("content_block_stop", index=self._index)

    def _delta(self, kind: str, **fields: Any) -> bytes:
        return _event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def _sign(self) -> str:
        return f"Eq{self._world.token(298)}"

    def _message(self, content: list[dict[str, Any]], finish: Finish | None) -> dict[str, Any]:
        usage = {
            **self._cost(finish),
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        }
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self._asked.model,
            "content": content,
            "stop_reason": _REASONS[finish.reason] if finish else None,
            "stop_sequence": finish.stop if finish else None,
            "usage": usage,
        }

    def _cost(self, finish: Finish | None) -> dict[str, Any]:
        return {
            "input_tokens": tokens.estimate(self._asked.characters),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": finish.output if finish else 0,
        }


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {compact({'type': kind, **fields})}\n\n".encode()
