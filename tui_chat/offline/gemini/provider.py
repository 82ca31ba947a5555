"""Gemini's headers, errors, model list and paths.

An error is `{"error": {code, message, status, details?}}`: `code` is the HTTP status, `status` the
gRPC code's name. A rate limit has no header; its wait is `RetryInfo.retryDelay` in the details, as
`2s`. Bodies are indented over several lines, as Google's are.
"""

import re
from typing import Any, assert_never

from tui_chat.offline.base_provider import CountTokens, Generate, ProtocolHandler, Provider
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.gemini.parse_request import parse_request
from tui_chat.offline.gemini.response_writer import (
    GenerateContentArrayWriter,
    GenerateContentWriter,
    indented,
)
from tui_chat.offline.http_messages import Headers, HttpRequest
from tui_chat.offline.json_reader import dotted
from tui_chat.offline.models.catalogue import MODELS, find_model
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

_RPC = "type.googleapis.com/google.rpc."

_METHOD = re.compile(
    r"/(v1|v1beta)/models/([^/]+):(generateContent|streamGenerateContent|countTokens)"
)


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
