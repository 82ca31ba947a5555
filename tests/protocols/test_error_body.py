"""Errors in words: every shape of body, what to do about it, and no body that breaks it."""

from __future__ import annotations

import json
from typing import Any

from tests.support.tables import each_row
from tui_chat.errors import Refused
from tui_chat.protocols.common.error_body import response_error


def refuse(status: int, body: Any) -> Refused:
    return response_error(status, body if isinstance(body, bytes) else json.dumps(body).encode())


def openai(message: str, type: str = "invalid_request_error", code: str | None = None) -> Any:
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


def test_long_words_are_cut() -> None:
    assert len(str(refuse(400, openai("x" * 100_000)))) < 700
    assert str(refuse(400, openai("x" * 100_000))).endswith("…")


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
