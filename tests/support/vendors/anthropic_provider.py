"""Anthropic's headers, errors and paths.

An error is `{"type": "error", "error": {type, message}, "request_id"}`, with the id of the
`request-id` header. Field errors read `messages.0.content: Field required`. A rate limit is also
reported in `retry-after` and `anthropic-ratelimit-*`, whose resets are RFC 3339 times.

"""

from datetime import UTC, datetime
from typing import Any, assert_never

from tests.support.vendors.json_reader import compact
from tests.support.vendors.provider import Generate, Provider
from tests.support.vendors.read_anthropic import parse_request
from tests.support.vendors.request_errors import (
    BodyTooLarge,
    EmptyArray,
    InvalidJson,
    InvalidValue,
    MissingField,
    MissingHeader,
    NumberOutOfRange,
    Path,
    RateLimited,
    RequestError,
    RequestRefused,
    UnknownModel,
    UnknownPath,
    UnknownResponse,
    WrongMethod,
    WrongType,
)
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies

_TYPES = {"a string": "string", "an array": "list", "an integer": "integer", "a boolean": "boolean"}


class AnthropicProvider(Provider):
    """Anthropic."""

    def owns(self, request: HttpRequest) -> bool:
        """Return True for paths below /v1/messages, and with the version header."""
        return (
            request.path.startswith("/v1/messages")
            or request.header("anthropic-version") is not None
        )

    def generation(self, request: HttpRequest) -> Generate | None:
        """Return the operation of one of Anthropic's paths."""
        return _GENERATIONS.get(request.path)

    def check_headers(self, request: HttpRequest) -> None:
        """Raise RequestRefused if `anthropic-version` is missing."""
        if request.header("anthropic-version") is None:
            raise RequestRefused(MissingHeader("anthropic-version"))

    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return `req_01` and 22 characters."""
        return f"req_01{dependencies.random_id(22)}"

    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return the request id and limits that are far from reached."""
        reset = _rfc3339(dependencies.now())
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

    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""
        match error:
            case InvalidJson(reason):
                return _invalid(f"The request body is not valid JSON: {reason}")
            case MissingHeader(name):
                return _invalid(f"{name}: header is required")
            case MissingField(path):
                return _invalid(f"{_dotted(path)}: Field required")
            case WrongType((), _, _):
                return _invalid(
                    "Input should be a valid dictionary or object to extract fields from"
                )
            case WrongType(path, expected, _):
                type_name = _TYPES.get(expected, expected.partition(" ")[2])
                return _invalid(f"{_dotted(path)}: Input should be a valid {type_name}")
            case EmptyArray(("messages",)):
                return _invalid("messages: at least one message is required")
            case EmptyArray(path):
                return _invalid(
                    f"{_dotted(path)}: List should have at least 1 item after validation"
                )
            case NumberOutOfRange(path, bound, below, _):
                side = "greater" if below else "less"
                return _invalid(
                    f"{_dotted(path)}: Input should be {side} than or equal to {bound:g}"
                )
            case InvalidValue(path, message, _):
                return _invalid(f"{_dotted(path)}: {message}" if path else message)
            case BodyTooLarge():
                message = "Request exceeds the maximum size"
                return 413, {"type": "request_too_large", "message": message}
            case UnknownModel(model):
                return 404, {"type": "not_found_error", "message": f"model: {model[:200]}"}
            case UnknownPath() | UnknownResponse():
                return 404, {"type": "not_found_error", "message": "Not Found"}
            case WrongMethod():
                return 405, {"type": "invalid_request_error", "message": "Method Not Allowed"}
            case RateLimited():
                message = (
                    "This request would exceed your account's rate limit. Please try again later."
                )
                return 429, {"type": "rate_limit_error", "message": message}
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""
        return compact({"type": "error", "error": error, "request_id": request_id}).encode()

    def error_headers(self, error: RequestError, dependencies: OfflineDependencies) -> Headers:
        """Return the wait for a rate limit, and whether a retry makes sense."""
        if not isinstance(error, RateLimited):
            return ()
        return (
            ("retry-after", str(error.seconds)),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", _rfc3339(dependencies.now() + error.seconds)),
            ("x-should-retry", "true"),
        )


ANTHROPIC = AnthropicProvider()

_GENERATIONS = {
    "/v1/messages": Generate(parse_request),
    "/v1/messages/count_tokens": Generate(parse_request, counting=True),
}


def _invalid(message: str) -> tuple[int, dict[str, str]]:
    return 400, {"type": "invalid_request_error", "message": message}


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))


def _rfc3339(seconds: float) -> str:
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return moment.isoformat().replace("+00:00", "Z")
