"""Ollama's errors, model list and path.

An error is `{"error": message}`, also as a line of a stream. A wrong path or method is answered in
plain text. A local server sends no ids, no limits and no wait.

"""

from typing import Any, assert_never

from tests.support.vendors.json_reader import compact, dotted
from tests.support.vendors.provider import Generate, ListModels, Provider
from tests.support.vendors.read_ollama import parse_request
from tests.support.vendors.request_errors import (
    BodyTooLarge,
    EmptyArray,
    InvalidJson,
    InvalidValue,
    MissingField,
    MissingHeader,
    NumberOutOfRange,
    RateLimited,
    RequestError,
    UnknownModel,
    UnknownPath,
    UnknownResponse,
    WrongMethod,
    WrongType,
)
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies

_GO_TYPES = {
    "a string": "string",
    "a boolean": "bool",
    "an integer": "number",
    "a decimal": "number",
    "an array": "array",
    "an object": "object",
}
"""Go's words for the types of JSON."""


class OllamaProvider(Provider):
    """A local Ollama server."""

    json_type = "application/json; charset=utf-8"

    def owns(self, request: HttpRequest) -> bool:
        """Return True for paths below /api."""
        return request.path.startswith("/api/")

    def generation(self, request: HttpRequest) -> Generate | None:
        """Return the operation of `/api/chat`."""
        return _CHAT if request.path == "/api/chat" else None

    def operation(self, request: HttpRequest) -> Generate | ListModels | None:
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
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return an error object, or the plain text for a wrong path or method."""
        del request_id
        message = error["error"]
        is_plain = message in ("404 page not found", "405 method not allowed")
        return message.encode() if is_plain else compact(error).encode()

    def error_headers(self, error: RequestError, dependencies: OfflineDependencies) -> Headers:
        """Return the type of plain text for a wrong path or method."""
        del dependencies
        match error:
            case UnknownPath():
                return (("content-type", "text/plain"),)
            case WrongMethod(method):
                allowed = "POST" if method != "POST" else "GET"
                return (("content-type", "text/plain"), ("allow", allowed))
            case _:
                return ()


OLLAMA = OllamaProvider()

_CHAT = Generate(parse_request)


def _error(message: str) -> dict[str, str]:
    return {"error": message}


def _field(path: tuple[str | int, ...]) -> str:
    """Return a path as Go writes it, without indices."""
    return ".".join(step for step in path if isinstance(step, str))
