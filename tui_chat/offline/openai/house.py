"""What both OpenAI protocols share: headers, the error object, the list of models.

An error is `{"error": {message, type, param, code}}` with all four keys always there; a rate limit
is also told by `retry-after` and the `x-ratelimit-*` headers, with resets like `2s` or `6m0s`.
"""

from typing import assert_never

from tui_chat.offline.house import Complaint, Headers
from tui_chat.offline.models import MODELS, find
from tui_chat.offline.node import compact, dotted
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
    Problem,
    RateLimited,
    Rule,
    TooLarge,
    WrongType,
)
from tui_chat.offline.world import World

json_type = "application/json"
stream_type = "text/event-stream; charset=utf-8"

_BORN = 1_700_000_000
"""When the models were made, in seconds since 1970, as their list entries tell."""


def request_id(world: World) -> str:
    """`req_` and 32 characters."""
    return f"req_{world.token(32).lower()}"


def headers(request_id: str, world: World) -> Headers:
    """Return the id of the request and plenty of room under every limit."""
    del world
    return (
        ("openai-organization", "loopback"),
        ("openai-processing-ms", "1"),
        ("openai-version", "2020-10-01"),
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-limit-tokens", "10000000"),
        ("x-ratelimit-remaining-requests", "9999"),
        ("x-ratelimit-remaining-tokens", "9999000"),
        ("x-ratelimit-reset-requests", "6ms"),
        ("x-ratelimit-reset-tokens", "6ms"),
        ("x-request-id", request_id),
    )


def complain(problem: Problem, request_id: str, world: World) -> Complaint:
    """Return the error reply for a problem."""
    del request_id, world
    status, error = describe(problem)
    extra: Headers = ()
    if isinstance(problem, RateLimited):
        extra = (
            ("retry-after", str(problem.seconds)),
            ("retry-after-ms", str(problem.seconds * 1000)),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", f"{problem.seconds}s"),
        )
    if isinstance(problem, BadMethod):
        extra = (("allow", "POST" if problem.method != "POST" else "GET"),)
    return Complaint(status, compact({"error": error}).encode(), extra)


def describe(problem: Problem) -> tuple[int, dict[str, str | None]]:
    """Return the status and the error object of a problem."""
    match problem:
        case NotJson():
            return _invalid(
                "We could not parse the JSON body of your request. (HINT: This likely means you "
                "aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, "
                "but what was sent was not valid JSON.)"
            )
        case NoHeader(name):
            return _invalid(f"Missing required header: '{name}'.")
        case Missing(("model",)):
            return _invalid("you must provide a model parameter")
        case Missing(path):
            name = dotted(path)
            return _invalid(
                f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
            )
        case WrongType(path, expected, got):
            name = dotted(path)
            message = f"Invalid type for '{name}': expected {expected}, but got {got} instead."
            return _invalid(message, name, "invalid_type")
        case Empty(path):
            name = dotted(path)
            return _invalid(
                f"Invalid '{name}': empty array. Expected an array with minimum length 1, "
                "but got an empty array instead.",
                name,
                "empty_array",
            )
        case OutOfRange(path, bound, below, got):
            name, sort = dotted(path), "integer" if isinstance(got, int) else "decimal"
            side, sign, code = (
                ("below minimum", ">=", "below_min")
                if below
                else (
                    "above maximum",
                    "<=",
                    "above_max",
                )
            )
            return _invalid(
                f"Invalid '{name}': {sort} {side} value. Expected a value {sign} {bound:g}, "
                f"but got {str(got)[:40]} instead.",
                name,
                f"{sort}_{code}_value",
            )
        case Rule(path, message, code):
            return _invalid(message, dotted(path) or None, code)
        case TooLarge(limit):
            message = f"Request body exceeds the maximum of {limit} bytes."
            return 413, _error(message, "invalid_request_error", None, "request_too_large")
        case NoModel(model):
            message = f"The model `{model[:200]}` does not exist or you do not have access to it."
            return 404, _error(message, "invalid_request_error", None, "model_not_found")
        case NoRoute(method, path):
            message = f"Invalid URL ({method} {path[:200]})"
            return 404, _error(message, "invalid_request_error", None, None)
        case BadMethod(method, path):
            message = f"Not allowed to {method} on {path[:200]}."
            return 405, _error(message, "invalid_request_error", None, "method_not_supported")
        case NoPrevious(id):
            return _invalid(
                f"Previous response with id '{id[:200]}' not found.",
                "previous_response_id",
                "previous_response_not_found",
            )
        case RateLimited(seconds):
            message = (
                "Rate limit reached for this loopback model on requests per min (RPM): Limit 3, "
                f"Used 3, Requested 1. Please try again in {seconds}s."
            )
            return 429, _error(message, "requests", None, "rate_limit_exceeded")
        case Broken():
            message = "The server had an error while processing your request. Sorry about that!"
            return 500, _error(message, "server_error", None, None)
        case Overloaded():
            message = "The engine is currently overloaded, please try again later"
            return 503, _error(message, "server_error", None, None)
        case _:
            assert_never(problem)


def catalogue() -> bytes:
    """Return the body of `GET /v1/models`."""
    data = [_entry(model.name) for model in MODELS]
    return compact({"object": "list", "data": data}).encode()


def entry(name: str) -> bytes | None:
    """Return the body of `GET /v1/models/NAME`."""
    return compact(_entry(name)).encode() if find(name) else None


def _entry(name: str) -> dict[str, str | int]:
    return {"id": name, "object": "model", "created": _BORN, "owned_by": "loopback"}


def _invalid(
    message: str, param: str | None = None, code: str | None = None
) -> tuple[int, dict[str, str | None]]:
    return 400, _error(message, "invalid_request_error", param, code)


def _error(message: str, kind: str, param: str | None, code: str | None) -> dict[str, str | None]:
    return {"message": message, "type": kind, "param": param, "code": code}
