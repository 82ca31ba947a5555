"""Gemini's generateContent.

1. A stream is whole response objects, one per event, lines ending in CRLF, without an end mark; the
   last is the one with `finishReason`.
2. Text parts are additions; a function call is one whole part. STOP is the reason after a call too.
3. Thoughts are parts with `thought: true`. Their signature is on the first function call, or on an
   empty text part at the very end: dropping that part loses it.
4. `usageMetadata` is on every object and the last one counts; thoughts are not among the
   candidates' tokens.
5. `groundingMetadata` comes with the last object; its segments count bytes of UTF-8.
6. An error is `{"error": {code, message, status, details?}}`: `code` is the HTTP status, `status`
   the gRPC code's name. A rate limit has no header; its wait is `RetryInfo.retryDelay`, as `2s`.
"""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline.prompt import Refusal
from tui_chat.offline.reply import Finish, Piece, split_tokens
from tui_chat.plugins.practice.probabilities import Token, gemini_token
from tui_chat.plugins.practice.writers import Faults, PracticeWriter, client_faults


class GeminiWriter(PracticeWriter):
    """Writes replies of generateContent."""

    protocol = Protocol.GEMINI
    title = "Gemini generateContent"
    reply_id = ("", 23)
    waits_in_header = False
    json_type = "application/json; charset=UTF-8"
    stream_type = "text/event-stream"
    reasons = ("STOP", "STOP", "MAX_TOKENS", "STOP")
    faults: ClassVar[Faults] = {
        **client_faults("INVALID_ARGUMENT", "NOT_FOUND", (400, "INVALID_ARGUMENT")),
        "rate_limited": (
            *(429, "RESOURCE_EXHAUSTED"),
            "You exceeded your current quota.\nPlease retry in {s}s.",
        ),
        "failed": (500, "INTERNAL", "An internal error has occurred. Please retry."),
        "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    }
    _signed = False
    _output = 0

    def start(self) -> bytes:
        return b""  # the first object already has a part

    def piece(self, piece: Piece) -> bytes:
        if piece.kind == "source":
            return b""
        self._output += len(list(split_tokens(piece.text)))
        tokens = self.tokens(piece.text) if piece.kind == "text" else []
        return self.error(self._response([self._part(piece)], self._output, tokens))

    def end(self, finish: Finish) -> bytes:
        part = {"text": ""}
        if self.reasoning and not self._signed:
            part["thoughtSignature"] = self._signature()
        return self.error(self._response([part], finish.output, [], self.reason(finish)))

    def body(self, pieces: list[Piece], finish: Finish) -> dict[str, Any]:
        parts = [self._part(piece) for piece in pieces if piece.kind != "source"]
        if self.reasoning and not self._signed:
            parts[-1]["thoughtSignature"] = self._signature()
        return self._response(parts, finish.output, self.tokens(self.cited), self.reason(finish))

    def error(self, body: dict[str, Any]) -> bytes:
        return f"data: {to_json(body)}\r\n\r\n".encode()

    @classmethod
    def fault(cls, status: int, kind: str, message: str, refusal: Refusal) -> dict[str, Any]:
        error: dict[str, Any] = {"code": status, "message": message, "status": kind}
        if refusal.seconds:
            retry = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": retry, "retryDelay": f"{refusal.seconds}s"}]
        return {"error": error}

    @classmethod
    def models(cls, names: Iterable[str]) -> dict[str, Any]:
        methods = {"supportedGenerationMethods": ["generateContent", "countTokens"]}
        models = [{"name": f"models/{n}", "displayName": f"Loopback {n}", **methods} for n in names]
        return {"models": models}

    @classmethod
    def model(cls, name: str) -> dict[str, Any]:
        return cls.models([name])["models"][0]

    @classmethod
    def count_body(cls, tokens: int) -> dict[str, Any]:
        return {"totalTokens": tokens}

    def _part(self, piece: Piece) -> dict[str, Any]:
        match piece.kind:
            case "reasoning":
                return {"text": piece.text, "thought": True}
            case "picture":
                inline = {"mimeType": "image/png", "data": piece.text}
                return {"inlineData": inline, "thoughtSignature": self._signature()}
            case "call":
                id = self.random_id(8).lower()
                call = {"id": id, "name": piece.name, "args": json.loads(piece.text)}
                signed = {} if self._signed else {"thoughtSignature": self._signature()}
                self._signed = True
                return {"functionCall": call, **signed}
            case _:
                return {"text": piece.text}

    def _signature(self) -> str:
        return f"Eq{self.random_id(298)}"

    def _response(
        self, parts: list[dict[str, Any]], output: int, tokens: list[Token], reason: str = ""
    ) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if tokens:
            likely = [{"candidates": [gemini_token(*o) for o in t.likely]} for t in tokens]
            chosen = [gemini_token(token.text, token.logprob) for token in tokens]
            candidate["logprobsResult"] = {"topCandidates": likely, "chosenCandidates": chosen}
        if reason:
            candidate["finishReason"] = reason
        if reason and self.sources:
            candidate["groundingMetadata"] = self._grounding()
        prompt = self.prompt.tokens
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": output - self.reasoning}
        usage["totalTokenCount"] = prompt + output
        if self.cache.read:
            usage["cachedContentTokenCount"] = self.cache.read
        if self.reasoning:
            usage["thoughtsTokenCount"] = self.reasoning
        response = {"candidates": [candidate], "usageMetadata": usage}
        return {**response, "modelVersion": self.prompt.model, "responseId": self.id}

    def _grounding(self) -> dict[str, Any]:
        chunks = [{"web": {"uri": s.text, "title": s.name}} for s, _, _ in self.sources]
        supports: list[dict[str, Any]] = []
        for index, (_, *ends) in enumerate(self.sources):
            start, end = (len(self.cited[:offset].encode()) for offset in ends)
            segment: dict[str, Any] = {"startIndex": start} if start else {}
            segment |= {"endIndex": end, "text": self.cited[ends[0] : ends[1]]}
            supports.append({"segment": segment, "groundingChunkIndices": [index]})
        return {"groundingChunks": chunks, "groundingSupports": supports}
