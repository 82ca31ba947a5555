"""Anthropic's headers, errors and list of models.

An error is `{"type": "error", "error": {type, message}, "request_id"}`, and the id is the one in
the `request-id` header. Field errors read `messages.0.content: Field required`. A rate limit is
also told by `retry-after` and `anthropic-ratelimit-*`, whose resets are RFC 3339 times.
"""

from datetime import UTC, datetime
from typing import assert_never

from tui_chat.offline.house import Complaint, Headers
from tui_chat.offline.models import MODELS, find
from tui_chat.offline.node import compact
from tui_chat.offline.problems import (
    BadMethod,
    Broken,
    Empty,
    Missing,
    NoHeader,
    NoModel,
    NoPrevious,
    NoRoute,
    NotJson,
    OutOfRange,
    Overloaded,
    Path,
    Problem,
    RateLimited,
    Rule,
    TooLarge,
    WrongType,
)
from tui_chat.offline.world import World

json_type = "application/json"
stream_type = "text/event-stream; charset=utf-8"

_KINDS = {"a string": "string", "an array": "list", "an integer": "integer", "a boolean": "boolean"}


def request_id(world: World) -> str:
    """`req_01` and 22 characters."""
    return f"req_01{world.token(22)}"


def headers(request_id: str, world: World) -> Headers:
    """Return the id of the request and plenty of room under every limit."""
    reset = _rfc3339(world.now())
    return (
        ("anthropic-organization-id", "00000000-0000-4000-8000-000000000000"),
        ("anthropic-ratelimit-requests-limit", "10000"),
        ("anthropic-ratelimit-requests-remaining", "9999"),
        ("anthropic-ratelimit-requests-reset", reset),
        ("anthropic-ratelimit-tokens-limit", "10000000"),
        ("anthropic-ratelimit-tokens-remaining", "9999000"),
        ("anthropic-ratelimit-tokens-reset", reset),
        ("request-id", request_id),
    )


def complain(problem: Problem, request_id: str, world: World) -> Complaint:
    """Return the error reply for a problem."""
    status, error = describe(problem)
    extra: Headers = ()
    if isinstance(problem, RateLimited):
        extra = (
            ("retry-after", str(problem.seconds)),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", _rfc3339(world.now() + problem.seconds)),
        )
    if status >= 429:
        extra = (*extra, ("x-should-retry", "true"))
    body = {"type": "error", "error": error, "request_id": request_id}
    return Complaint(status, compact(body).encode(), extra)


def describe(problem: Problem) -> tuple[int, dict[str, str]]:
    """Return the status and the error object of a problem."""
    match problem:
        case NotJson(reason):
            return _invalid(f"The request body is not valid JSON: {reason}")
        case NoHeader(name):
            return _invalid(f"{name}: header is required")
        case Missing(path):
            return _invalid(f"{_path(path)}: Field required")
        case WrongType((), _, _):
            return _invalid("Input should be a valid dictionary or object to extract fields from")
        case WrongType(path, expected, _):
            sort = _KINDS.get(expected, expected.partition(" ")[2])
            return _invalid(f"{_path(path)}: Input should be a valid {sort}")
        case Empty(("messages",)):
            return _invalid("messages: at least one message is required")
        case Empty(path):
            return _invalid(f"{_path(path)}: List should have at least 1 item after validation")
        case OutOfRange(path, bound, below, _):
            side = "greater" if below else "less"
            return _invalid(f"{_path(path)}: Input should be {side} than or equal to {bound:g}")
        case Rule(path, message, _):
            return _invalid(f"{_path(path)}: {message}" if path else message)
        case TooLarge():
            message = "Request exceeds the maximum size"
            return 413, {"type": "request_too_large", "message": message}
        case NoModel(model):
            return 404, {"type": "not_found_error", "message": f"model: {model[:200]}"}
        case NoRoute() | NoPrevious():
            return 404, {"type": "not_found_error", "message": "Not Found"}
        case BadMethod():
            return 405, {"type": "invalid_request_error", "message": "Method Not Allowed"}
        case RateLimited():
            message = "This request would exceed your account's rate limit. Please try again later."
            return 429, {"type": "rate_limit_error", "message": message}
        case Broken():
            return 500, {"type": "api_error", "message": "Internal server error"}
        case Overloaded():
            return 529, {"type": "overloaded_error", "message": "Overloaded"}
        case _:
            assert_never(problem)


def catalogue() -> bytes:
    """Return the body of `GET /v1/models`."""
    data = [_entry(model.name) for model in MODELS]
    return compact(
        {
            "data": data,
            "first_id": MODELS[0].name,
            "last_id": MODELS[-1].name,
            "has_more": False,
        }
    ).encode()


def entry(name: str) -> bytes | None:
    """Return the body of `GET /v1/models/NAME`."""
    return compact(_entry(name)).encode() if find(name) else None


def _entry(name: str) -> dict[str, str | int]:
    return {
        "type": "model",
        "id": name,
        "display_name": f"Loopback {name}",
        "created_at": "2023-11-14T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 1_000_000,
        "max_tokens": 1_000_000,
    }


def _invalid(message: str) -> tuple[int, dict[str, str]]:
    return 400, {"type": "invalid_request_error", "message": message}


def _path(path: Path) -> str:
    return ".".join(map(str, path))


def _rfc3339(seconds: float) -> str:
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return moment.isoformat().replace("+00:00", "Z")
