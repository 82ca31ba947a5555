"""Golden requests, and the vendors' types that check them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.protocols.envelopes import envelopes
from tests.protocols.golden import (
    AS_IT_CAME,
    REPLIES,
    REQUESTS,
    converted,
    next_request,
    received,
    reply_of,
)
from tests.support.golden import case_files, cases, differences, expected_file, read
from tests.support.requests import ANTHROPIC, GEMINI, RESPONSES, body_of, encoded
from tests.support.sdk_types import accept
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope

FILES = [
    pytest.param(path, result, id=f"{path.parent.name}-{path.stem}")
    for folder, result in ((REQUESTS, converted), (REPLIES, received))
    for path in case_files(folder)
]


@pytest.mark.parametrize(("path", "result"), FILES)
def test_golden_cases(path: Path, result: Callable[[dict[str, Any]], Any]) -> None:
    given, expected = read(path), read(expected_file(path))
    found = json.loads(json.dumps({name: result(case) for name, case in given.items()}))
    wrong = list(differences(found, expected))
    assert not wrong, "\n".join([*wrong, "`python -m tests.protocols.golden` writes them anew."])


LACKING = {
    Protocol.ANTHROPIC: {"temperature", "top_p", "top_k"},  # which older models accept
    Protocol.OPENAI_CHAT: {
        "reasoning_content",
        "reasoning_details",
        "reasoning",
        "thinking_blocks",
    },
}
"""Keys of requests and messages that the official types do not have, and servers do."""
OF_OTHER_SERVERS = [
    "cache_marks: notes on marks of anthropic count those of one message",
    "captured: gemini 3",
    "content: no white space ends a final assistant message 8",
    "openai_chat: mistral sends parts",
    "openai_chat: gemini s imitation signs calls and texts",
]
"""Cases with what OpenAI itself does not have: cache marks in a router's form, Google's signatures
in `extra_content`, a part of tomorrow, Mistral's thinking.
"""


def is_accepted(protocol: Protocol, body: dict[str, Any]) -> bool:
    lacking = LACKING.get(protocol, set())
    body = {key: value for key, value in body.items() if key not in lacking}
    for message in body.get("messages", ()):
        for key in lacking:
            message.pop(key, None)
    try:
        accept(protocol, body)
    except ValueError:
        return False
    return True


@pytest.mark.slow
def test_the_types_of_the_sdks_accept_what_is_sent() -> None:
    refused: list[tuple[str, str]] = []
    for name, _, expected in cases(REQUESTS):
        for protocol, sent in expected.items():
            if isinstance(sent, dict) and sent["body"] != AS_IT_CAME:
                refused += [(name, protocol)] * (not is_accepted(Protocol(protocol), sent["body"]))
    for name, case, expected in cases(REPLIES):
        if "error" not in expected:
            source = Protocol(case["protocol"])
            message = reply_of(source, case).message(source)
            for target in expected["sent"]:
                composed = next_request(message, Protocol(target))
                body = json.loads(composed.payload.body)
                refused += [(name, target)] * (not is_accepted(Protocol(target), body))
    chat = Protocol.OPENAI_CHAT.value
    assert refused == [(name, chat) for name in OF_OTHER_SERVERS]


# --- What we encode, held against the official SDKs' own types ----------------------------


@pytest.mark.slow
@given(envelope=envelopes())
def test_the_sdks_types_accept_every_encoded_envelope(envelope: ChatEnvelope) -> None:
    for protocol in Protocol:
        body = body_of(encoded(envelope, protocol))
        if protocol is ANTHROPIC:
            # The server takes them, while the newest types lack them.
            body = {key: value for key, value in body.items() if key not in SAMPLING}
        accept(protocol, body)


SAMPLING = ("temperature", "top_p", "top_k")


@each_row("protocol", list(Protocol))
def test_the_types_refuse_what_is_wrong(protocol: Protocol) -> None:
    wrong = {"model": "m", "messages": [{"role": "user", "content": "x", "y": 1}], "max_tokens": 1}
    if protocol is RESPONSES:
        wrong = {"model": "m", "input": [{"role": "user", "content": "x", "y": 1}]}
    if protocol is GEMINI:
        wrong = {"contents": [{"role": "user", "parts": [{"texts": "x"}]}]}
    with pytest.raises(ValueError, match="error"):
        accept(protocol, wrong)
