"""Requests of Ollama's chat API: what only this protocol has, read and written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.regions import regions
from tests.support.requests import (
    OLLAMA,
    RESPONSES,
    decoded,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.protocols.ollama.stream import read_reply

LLAMA = Endpoint("e", OLLAMA, "http://127.0.0.1:11434", models=("qwen3:8b",))


def test_a_stream_is_the_default_and_always_named_by_us() -> None:
    plain = {"model": "m", "messages": [user()]}
    assert decoded(plain, OLLAMA).parameters.values.stream
    assert not decoded({**plain, "stream": False}, OLLAMA).parameters.values.stream
    for stream in (True, False):
        assert json.loads(composed(stream=stream).payload.body)["stream"] is stream


def composed(*history: Message, draft: str = "hi", **more: Any) -> Any:
    return compose(Inputs(LLAMA, Preset("p"), history, draft, **more))


def test_the_context_limit_of_the_request_is_sent() -> None:
    assert "options" not in json.loads(composed().payload.body)
    limited = composed(context_limit=4096)
    assert json.loads(limited.payload.body)["options"] == {"num_ctx": 4096}
    origins = {
        region.piece.origin.name
        for region in regions(limited.payload)
        if region.piece.origin.kind is OriginKind.SETTING and region.piece.origin.id == "num_ctx"
    }
    assert origins == {"num_ctx: the context limit that this request was built for"}


def thinking_reply() -> Message:
    message = {"role": "assistant", "content": "Six.", "thinking": "Half a dozen."}
    body = {"model": "m", "message": message, "done": True, "done_reason": "stop"}
    return replace(read_reply(json.dumps(body).encode()).message(OLLAMA), id="r")


def test_thinking_is_sent_back_to_ollama_only() -> None:
    history = (Message.of("user", "How many?", "u"), thinking_reply())
    messages = json.loads(composed(*history).payload.body)["messages"]
    assert messages[1] == {"role": "assistant", "content": "Six.", "thinking": "Half a dozen."}
    to = Endpoint("e", RESPONSES, "https://e", models=("m",))
    other = compose(Inputs(to, Preset("p"), history, "hi"))
    assert b"Half a dozen." not in other.payload.body
    assert "reasoning-left-out" in [note.code for note in other.notes]


FAULTS = [
    ({"model": "m"}, "it has no “messages”"),
    ({"messages": [{"role": "boss", "content": "x"}]}, "must be one of system, user"),
    ({"messages": [{"role": "user", "content": []}]}, "must be a text, not a list"),
    ({"messages": {}}, "must be a list"),
]


@each_row(("body", "words"), FAULTS)
def test_a_body_without_a_request_is_refused(body: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        decoded(body, OLLAMA)
