"""Ollama's errors, model list and path.

An error is `{"error": message}`, also as a line of a stream. A wrong path or method is answered in
plain text. A local server sends no ids, no limits and no wait.

Writing a reply of `/api/chat`.

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

from tui_chat.offline.base_provider import (
    Generate,
    ListModels,
    Operation,
    ProtocolHandler,
    Provider,
)
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.http_messages import Headers, HttpRequest
from tui_chat.offline.json_reader import compact, dotted
from tui_chat.offline.models.catalogue import MODELS, find_model
from tui_chat.offline.ollama.parse_request import parse_request
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
from tui_chat.offline.tokens import estimate_prompt_tokens

_DONE_REASONS = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "stop",
}
_MODIFIED = "2023-11-14T22:13:20Z"
"""The models' time of change in the list."""

_GO_TYPES = {
    "a string": "string",
    "a boolean": "bool",
    "an integer": "number",
    "a decimal": "number",
    "an array": "array",
    "an object": "object",
}
"""Go's words for the types of JSON."""


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


class OllamaProvider(Provider):
    """A local Ollama server."""

    json_type = "application/json; charset=utf-8"

    def owns(self, request: HttpRequest) -> bool:
        """Return True for paths below /api."""
        return request.path.startswith("/api/")

    def generation(self, request: HttpRequest) -> Generate | None:
        """Return the operation of `/api/chat`."""
        return _CHAT if request.path == "/api/chat" else None

    def operation(self, request: HttpRequest) -> Operation | None:
        """Return what a request asks for; None for an unknown path."""
        return ListModels(None) if request.path == "/api/tags" else self.generation(request)

    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return an empty id, since Ollama sends none."""
        del dependencies
        return ""

    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return no headers."""
        del request_id, dependencies
        return ()

    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""
        match error:
            case InvalidJson(reason):
                return 400, _error(reason)
            case MissingHeader(name):
                return 400, _error(f"missing header {name}")
            case MissingField(path) | EmptyArray(path):
                return 400, _error(f"{dotted(path)} is required")
            case WrongType(path, expected, got):
                # The body itself, if it is no object.
                place = f"field ChatRequest.{_field(path)}" if path else "value"
                message = f"json: cannot unmarshal {_GO_TYPES.get(got, 'null')} into Go "
                message += f"{'struct ' if path else ''}{place} of type "
                return 400, _error(message + (_GO_TYPES[expected] if path else "api.ChatRequest"))
            case NumberOutOfRange(path, bound, below, _):
                side = "at least" if below else "at most"
                return 400, _error(f"{dotted(path)} must be {side} {bound:g}")
            case InvalidValue(_, message, _):
                return 400, _error(message)
            case BodyTooLarge():
                return 413, _error("http: request body too large")
            case UnknownModel(model):
                return 404, _error(f"model '{model[:200]}' not found")
            case UnknownPath():
                return 404, _error("404 page not found")
            case WrongMethod():
                return 405, _error("405 method not allowed")
            case UnknownResponse(id):
                return 404, _error(f"response '{id[:200]}' not found")
            case RateLimited(seconds):
                return 429, _error(f"you have reached your limit, please try again in {seconds}s")
            case ServerFailure():
                return 500, _error("an error was encountered while running the model")
            case Overloaded():
                words = "server busy, please try again.  maximum pending requests exceeded"
                return 503, _error(words)
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return an error object, or the plain text for a wrong path or method."""
        del request_id
        message = error["error"]
        is_plain = message in ("404 page not found", "405 method not allowed")
        return message.encode() if is_plain else compact(error).encode()

    def error_headers(
        self, status: int, error: RequestError, dependencies: OfflineDependencies
    ) -> Headers:
        """Return the type of plain text for a wrong path or method."""
        del status, dependencies
        match error:
            case UnknownPath():
                return (("content-type", "text/plain"),)
            case WrongMethod(method):
                allowed = "POST" if method != "POST" else "GET"
                return (("content-type", "text/plain"), ("allow", allowed))
            case _:
                return ()

    def model_list(self) -> bytes:
        """Return the body of `GET /api/tags`."""
        return compact({"models": [_model_entry(model.name) for model in MODELS]}).encode()

    def model_entry(self, name: str) -> bytes | None:
        """Return the entry of one model, which no path of Ollama's asks for."""
        return compact(_model_entry(name)).encode() if find_model(name) else None


OLLAMA = OllamaProvider()

_CHAT = Generate(
    ProtocolHandler(OLLAMA, parse_request, OllamaChatWriter, stream_type="application/x-ndjson")
)


def _error(message: str) -> dict[str, str]:
    return {"error": message}


def _field(path: tuple[str | int, ...]) -> str:
    """Return a path as Go writes it, without indices."""
    return ".".join(step for step in path if isinstance(step, str))


def _model_entry(name: str) -> dict[str, Any]:
    capabilities = ["completion", "tools", *(["thinking"] if name.startswith("thinker") else [])]
    return {
        "name": name,
        "model": name,
        "modified_at": _MODIFIED,
        "size": 1,
        "digest": "0" * 64,
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "loopback",
            "families": ["loopback"],
            "parameter_size": "0B",
            "quantization_level": "F16",
        },
        "capabilities": capabilities,
    }
