"""Requests that are decoded, and bodies of errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    assistant,
    chat,
    decoded,
    encoded,
    system,
    user,
)
from tests.support.tables import each_row
from tui_chat.errors import InputError, Refused
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.registry import PROTOCOLS, detect_protocol


def content(role: str | None, *parts: dict[str, Any]) -> dict[str, Any]:
    return {**({"role": role} if role else {}), "parts": list(parts)}


JUNK: list[tuple[bytes, str]] = [
    (b"", "not JSON"),
    (b"\xff", "not UTF-8"),
    (b"[]", "a list and not an object"),
    (b"{", "not JSON"),
    (b'{"messages": [], "contents": [], "input": [], "x": NaN}', "NaN is not a JSON number"),
    (b'{"messages": [], "contents": [], "input": [], "x": 1e999}', "too large"),
    (b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}", "nested"),
    (b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
    (b"{}", "it has no"),
    (b'{"messages": 1, "contents": 1, "input": 1}', "must be a"),
    (b'{"messages": [1], "contents": [1], "input": [1]}', "must be an object"),
    (
        b'{"messages": [{"role": "x"}], "contents": [{"role": "x"}], "input": [{"role": "x"}]}',
        "must be",
    ),
]


@each_row("protocol", list(Protocol))
@each_row(("body", "words"), JUNK)
def test_junk_is_refused_with_a_sentence(protocol: Protocol, body: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        PROTOCOLS[protocol].decode(body)


def test_content_that_is_none_names_its_place() -> None:
    with pytest.raises(InputError, match=r"messages\[1\]\.content must be"):
        decoded(chat(user(), user(5)))


# --- Errors in words: every shape of body, what to do about it, and no body that breaks it


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


# --- The role adapter, on its own and inside the encoders ---------------------------------


NAMES = [
    ("claude-opus-4-8", ANTHROPIC),
    ("anthropic/claude-3.5-sonnet", ANTHROPIC),
    ("gemini-3-pro", GEMINI),
    ("models/gemini-2.5-flash", GEMINI),
    ("gpt-5", CHAT),
    ("o3-mini", CHAT),
    ("o5", CHAT),
    ("ft:gpt-4o:us:name:id", CHAT),
    ("olmo-3", None),
    ("chatgpt-4o-latest", CHAT),
    ("llama3", None),
    ("", None),
]


@each_row(("model", "expected"), NAMES)
def test_protocol_detection_by_model_name(model: str, expected: Protocol | None) -> None:
    assert detect_protocol(model) is expected


MIXED = chat(system("S1"), system("S2"), user("U1"), system("S3"), assistant("A1"), user("U2"))


def test_anthropic_makes_it_a_user_turn_if_configured() -> None:
    to = Endpoint("e", ANTHROPIC, "https://e", system_fallback="user")
    out = encoded(decoded(MIXED), ANTHROPIC, to)
    assert [note.code for note in out.notes] == ["system-moved", "default-invented"]
    roles = [item.items[0][1].text.plain for item in out.tree.get("messages").items]  # type: ignore
    assert roles == ["user", "user", "assistant", "user"]
