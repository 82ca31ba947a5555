"""Gemini's headers, errors and list of models.

An error is `{"error": {code, message, status, details?}}`: `code` is the HTTP status, `status` a
gRPC word. A rate limit has no header; its wait is `RetryInfo.retryDelay` in the details, as `2s`.
Bodies are laid out over several lines, as Google's are.
"""

import json
from typing import Any, assert_never

from tui_chat.offline.house import Complaint, Headers
from tui_chat.offline.models import MODELS, find
from tui_chat.offline.node import dotted
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

json_type = "application/json; charset=UTF-8"
stream_type = "text/event-stream"

_RPC = "type.googleapis.com/google.rpc."


def request_id(world: World) -> str:
    """Google sends none."""
    del world
    return ""


def headers(request_id: str, world: World) -> Headers:
    """Return what Google's front end adds; nothing about limits."""
    del request_id, world
    return (
        ("vary", "Origin"),
        ("vary", "X-Origin"),
        ("vary", "Referer"),
        ("server-timing", "gfet4t7; dur=1"),
        ("x-content-type-options", "nosniff"),
    )


def complain(problem: Problem, request_id: str, world: World) -> Complaint:
    """Return the error reply for a problem."""
    del request_id, world
    error = describe(problem)
    return Complaint(error["code"], laid_out({"error": error}))


def describe(problem: Problem) -> dict[str, Any]:
    """Return the error object of a problem."""
    match problem:
        case NotJson(reason):
            return _invalid(f"Invalid JSON payload received. {reason}", "")
        case NoHeader(name):
            return _invalid(f"Missing header {name}.", None)
        case Missing(path) | Empty(path):
            name = dotted(path)
            return _invalid(f"* GenerateContentRequest.{name}: {name} is not specified\n", None)
        case WrongType(path, expected, got):
            name = dotted(path)
            return _invalid(f"Invalid value at '{name}': expected {expected}, got {got}.", name)
        case OutOfRange(path, bound, below, _):
            name, side = dotted(path), "at least" if below else "at most"
            message = f"* GenerateContentRequest.{name}: {name} must be {side} {bound:g}.\n"
            return _invalid(message, None)
        case Rule(_, message, _):
            return _invalid(message, None)
        case TooLarge(limit):
            message = f"Request payload size exceeds the limit: {limit} bytes."
            return _invalid(message, None)
        case NoModel(model, version):
            message = (
                f"models/{model[:200]} is not found for API version {version}, or is not supported "
                "for generateContent. Call ListModels to see the list of available models and "
                "their supported methods."
            )
            return {"code": 404, "message": message, "status": "NOT_FOUND"}
        case NoRoute() | NoPrevious():
            message = "Requested entity was not found."
            return {"code": 404, "message": message, "status": "NOT_FOUND"}
        case BadMethod(method, path):
            message = f"The request method {method} is inappropriate for the URL {path[:200]}"
            return {"code": 405, "message": message, "status": "UNIMPLEMENTED"}
        case RateLimited(seconds):
            return _exhausted(seconds)
        case Broken():
            message = "An internal error has occurred. Please retry."
            return {"code": 500, "message": message, "status": "INTERNAL"}
        case Overloaded():
            message = "The model is overloaded. Please try again later."
            return {"code": 503, "message": message, "status": "UNAVAILABLE"}
        case _:
            assert_never(problem)


def catalogue() -> bytes:
    """Return the body of `GET /v1beta/models`."""
    return laid_out({"models": [_entry(model.name, model.about) for model in MODELS]})


def entry(name: str) -> bytes | None:
    """Return the body of `GET /v1beta/models/NAME`."""
    if find(name) is None:
        return None
    stem = name.partition(":")[0]
    about = next(model.about for model in MODELS if model.name == stem)
    return laid_out(_entry(name, about))


def laid_out(value: object) -> bytes:
    """JSON over several lines."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def _entry(name: str, about: str) -> dict[str, Any]:
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


def _exhausted(seconds: int) -> dict[str, Any]:
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
