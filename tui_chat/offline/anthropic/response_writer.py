"""Writing a reply as Messages.

1. A stream is `message_start`, then blocks (`content_block_start`, deltas, `content_block_stop`)
   counted by `index`, then `message_delta` with the stop reason and the usage so far, then
   `message_stop`. A `ping` may come anywhere; here it comes after the first block starts.
2. A thinking block starts empty, grows by `thinking_delta` and gets its `signature` in one delta at
   its end. A tool's input grows by `input_json_delta`, the first of them empty.
3. A cited text is a block of its own, with its citations as deltas after the text.
4. `usage` in `message_delta` is the total, not an increment.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.json_reader import compact
from tui_chat.offline.prompt_request import PromptRequest
from tui_chat.offline.reply_pieces import (
    Content,
    Finish,
    PicturePiece,
    ReasoningPiece,
    SourcePiece,
    TextPiece,
    ToolCallPiece,
    cited_texts,
)
from tui_chat.offline.tokens import estimate_prompt_tokens, split_tokens

_STOP_REASONS = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
}


class MessagesWriter:
    """One Messages reply."""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = f"msg_01{dependencies.random_id(22)}"
        self._prompt = prompt
        self._dependencies = dependencies
        self._index = -1
        self._open: str | None = None

    def start(self) -> bytes:
        """Return the message, still empty."""
        message = self._message([], None)
        message["usage"] |= {"output_tokens": 1}
        return _event("message_start", message=message)

    def piece(self, piece: Content) -> bytes:
        """Return a delta, after opening the block it belongs to and closing the one before."""
        match piece:
            case ReasoningPiece(text):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                return self._opened(block) + self._delta("thinking_delta", thinking=text)
            case TextPiece(text):
                opened = self._opened({"type": "text", "text": ""})
                return opened + self._delta("text_delta", text=text)
            case SourcePiece():
                opened = self._opened({"type": "text", "text": ""})
                cited = self._delta("citations_delta", citation=self._citation(piece))
                return opened + cited + self._closed()
            case PicturePiece():
                return b""  # the protocol has no pictures in replies
            case ToolCallPiece(name, arguments, id):
                block: dict[str, Any] = {
                    "type": "tool_use",
                    "id": f"toolu_01{id[:22]}",
                    "name": name,
                    "input": {},
                }
                out = self._closed() + self._opened(block)
                for partial in ("", *split_tokens(arguments)):
                    out += self._delta("input_json_delta", partial_json=partial)
                return out + self._closed()
            case _:
                assert_never(piece)

    def end(self, finish: Finish) -> bytes:
        """End the last block and the message."""
        return (
            self._closed()
            + _event(
                "message_delta",
                delta={"stop_reason": _STOP_REASONS[finish.reason], "stop_sequence": finish.stop},
                usage=self._usage_of(finish),
            )
            + _event("message_stop")
        )

    def error(self, error: dict[str, Any]) -> bytes:
        """Return an `error` event; nothing follows."""
        return _event("error", error=error)

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the message object."""
        thinking = "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))
        content: list[dict[str, Any]] = []
        if thinking:
            content.append({"type": "thinking", "thinking": thinking, "signature": self._sign()})
        for text, source in cited_texts(pieces):
            cited = {"citations": [self._citation(source)]} if source else {}
            content.append({"type": "text", "text": text, **cited})
        content += [
            {
                "type": "tool_use",
                "id": f"toolu_01{piece.id[:22]}",
                "name": piece.name,
                "input": json.loads(piece.arguments),
            }
            for piece in pieces
            if isinstance(piece, ToolCallPiece)
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

    def _citation(self, source: SourcePiece) -> dict[str, Any]:
        return {
            "type": "web_search_result_location",
            "url": source.url,
            "title": source.title,
            "cited_text": source.title,
            "encrypted_index": f"Eo{self._dependencies.random_id(98)}",
        }

    def _sign(self) -> str:
        return f"Eq{self._dependencies.random_id(298)}"

    def _message(self, content: list[dict[str, Any]], finish: Finish | None) -> dict[str, Any]:
        cache = self._prompt.cache
        usage = {
            **self._usage_of(finish),
            "cache_creation": {
                "ephemeral_5m_input_tokens": cache.written,
                "ephemeral_1h_input_tokens": cache.written_1h,
            },
            "service_tier": "standard",
        }
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self._prompt.model,
            "content": content,
            "stop_reason": _STOP_REASONS[finish.reason] if finish else None,
            "stop_sequence": finish.stop if finish else None,
            "usage": usage,
        }

    def _usage_of(self, finish: Finish | None) -> dict[str, Any]:
        cache = self._prompt.cache
        written = cache.written + cache.written_1h
        total = estimate_prompt_tokens(self._prompt.characters)
        return {
            "input_tokens": total - cache.read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cache.read,
            "output_tokens": finish.output if finish else 0,
        }


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {compact({'type': kind, **fields})}\n\n".encode()
