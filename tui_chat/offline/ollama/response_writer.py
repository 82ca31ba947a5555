"""Writing a reply of `/api/chat`.

1. A stream is JSON objects, one a line. Each repeats model and time, and has a message with the
   next text, thinking or calls; the last one has an empty message, `done`, and the figures.
2. A call is whole, its arguments an object. `done_reason` is `stop` after a call too.
3. Durations are in nanoseconds.
4. A request without messages gets an empty reply, with the reason `load`.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
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
)
from tui_chat.offline.tokens import estimate_prompt_tokens

_DONE_REASONS = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "stop",
}


class OllamaChatWriter:
    """One reply of `/api/chat`."""

    id = ""
    """Ollama's replies have no id."""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self._prompt = prompt
        self._dependencies = dependencies
        self._start = dependencies.monotonic()
        self._calls = 0

    def start(self) -> bytes:
        """Return nothing: the first line already has a part of the reply."""
        return b""

    def piece(self, piece: Content) -> bytes:
        """Return a line with one part of the reply."""
        if isinstance(piece, SourcePiece):
            return b""  # the protocol has no citations
        return self._line(self._chunk(self._message(piece)))

    def end(self, finish: Finish) -> bytes:
        """Return the last line, with the figures."""
        return self._line(self._finished({"role": "assistant", "content": ""}, finish))

    def error(self, error: dict[str, Any]) -> bytes:
        """Return a line that is an error alone."""
        return self._line(error)

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the reply as one object."""
        if not self._prompt.turns:
            empty = self._chunk({"role": "assistant", "content": ""})
            return self._line({**empty, "done": True, "done_reason": "load"})
        thinking = "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)),
        }
        if thinking:
            message["thinking"] = thinking
        if images := [piece.data for piece in pieces if isinstance(piece, PicturePiece)]:
            message["images"] = images
        calls = [self._call(piece) for piece in pieces if isinstance(piece, ToolCallPiece)]
        if calls:
            message["tool_calls"] = calls
        return self._line(self._finished(message, finish))

    def _message(
        self, piece: ReasoningPiece | TextPiece | ToolCallPiece | PicturePiece
    ) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        match piece:
            case ReasoningPiece(text):
                return {**message, "thinking": text}
            case TextPiece(text):
                return {**message, "content": text}
            case PicturePiece(data):
                return {**message, "images": [data]}
            case ToolCallPiece():
                return {**message, "tool_calls": [self._call(piece)]}
            case _:
                assert_never(piece)

    def _call(self, piece: ToolCallPiece) -> dict[str, Any]:
        index, self._calls = self._calls, self._calls + 1
        function = {"index": index, "name": piece.name, "arguments": json.loads(piece.arguments)}
        return {"id": f"call_{piece.id[-8:].lower()}", "function": function}

    def _chunk(self, message: dict[str, Any]) -> dict[str, Any]:
        now = datetime.fromtimestamp(self._dependencies.now(), UTC)
        return {
            "model": self._prompt.model,
            "created_at": now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "message": message,
            "done": False,
        }

    def _finished(self, message: dict[str, Any], finish: Finish) -> dict[str, Any]:
        spent = int((self._dependencies.monotonic() - self._start) * 1e9)
        return {
            **self._chunk(message),
            "done": True,
            "done_reason": _DONE_REASONS[finish.reason],
            "total_duration": spent + 2_000_000,
            "load_duration": 1_000_000,
            "prompt_eval_count": estimate_prompt_tokens(self._prompt.characters),
            "prompt_eval_duration": 1_000_000,
            "eval_count": finish.output,
            "eval_duration": spent,
        }

    def _line(self, value: dict[str, Any]) -> bytes:
        return f"{compact(value)}\n".encode()
