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
from typing import Any, ClassVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline.prompt import Prompt, Refusal
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.offline.reply import Finish, Piece
from tui_chat.plugins.practice.writers import BlockWriter, Faults, client_faults, event


class AnthropicWriter(BlockWriter):
    """Writes Messages."""

    protocol = Protocol.ANTHROPIC
    title = "Anthropic Messages"
    reply_id = ("msg_01", 22)
    id_header = "request-id"
    reasons = ("end_turn", "stop_sequence", "max_tokens", "tool_use")
    faults: ClassVar[Faults] = {
        **client_faults("invalid_request_error", "not_found_error", (413, "request_too_large")),
        "rate_limited": (
            *(429, "rate_limit_error"),
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        "failed": (500, "api_error", "Internal server error"),
        "overloaded": (529, "overloaded_error", "Overloaded"),
    }
    _index = -1

    def __init__(self, prompt: Prompt, dependencies: OfflineDependencies) -> None:
        super().__init__(prompt, dependencies)
        self._block: dict[str, Any] = {}
        self._content: list[dict[str, Any]] = []

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
                self._block = {"type": "thinking", "thinking": "", "signature": ""}
            case "call":
                call = {"type": "tool_use", "id": f"toolu_01{self.random_id(22)}"}
                self._block = {**call, "name": block.name, "input": {}}
            case _:
                self._block = {"type": "text", "text": ""}
        out = event("content_block_start", index=self._index, content_block=self._block)
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
        citation = self._citation(source)
        out = self._delta("citations_delta", citation=citation) + self.close()
        self._content[-1]["citations"] = [citation]
        return out

    def closed(self, block: Piece, status: str) -> bytes:
        out, content = b"", self._block
        match block.kind:
            case "reasoning":
                signature = f"Eq{self.random_id(298)}"
                out = self._delta("signature_delta", signature=signature)
                content |= {"thinking": block.text, "signature": signature}
            case "call":
                content["input"] = json.loads(block.text)
            case _:
                content["text"] = block.text
        self._content.append(content)
        return out + event("content_block_stop", index=self._index)

    def end(self, finish: Finish) -> bytes:
        reason = {"stop_reason": self.reason(finish), "stop_sequence": finish.stop}
        ended = event("message_delta", delta=reason, usage=self._usage(finish))
        return self.close() + ended + event("message_stop")

    def error(self, body: dict[str, Any]) -> bytes:
        return event("error", error=body["error"])

    def whole(self, pieces: list[Piece], finish: Finish) -> bytes:
        for piece in (*pieces, finish):
            self.write(piece)
        return to_json(self._message(self._content, self.finished(finish))).encode()

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

    def _delta(self, kind: str, **fields: Any) -> bytes:
        return event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def _citation(self, source: Piece) -> dict[str, Any]:
        page = {"url": source.text, "title": source.name, "cited_text": source.name}
        index = f"Eo{self.random_id(98)}"
        return {"type": "web_search_result_location", **page, "encrypted_index": index}

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
