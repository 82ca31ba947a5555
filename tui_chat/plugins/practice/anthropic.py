"""Anthropic's Messages.

1. A stream is `message_start`, then blocks (`content_block_start`, deltas, `content_block_stop`)
   counted by `index`, then `message_delta` with the stop reason and the usage so far, then
   `message_stop`. A `ping` may come anywhere; here it comes after the first block starts.
2. A thinking block starts empty, grows by `thinking_delta` and gets its `signature` in one delta at
   its end. A tool's input grows by `input_json_delta`, the first of them empty.
3. A cited text is a block of its own, with its citations as deltas after the text.
4. `usage` in `message_delta` is the total, not an increment.
5. An error is `{"type": "error", "error": {type, message}}`. `x-should-retry` says whether a retry
   makes sense. The protocol has no pictures in replies.
"""

import json
from collections.abc import Iterable
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.offline.prompt import Refusal
from tui_chat.offline.reply import Finish, Piece
from tui_chat.plugins.practice.writers import BlockWriter, Faults, event

_FAULTS: Faults = {
    "invalid": (400, "invalid_request_error", ""),
    "too_large": (413, "request_too_large", ""),
    "unknown_model": (404, "not_found_error", ""),
    "not_found": (404, "not_found_error", ""),
    "rate_limited": (
        *(429, "rate_limit_error"),
        "This request would exceed your account's rate limit. Please try again later.",
    ),
    "failed": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}


class AnthropicWriter(BlockWriter):
    """Writes Messages."""

    protocol = Protocol.ANTHROPIC
    title = "Anthropic Messages"
    reply_id = ("msg_01", 22)
    id_header = "request-id"
    reasons = ("end_turn", "stop_sequence", "max_tokens", "tool_use")
    faults = _FAULTS
    _index = -1

    def start(self) -> bytes:
        message = self._message([], None)
        message["usage"]["output_tokens"] = 1
        return event("message_start", message=message)

    def piece(self, piece: Piece) -> bytes:
        return b"" if piece.kind == "picture" else super().piece(piece)

    def opened(self, block: Piece) -> bytes:
        self._index += 1
        match block.kind:
            case "reasoning":
                content = {"type": "thinking", "thinking": "", "signature": ""}
            case "call":
                content = self._call(block, {})
            case _:
                content = {"type": "text", "text": ""}
        out = event("content_block_start", index=self._index, content_block=content)
        out += event("ping") if self._index == 0 else b""
        return out + (self.grown("") if block.kind == "call" else b"")

    def grown(self, text: str) -> bytes:
        match self.block and self.block.kind:
            case "reasoning":
                return self._delta("thinking_delta", thinking=text)
            case "call":
                return self._delta("input_json_delta", partial_json=text)
            case _:
                return self._delta("text_delta", text=text)

    def cite(self, source: Piece) -> bytes:
        return self._delta("citations_delta", citation=self._citation(source)) + self.close()

    def closed(self, block: Piece, status: str) -> bytes:
        is_signed = block.kind == "reasoning"
        out = self._delta("signature_delta", signature=self._signature()) if is_signed else b""
        return out + event("content_block_stop", index=self._index)

    def end(self, finish: Finish) -> bytes:
        reason = {"stop_reason": self.reason(finish), "stop_sequence": finish.stop}
        ended = event("message_delta", delta=reason, usage=self._usage(finish))
        return self.close() + ended + event("message_stop")

    def error(self, body: dict[str, Any]) -> bytes:
        return event("error", error=body["error"])

    def body(self, pieces: list[Piece], finish: Finish) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        for piece in pieces:
            match piece.kind:
                case "reasoning":
                    signed = {"thinking": piece.text, "signature": self._signature()}
                    content.append({"type": "thinking", **signed})
                case "call":
                    content.append(self._call(piece, json.loads(piece.text)))
                case "source":
                    content[-1]["citations"] = [self._citation(piece)]
                case "text":
                    content.append({"type": "text", "text": piece.text})
                case _:
                    pass
        return self._message(content, finish)

    @classmethod
    def refuse(cls, refusal: Refusal) -> tuple[int, dict[str, str], dict[str, Any]]:
        status, headers, body = super().refuse(refusal)
        return status, {**headers, "x-should-retry": "true"} if status >= 429 else headers, body

    @classmethod
    def fault(cls, status: int, kind: str, message: str, refusal: Refusal) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": message}}

    @classmethod
    def models(cls, names: Iterable[str]) -> dict[str, Any]:
        known = {"type": "model", "created_at": "2023-11-14T00:00:00Z"}
        data = [{**known, "id": name, "display_name": f"Loopback {name}"} for name in names]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]}
        return {"data": data, **ends, "has_more": False}

    def _call(self, call: Piece, arguments: dict[str, Any]) -> dict[str, Any]:
        id = f"toolu_01{self.random_id(22)}"
        return {"type": "tool_use", "id": id, "name": call.name, "input": arguments}

    def _delta(self, kind: str, **fields: Any) -> bytes:
        return event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def _citation(self, source: Piece) -> dict[str, Any]:
        page = {"url": source.text, "title": source.name, "cited_text": source.name}
        index = f"Eo{self.random_id(98)}"
        return {"type": "web_search_result_location", **page, "encrypted_index": index}

    def _signature(self) -> str:
        return f"Eq{self.random_id(298)}"

    def _message(self, content: list[dict[str, Any]], finish: Finish | None) -> dict[str, Any]:
        written = {
            "ephemeral_5m_input_tokens": self.cache.written,
            "ephemeral_1h_input_tokens": self.cache.written_1h,
        }
        usage = {**self._usage(finish), "cache_creation": written, "service_tier": "standard"}
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.prompt.model,
            "content": content,
            "stop_reason": self.reason(finish) if finish else None,
            "stop_sequence": finish.stop if finish else None,
            "usage": usage,
        }

    def _usage(self, finish: Finish | None) -> dict[str, Any]:
        written = self.cache.written + self.cache.written_1h
        return {
            "input_tokens": self.prompt.tokens - self.cache.read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self.cache.read,
            "output_tokens": finish.output if finish else 0,
        }
