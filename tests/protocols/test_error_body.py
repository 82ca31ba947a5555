"""Errors in words: every shape of body, what to do about it, and no body that breaks it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.errors import Refused
from tui_chat.protocols.common.error_body import find_error, response_error


def refuse(status: int, body: Any) -> Refused:
    return response_error(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def openai(message: str, type: str = "invalid_request_error", code: str | None = None) -> Any:
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


def anthropic(message: str, type: str) -> Any:
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}


def gemini(message: str, code: int, status: str, *details: Any) -> Any:
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


SHORTEN, PAY, KEY, PLACE, WAIT, AGAIN, ELSEWHERE = (
    "Shorten",
    "credit",
    "key",
    "base URL",
    "Wait",
    "try again",
    "address redirects",
)


@each_row(
    ("status", "body", "code", "advice"),
    [
        (
            401,
            openai("Incorrect API key provided: sk-x", code="invalid_api_key"),
            "invalid_api_key",
            KEY,
        ),
        (401, anthropic("invalid x-api-key", "authentication_error"), "authentication_error", KEY),
        (400, gemini("API key not valid.", 400, "INVALID_ARGUMENT"), "INVALID_ARGUMENT", KEY),
        (403, gemini("Permission denied.", 403, "PERMISSION_DENIED"), "PERMISSION_DENIED", KEY),
        (404, anthropic("model: claude-9", "not_found_error"), "not_found_error", PLACE),
        (
            404,
            openai("The model `x` does not exist", code="model_not_found"),
            "model_not_found",
            PLACE,
        ),
        (405, b"", "", PLACE),
        (
            429,
            openai("Rate limit reached.", "requests", "rate_limit_exceeded"),
            "rate_limit_exceeded",
            WAIT,
        ),
        (
            429,
            anthropic("This would exceed your rate limit", "rate_limit_error"),
            "rate_limit_error",
            WAIT,
        ),
        (
            429,
            openai(
                "You exceeded your current quota, please check your plan", code="insufficient_quota"
            ),
            "insufficient_quota",
            PAY,
        ),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, "402", PAY),
        (
            400,
            anthropic("Your credit balance is too low", "invalid_request_error"),
            "invalid_request_error",
            PAY,
        ),
        (
            400,
            openai(
                "This model's maximum context length is 8192 tokens.",
                code="context_length_exceeded",
            ),
            "context_length_exceeded",
            SHORTEN,
        ),
        (
            400,
            anthropic("prompt is too long: 2 > 1", "invalid_request_error"),
            "invalid_request_error",
            SHORTEN,
        ),
        (
            400,
            gemini("The input token count (9) exceeds the maximum", 400, "INVALID_ARGUMENT"),
            "INVALID_ARGUMENT",
            SHORTEN,
        ),
        (413, anthropic("Request too large", "request_too_large"), "request_too_large", SHORTEN),
        (
            400,
            openai("Invalid 'temperature'", code="decimal_below_min_value"),
            "decimal_below_min_value",
            "",
        ),
        (529, anthropic("Overloaded", "overloaded_error"), "overloaded_error", AGAIN),
        (503, gemini("The model is overloaded.", 503, "UNAVAILABLE"), "UNAVAILABLE", AGAIN),
        (500, b"", "", AGAIN),
        (308, b"", "", ELSEWHERE),
    ],
)
def test_what_to_do(status: int, body: Any, code: str, advice: str) -> None:
    error = refuse(status, body)
    assert (error.status, error.code) == (status, code)
    assert advice in error.advice
    assert bool(error.advice) is bool(advice)
    assert f"HTTP {status}" in str(error)


@each_row(
    ("body", "words"),
    [
        (openai("No such thing."), "No such thing."),
        ([gemini("Listed.", 400, "INVALID_ARGUMENT")], "Listed."),
        ({"error": "model not found"}, "model not found"),
        ({"message": "Not here"}, "Not here"),
        ({"detail": "Method Not Allowed"}, "Method Not Allowed"),
        (
            {"detail": [{"loc": ["body", "messages", 0], "msg": "field required"}]},
            "body.messages.0: field required",
        ),
        ({"errors": [{"message": "first"}]}, "first"),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": '{"e":"deep"}'}}},
            'Provider returned error ({"e":"deep"})',
        ),
        (b"<html><head><title>502 Bad Gateway</title></head><body>x", "titled “502 Bad Gateway”"),
        (b"<!DOCTYPE html><body><h1>Oh &amp; no</h1>", "web page: Oh & no"),
        (b"upstream connect error", "upstream connect error"),
        (b'"just words"', "just words"),
        (b"", "no reason"),
        (b"{}", "no reason"),
        (b"null", "no reason"),
        (b"\xff\xfe", "\ufffd"),
        (openai("a\x1b[31m\n\u202eb\u2028  c\ud800"), "a [31m b c\ufffd"),
    ],
)
def test_the_providers_message_is_one_line(body: Any, words: str) -> None:
    message = str(refuse(400, body))
    assert message.endswith(words)
    assert message.isprintable()


def test_long_words_are_cut() -> None:
    assert len(str(refuse(400, openai("x" * 100_000)))) < 700
    assert str(refuse(400, openai("x" * 100_000))).endswith("…")


@each_row(
    ("message", "details", "seconds", "wait"),
    [
        (
            "Quota.",
            [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}],
            34.4,
            "35 s",
        ),
        ("Please retry in 12s.", [], 12.0, "12 s"),
        ("Please try again in 6m0s. Visit", [], 360.0, "6 min"),
        ("Please try again in 850ms.", [], 0.85, "1 s"),
        ("Try again in 2 minutes", [], 120.0, "2 min"),
        ("Slow down.", [{"retryDelay": 3}, "x", None], None, "a while"),
    ],
)
def test_how_long_to_wait(message: str, details: Any, seconds: float | None, wait: str) -> None:
    error = refuse(429, gemini(message, 429, "RESOURCE_EXHAUSTED", *details))
    assert error.retry_after == (None if seconds is None else pytest.approx(seconds))
    assert wait in error.advice


@each_row(
    "body",
    [
        b"[" * 100_000,
        b'{"error":' * 5000,
        b"9" * 5000,
        b"<" * 1_000_000,
        b"<title" * 200_000,
        b'{"error":{"message":{"message":"x"},"code":[],"status":{},"details":3}}',
        b'{"error":{"code":1e999,"message":NaN}}',
    ],
)
def test_no_body_breaks_it(body: bytes) -> None:
    assert str(refuse(500, body)).isprintable()
    assert refuse(999, body).status == 999


@each_row("key", ["code", "status", "status_code"])
@each_row("value", [429, "429"])
def test_the_status_inside_of_an_error(key: str, value: object) -> None:
    found = find_error({"error": {"message": "Slow down.", key: value}})
    assert found is not None
    assert (found.status, found.code) == (429, "429")
