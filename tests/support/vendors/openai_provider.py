"""OpenAI's headers, errors and paths, for both of its protocols.

An error is `{"error": {message, type, param, code}}` with all four keys always present. A rate
limit is also reported in `retry-after` and the `x-ratelimit-*` headers, with resets like `2s` or
`6m0s`.
"""

from typing import Any, assert_never

from tests.support.vendors.json_reader import compact, dotted
from tests.support.vendors.provider import Generate, Provider
from tests.support.vendors.read_openai import parse_chat_request, parse_responses_request
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


class OpenAIProvider(Provider):
    """OpenAI."""

    def generation(self, request: HttpRequest) -> Generate | None:
        """Return the operation of one of OpenAI's paths."""
        return _GENERATIONS.get(request.path)

    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return `req_` and 32 characters."""
        return f"req_{dependencies.random_id(32).lower()}"

    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return the request id and limits that are far from reached."""
        del dependencies
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

    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""
        match error:
            case InvalidJson():
                return _invalid(
                    "We could not parse the JSON body of your request. (HINT: This likely means "
                    "you aren't using your HTTP library correctly. The OpenAI API expects a JSON "
                    "payload, but what was sent was not valid JSON.)"
                )
            case MissingHeader(name):
                return _invalid(f"Missing required header: '{name}'.")
            case MissingField(("model",)):
                return _invalid("you must provide a model parameter")
            case MissingField(path):
                name = dotted(path)
                return _invalid(
                    f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
                )
            case WrongType(path, expected, got):
                name = dotted(path)
                message = f"Invalid type for '{name}': expected {expected}, but got {got} instead."
                return _invalid(message, name, "invalid_type")
            case EmptyArray(path):
                name = dotted(path)
                return _invalid(
                    f"Invalid '{name}': empty array. Expected an array with minimum length 1, "
                    "but got an empty array instead.",
                    name,
                    "empty_array",
                )
            case NumberOutOfRange(path, bound, below, got):
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
            case InvalidValue(path, message, code):
                return _invalid(message, dotted(path) or None, code)
            case BodyTooLarge(limit):
                message = f"Request body exceeds the maximum of {limit} bytes."
                return 413, _error(message, "invalid_request_error", None, "request_too_large")
            case UnknownModel(model):
                message = (
                    f"The model `{model[:200]}` does not exist or you do not have access to it."
                )
                return 404, _error(message, "invalid_request_error", None, "model_not_found")
            case UnknownPath(method, path):
                message = f"Invalid URL ({method} {path[:200]})"
                return 404, _error(message, "invalid_request_error", None, None)
            case WrongMethod(method, path):
                message = f"Not allowed to {method} on {path[:200]}."
                return 405, _error(message, "invalid_request_error", None, "method_not_supported")
            case UnknownResponse(id):
                return _invalid(
                    f"Previous response with id '{id[:200]}' not found.",
                    "previous_response_id",
                    "previous_response_not_found",
                )
            case RateLimited(seconds):
                message = (
                    "Rate limit reached for this loopback model on requests per min (RPM): Limit "
                    f"3, Used 3, Requested 1. Please try again in {seconds}s."
                )
                return 429, _error(message, "requests", None, "rate_limit_exceeded")
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""
        del request_id
        return compact({"error": error}).encode()

    def error_headers(self, error: RequestError, dependencies: OfflineDependencies) -> Headers:
        """Return the wait for a rate limit and the method for a wrong one."""
        del dependencies
        match error:
            case RateLimited(seconds):
                return (
                    ("retry-after", str(seconds)),
                    ("retry-after-ms", str(seconds * 1000)),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", f"{seconds}s"),
                )
            case WrongMethod(method):
                return (("allow", "POST" if method != "POST" else "GET"),)
            case _:
                return ()


OPENAI = OpenAIProvider()

_GENERATIONS = {
    "/v1/chat/completions": Generate(parse_chat_request),
    "/v1/responses": Generate(parse_responses_request),
    "/v1/responses/input_tokens": Generate(parse_responses_request, counting=True),
}


def _invalid(
    message: str, param: str | None = None, code: str | None = None
) -> tuple[int, dict[str, str | None]]:
    return 400, _error(message, "invalid_request_error", param, code)


def _error(message: str, kind: str, param: str | None, code: str | None) -> dict[str, str | None]:
    return {"message": message, "type": kind, "param": param, "code": code}
