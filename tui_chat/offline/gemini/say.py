"""Saying a reply as generateContent.

1. A stream is whole response objects, one per event, lines ending in CRLF, without an end mark; the
   last is the one with `finishReason`. Without `alt=sse` it is one JSON array instead.
2. Text parts are additions; a function call is one whole part. STOP is the reason after a call too.
3. Thoughts are parts with `thought: true`. Their signature rides on the first function call, or on
   an empty text part at the very end: dropping that part loses it.
4. `usageMetadata` is on every object and the last one counts; thoughts are not among the
   candidates' tokens.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline import tokens
from tui_chat.offline.asked import Asked
from tui_chat.offline.gemini import house
from tui_chat.offline.node import compact
from tui_chat.offline.pieces import Finish, Reasoning, Said, Text, ToolCall
from tui_chat.offline.problems import Broken, Overloaded, RateLimited
from tui_chat.offline.world import World

_REASONS = {
    "stop": "STOP",
    "stop_sequence": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
}


class GeminiVoice:
    """One generateContent reply."""

    def __init__(self, asked: Asked, world: World) -> None:
        self.id = world.token(23)
        self._asked = asked
        self._world = world
        self._prompt = tokens.estimate(asked.characters)  # once: every object repeats it
        self._output = self._reasoning = 0
        self._thought = self._signed = False

    def begin(self) -> bytes:
        """Nothing: the first object already has a part."""
        return b""

    def say(self, said: Said) -> bytes:
        """One response object with one part."""
        match said:
            case Reasoning(text):
                self._thought = True
                self._reasoning += tokens.count(text)
            case Text(text):
                self._output += tokens.count(text)
            case ToolCall(name, arguments, _):
                self._output += tokens.count(name) + tokens.count(arguments)
            case _:
                assert_never(said)
        return self._event(self._response([self._part(said)], None, self._output, self._reasoning))

    def end(self, finish: Finish) -> bytes:
        """Return the object with the finish reason; it carries the signature of a thought."""
        part: dict[str, Any] = {"text": ""}
        if self._thought and not self._signed:
            part["thoughtSignature"] = self._sign()
        return self._event(self._finished([part], finish))

    def fail(self, problem: RateLimited | Broken | Overloaded) -> bytes:
        """Return an error object in the place of a response."""
        return self._event({"error": house.describe(problem)})

    def whole(self, pieces: Sequence[Said], finish: Finish) -> bytes:
        """Return the response object: thoughts, then text, then calls."""
        thought = "".join(piece.text for piece in pieces if isinstance(piece, Reasoning))
        text = "".join(piece.text for piece in pieces if isinstance(piece, Text))
        parts: list[dict[str, Any]] = []
        if thought:
            parts.append({"text": thought, "thought": True})
        if text:
            signature = {"thoughtSignature": self._sign()} if thought else {}
            parts.append({"text": text, **signature})
        parts += [self._part(piece) for piece in pieces if isinstance(piece, ToolCall)]
        return house.laid_out(self._finished(parts, finish))

    def _part(self, said: Said) -> dict[str, Any]:
        match said:
            case Reasoning(text):
                return {"text": text, "thought": True}
            case Text(text):
                return {"text": text}
            case ToolCall(name, arguments, id):
                call = {"id": id[:8].lower(), "name": name}
                part: dict[str, Any] = {"functionCall": {**call, "args": json.loads(arguments)}}
                if not self._signed:
                    self._signed = True
                    part["thoughtSignature"] = self._sign()
                return part
            case _:
                assert_never(said)

    def _sign(self) -> str:
        return f"Eq{self._world.token(298)}"

    def _finished(self, parts: list[dict[str, Any]], finish: Finish) -> dict[str, Any]:
        output = finish.output - finish.reasoning
        return self._response(parts, _REASONS[finish.reason], output, finish.reasoning)

    def _response(
        self, parts: list[dict[str, Any]], reason: str | None, output: int, reasoning: int
    ) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts} if parts else {}
        candidate: dict[str, Any] = {"content": {**content, "role": "model"}}
        if reason:
            candidate["finishReason"] = reason
        prompt = self._prompt
        usage: dict[str, Any] = {"promptTokenCount": prompt}
        if output:
            usage["candidatesTokenCount"] = output
        usage["totalTokenCount"] = prompt + output + reasoning
        usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": prompt}]
        if reasoning:
            usage["thoughtsTokenCount"] = reasoning
        return {
            "candidates": [{**candidate, "index": 0}],
            "usageMetadata": usage,
            "modelVersion": self._asked.model,
            "responseId": self.id,
        }

    def _event(self, value: dict[str, Any]) -> bytes:
        return f"data: {compact(value)}\r\n\r\n".encode()


class ArrayVoice(GeminiVoice):
    """The same stream without `alt=sse`: one JSON array, an element at a time."""

    def __init__(self, asked: Asked, world: World) -> None:
        super().__init__(asked, world)
        self._before = "["

    def end(self, finish: Finish) -> bytes:
        """Return the last object and the end of the array."""
        return super().end(finish) + b"\n]\n"

    def fail(self, problem: RateLimited | Broken | Overloaded) -> bytes:
        """Return an error as the last element."""
        return super().fail(problem) + b"\n]\n"

    def _event(self, value: dict[str, Any]) -> bytes:
        before, self._before = self._before, ",\r\n"
        return f"{before}{json.dumps(value, ensure_ascii=False, indent=2)}".encode()
