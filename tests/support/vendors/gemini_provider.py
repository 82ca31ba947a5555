"""Gemini's headers, errors and paths.

An error is `{"error": {code, message, status, details?}}`: `code` is the HTTP status, `status` the
gRPC code's name. A rate limit has no header; its wait is `RetryInfo.retryDelay` in the details, as
`2s`. Bodies are indented over several lines, as Google's are.

"""

import json
import re
from typing import Any, assert_never

from tests.support.vendors.json_reader import dotted
from tests.support.vendors.provider import Generate, Provider
from tests.support.vendors.read_gemini import parse_request
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

_RPC = "type.googleapis.com/google.rpc."

_METHOD = re.compile(
    r"/(v1|v1beta)/models/([^/]+):(generateContent|streamGenerateContent|countTokens)"
)


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

    def generation(self, request: HttpRequest) -> Generate | None:
        """Return the operation of a path /VERSION/models/MODEL:METHOD."""
        found = _METHOD.fullmatch(request.path)
        if found is None:
            return None
        version, model, method = found.groups()
        match method:
            case "countTokens":
                return Generate(parse_request, True, model, version)
            case _:
                is_stream = method == "streamGenerateContent"
                return Generate(parse_request, False, model, version, is_stream)

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
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""
        del request_id
        return indented({"error": error})


GEMINI = GeminiProvider()


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
