"""Ollama's `/api/chat`.

1. A stream, the default, is JSON objects, one a line. Each repeats model and time, and has a
   message with the next text, thinking or calls; the last one has an empty message, `done`, and
   the figures.
2. A call is whole, its arguments an object. `done_reason` is `stop` after a call too.
3. Durations are in nanoseconds.
4. An error is `{"error": message}`, also as a line of a stream. A local server sends no ids, no
   limits and no wait.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, ClassVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline.prompt import Refusal
from tui_chat.offline.reply import Finish, Piece
from tui_chat.plugins.practice.writers import Faults, PracticeWriter, client_faults, text_of


class OllamaWriter(PracticeWriter):
    """Writes replies of `/api/chat`."""

    protocol = Protocol.OLLAMA
    title = "Ollama chat"
    waits_in_header = False
    json_type = "application/json; charset=utf-8"
    stream_type = "application/x-ndjson"
    reasons = ("stop", "stop", "length", "stop")
    faults: ClassVar[Faults] = {
        **client_faults("", "", (413, "")),
        "rate_limited": (429, "", "you have reached your limit, please try again in {s}s"),
        "failed": (500, "", "an error was encountered while running the model"),
        "overloaded": (
            503,
            "",
            "server busy, please try again.  maximum pending requests exceeded",
        ),
    }

    def start(self) -> bytes:
        return b""  # the first line already has a part of the reply

    def piece(self, piece: Piece) -> bytes:
        return b"" if piece.kind == "source" else self.error(self._line([piece]))

    def end(self, finish: Finish) -> bytes:
        return self.error(self._line([], finish))

    def body(self, pieces: list[Piece], finish: Finish) -> dict[str, Any]:
        return self._line(pieces, finish)

    def error(self, body: dict[str, Any]) -> bytes:
        return f"{to_json(body)}\n".encode()

    @classmethod
    def fault(cls, status: int, kind: str, message: str, refusal: Refusal) -> dict[str, Any]:
        return {"error": message}

    @classmethod
    def models(cls, names: Iterable[str]) -> dict[str, Any]:
        return {"models": [{"name": name, "model": name} for name in names]}

    def _line(self, pieces: list[Piece], finish: Finish | None = None) -> dict[str, Any]:
        calls = [piece for piece in pieces if piece.kind == "call"]
        fields = {
            "thinking": text_of(pieces, "reasoning"),
            "images": [piece.text for piece in pieces if piece.kind == "picture"],
            "tool_calls": [
                self._call(call, index) for index, call in enumerate(calls, self.calls - len(calls))
            ],
        }
        text = text_of(pieces)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        message |= {name: value for name, value in fields.items() if value}
        now = datetime.fromtimestamp(self.dependencies.now(), UTC)
        time = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"model": self.prompt.model, "created_at": time}
        line |= {"message": message, "done": False}
        if tokens := self.tokens(text):
            line["logprobs"] = [token.openai() for token in tokens]
        if finish is not None:
            spent = int((self.dependencies.monotonic() - self.began) * 1e9)
            line |= {"done": True, "done_reason": self.reason(finish)}
            line |= {"total_duration": spent + 2_000_000, "load_duration": 1_000_000}
            line |= {"prompt_eval_count": self.prompt.tokens, "prompt_eval_duration": 1_000_000}
            line |= {"eval_count": finish.output, "eval_duration": spent}
        return line

    def _call(self, call: Piece, index: int) -> dict[str, Any]:
        function = {"index": index, "name": call.name, "arguments": json.loads(call.text)}
        return {"id": f"call_{self.random_id(8).lower()}", "function": function}
