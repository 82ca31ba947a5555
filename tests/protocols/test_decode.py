"""Reading captured requests: nothing is lost, and junk is refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.requests import (
    chat,
    decoded,
    user,
)
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.registry import PROTOCOLS


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
