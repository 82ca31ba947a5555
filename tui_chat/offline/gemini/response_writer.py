"""Writing a reply as generateContent.

1. A stream is whole response objects, one per event, lines ending in CRLF, without an end mark; the
   last is the one with `finishReason`. Without `alt=sse` it is one JSON array instead.
2. Text parts are additions; a function call is one whole part. STOP is the reason after a call too.
3. Thoughts are parts with `thought: true`. Their signature is on the first function call, or on an
   empty text part at the very end: dropping that part loses it.
4. `usageMetadata` is on every object and the last one counts; thoughts are not among the
   candidates' tokens.
5. `groundingMetadata` comes with the last object; its segments count bytes of UTF-8.
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
from tui_chat.offline.tokens import count_tokens, estimate_prompt_tokens

_FINISH_REASONS = {
    "stop": "STOP",
    "stop_sequence": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
}


class GenerateContentWriter:
    """One generateContent reply."""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = dependencies.random_id(23)
        self._prompt = prompt
        self._dependencies = dependencies
        self._prompt_tokens = estimate_prompt_tokens(
            prompt.characters
        )  # once: every object repeats it
        self._output = self._reasoning = 0
        self._thought = self._signed = False
        self._cited: list[Content] = []
        """The texts and sources so far."""

    def start(self) -> bytes:
        """Return nothing: the first object already has a part."""
        return b""

    def piece(self, piece: Content) -> bytes:
        """Return a response object with one part."""
        match piece:
            case ReasoningPiece(text):
                self._thought = True
                self._reasoning += count_tokens(text)
            case TextPiece(text):
                self._output += count_tokens(text)
                self._cited.append(piece)
            case SourcePiece():
                self._cited.append(piece)
                return b""
            case PicturePiece():
                pass
            case ToolCallPiece(name, arguments, _):
                self._output += count_tokens(name) + count_tokens(arguments)
            case _:
                assert_never(piece)
        return self._event(self._response([self._part(piece)], None, self._output, self._reasoning))

    def end(self, finish: Finish) -> bytes:
        """Return the object with the finish reason; it carries the signature of a thought."""
        part: dict[str, Any] = {"text": ""}
        if self._thought and not self._signed:
            part["thoughtSignature"] = self._sign()
        return self._event(self._finished([part], finish))

    def error(self, error: dict[str, Any]) -> bytes:
        """Return an error object in place of a response."""
        return self._event({"error": error})

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the response object: thoughts, then text, then pictures and calls."""
        self._cited = list(pieces)
        thought = "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))
        text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
        parts: list[dict[str, Any]] = []
        if thought:
            parts.append({"text": thought, "thought": True})
        if text:
            signature = {"thoughtSignature": self._sign()} if thought else {}
            parts.append({"text": text, **signature})
        pictures_and_calls = (PicturePiece, ToolCallPiece)
        parts += [self._part(piece) for piece in pieces if isinstance(piece, pictures_and_calls)]
        return indented(self._finished(parts, finish))

    def _part(self, piece: Content) -> dict[str, Any]:
        match piece:
            case ReasoningPiece(text):
                return {"text": text, "thought": True}
            case TextPiece(text):
                return {"text": text}
            case SourcePiece():
                return {"text": ""}
            case PicturePiece(data):
                inline = {"mimeType": "image/png", "data": data}
                return {"inlineData": inline, "thoughtSignature": self._sign()}
            case ToolCallPiece(name, arguments, id):
                call = {"id": id[:8].lower(), "name": name}
                part: dict[str, Any] = {"functionCall": {**call, "args": json.loads(arguments)}}
                if not self._signed:
                    self._signed = True
                    part["thoughtSignature"] = self._sign()
                return part
            case _:
                assert_never(piece)

    def _sign(self) -> str:
        return f"Eq{self._dependencies.random_id(298)}"

    def _finished(self, parts: list[dict[str, Any]], finish: Finish) -> dict[str, Any]:
        output, reason = finish.output - finish.reasoning, _FINISH_REASONS[finish.reason]
        response = self._response(parts, reason, output, finish.reasoning)
        if grounding := self._grounding():
            response["candidates"][0]["groundingMetadata"] = grounding
        return response

    def _grounding(self) -> dict[str, Any]:
        chunks: list[dict[str, Any]] = []
        supports: list[dict[str, Any]] = []
        start = 0
        for text, source in cited_texts(self._cited):
            end = start + len(text.encode())
            if source is not None:
                segment = {"startIndex": start, "endIndex": end, "text": text}
                supports.append({"segment": segment, "groundingChunkIndices": [len(chunks)]})
                chunks.append({"web": {"uri": source.url, "title": source.title}})
            start = end
        return {"groundingChunks": chunks, "groundingSupports": supports} if chunks else {}

    def _response(
        self, parts: list[dict[str, Any]], reason: str | None, output: int, reasoning: int
    ) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts} if parts else {}
        candidate: dict[str, Any] = {"content": {**content, "role": "model"}}
        if reason:
            candidate["finishReason"] = reason
        prompt = self._prompt_tokens
        usage: dict[str, Any] = {"promptTokenCount": prompt}
        if output:
            usage["candidatesTokenCount"] = output
        if cached := self._prompt.cache.read:
            usage["cachedContentTokenCount"] = cached
        usage["totalTokenCount"] = prompt + output + reasoning
        usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": prompt}]
        if reasoning:
            usage["thoughtsTokenCount"] = reasoning
        return {
            "candidates": [{**candidate, "index": 0}],
            "usageMetadata": usage,
            "modelVersion": self._prompt.model,
            "responseId": self.id,
        }

    def _event(self, value: dict[str, Any]) -> bytes:
        return f"data: {compact(value)}\r\n\r\n".encode()


class GenerateContentArrayWriter(GenerateContentWriter):
    """The same stream without `alt=sse`: one JSON array, an element at a time."""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        super().__init__(prompt, dependencies)
        self._separator = "["

    def end(self, finish: Finish) -> bytes:
        """Return the last object and the end of the array."""
        return super().end(finish) + b"\n]\n"

    def error(self, error: dict[str, Any]) -> bytes:
        """Return an error as the last element."""
        return super().error(error) + b"\n]\n"

    def _event(self, value: dict[str, Any]) -> bytes:
        separator, self._separator = self._separator, ",\r\n"
        return f"{separator}{json.dumps(value, ensure_ascii=False, indent=2)}".encode()


def indented(value: object) -> bytes:
    """Return JSON indented over several lines."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
