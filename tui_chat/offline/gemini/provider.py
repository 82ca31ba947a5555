"""Gemini's headers, errors, model list and paths.

An error is `{"error": {code, message, status, details?}}`: `code` is the HTTP status, `status` the
gRPC code's name. A rate limit has no header; its wait is `RetryInfo.retryDelay` in the details, as
`2s`. Bodies are indented over several lines, as Google's are.

Writing a reply as generateContent.

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
import re
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline.base_provider import CountTokens, Generate, ProtocolHandler, Provider
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.gemini.parse_request import parse_request
from tui_chat.offline.http_messages import Headers, HttpRequest
from tui_chat.offline.json_reader import compact, dotted
from tui_chat.offline.models.catalogue import MODELS, find_model
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
from tui_chat.offline.request_errors import (
    BodyTooLarge,
    EmptyArray,
    InvalidJson,
    InvalidValue,
    MissingField,
    MissingHeader,
    NumberOutOfRange,
    Overloaded,
    RateLimited,
    RequestError,
    ServerFailure,
    UnknownModel,
    UnknownPath,
    UnknownResponse,
    WrongMethod,
    WrongType,
)
from tui_chat.offline.tokens import count_tokens, estimate_prompt_tokens

_FINISH_REASONS = {
    "stop": "STOP",
    "stop_sequence": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
}
_RPC = "type.googleapis.com/google.rpc."

_METHOD = re.compile(
    r"/(v1|v1beta)/models/([^/]+):(generateContent|streamGenerateContent|countTokens)"
)


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


class GeminiProvider(Provider):
    """Google's Gemini API."""

    json_type = "application/json; charset=UTF-8"

    def owns(self, request: HttpRequest) -> bool:
        """Return True for paths below /v1beta, and with a Google API key."""
        return (
            request.path.startswith("/v1beta/")
            or request.header("x-goog-api-key") is not None
            or "key" in request.query
        )

    def generation(self, request: HttpRequest) -> Generate | CountTokens | None:
        """Return the operation of a path /VERSION/models/MODEL:METHOD."""
        found = _METHOD.fullmatch(request.path)
        if found is None:
            return None
        version, model, method = found.groups()
        match method:
            case "countTokens":
                return CountTokens(_SSE, "totalTokens", model, version)
            case "generateContent":
                return Generate(_SSE, model, version)
            case _:
                handler = _SSE if request.query.get("alt") == "sse" else _ARRAY
                return Generate(handler, model, version, stream=True)

    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return an empty id, since Google sends none."""
        del dependencies
        return ""

    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return the headers of Google's front end, which say nothing about limits."""
        del request_id, dependencies
        return (
            ("vary", "Origin"),
            ("vary", "X-Origin"),
            ("vary", "Referer"),
            ("server-timing", "gfet4t7; dur=1"),
            ("x-content-type-options", "nosniff"),
        )

    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""
        match error:
            case InvalidJson(reason):
                return 400, _invalid(f"Invalid JSON payload received. {reason}", "")
            case MissingHeader(name):
                return 400, _invalid(f"Missing header {name}.", None)
            case MissingField(path) | EmptyArray(path):
                name = dotted(path)
                return 400, _invalid(
                    f"* GenerateContentRequest.{name}: {name} is not specified\n", None
                )
            case WrongType(path, expected, got):
                name = dotted(path)
                return 400, _invalid(
                    f"Invalid value at '{name}': expected {expected}, got {got}.", name
                )
            case NumberOutOfRange(path, bound, below, _):
                name, side = dotted(path), "at least" if below else "at most"
                message = f"* GenerateContentRequest.{name}: {name} must be {side} {bound:g}.\n"
                return 400, _invalid(message, None)
            case InvalidValue(_, message, _):
                return 400, _invalid(message, None)
            case BodyTooLarge(limit):
                message = f"Request payload size exceeds the limit: {limit} bytes."
                return 400, _invalid(message, None)
            case UnknownModel(model, version):
                message = (
                    f"models/{model[:200]} is not found for API version {version}, or is not "
                    "supported for generateContent. Call ListModels to see the list of available "
                    "models and their supported methods."
                )
                return 404, {"code": 404, "message": message, "status": "NOT_FOUND"}
            case UnknownPath() | UnknownResponse():
                message = "Requested entity was not found."
                return 404, {"code": 404, "message": message, "status": "NOT_FOUND"}
            case WrongMethod(method, path):
                message = f"The request method {method} is inappropriate for the URL {path[:200]}"
                return 405, {"code": 405, "message": message, "status": "UNIMPLEMENTED"}
            case RateLimited(seconds):
                return 429, _quota_exceeded(seconds)
            case ServerFailure():
                message = "An internal error has occurred. Please retry."
                return 500, {"code": 500, "message": message, "status": "INTERNAL"}
            case Overloaded():
                message = "The model is overloaded. Please try again later."
                return 503, {"code": 503, "message": message, "status": "UNAVAILABLE"}
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""
        del request_id
        return indented({"error": error})

    def model_list(self) -> bytes:
        """Return the body of `GET /v1beta/models`."""
        return indented({"models": [_model_entry(model.name, model.about) for model in MODELS]})

    def model_entry(self, name: str) -> bytes | None:
        """Return the body of `GET /v1beta/models/NAME`."""
        if find_model(name) is None:
            return None
        stem = name.partition(":")[0]
        about = next(model.about for model in MODELS if model.name == stem)
        return indented(_model_entry(name, about))


GEMINI = GeminiProvider()

_SSE = ProtocolHandler(GEMINI, parse_request, GenerateContentWriter, "text/event-stream")
_ARRAY = ProtocolHandler(GEMINI, parse_request, GenerateContentArrayWriter, GEMINI.json_type)


def _model_entry(name: str, about: str) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": f"Loopback {name}",
        "description": about,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 1_048_576,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
        "thinking": name.startswith("thinker"),
    }


def _invalid(message: str, field: str | None) -> dict[str, Any]:
    error: dict[str, Any] = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    if field is not None:
        violation = {"description": message} | ({"field": field} if field else {})
        error["details"] = [{"@type": f"{_RPC}BadRequest", "fieldViolations": [violation]}]
    return error


def _quota_exceeded(seconds: int) -> dict[str, Any]:
    metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    return {
        "code": 429,
        "message": (
            "You exceeded your current quota, please check your plan and billing details.\n"
            f"* Quota exceeded for metric: {metric}, limit: 3\nPlease retry in {seconds}s."
        ),
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {
                "@type": f"{_RPC}QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": metric,
                        "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                        "quotaValue": "3",
                    }
                ],
            },
            {"@type": f"{_RPC}RetryInfo", "retryDelay": f"{seconds}s"},
        ],
    }
