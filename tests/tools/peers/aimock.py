"""Chatting with aimock in each protocol, by the road the app takes: compose, send, store.

It knows nothing of us, so what it accepts and what we read of its replies is evidence that our
own offline provider, written by the same hands as the encoders, cannot give.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_send import sent
from tests.tools.peers.conftest import REASONING, TEXT
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.retry import RetryPause

pytestmark = [pytest.mark.peer]

MODELS = {
    Protocol.OPENAI_CHAT: "deepseek-reasoner",  # aimock gives reasoning to models that reason
    Protocol.OPENAI_RESPONSES: "gpt-5",
    Protocol.ANTHROPIC: "claude-sonnet-4-5",
    Protocol.GEMINI: "gemini-2.5-flash",
}
WHOLE_OR_STREAMED = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
EVERY = pytest.mark.parametrize("protocol", MODELS, ids=lambda p: p.value)


def at(url: str, protocol: Protocol) -> Endpoint:
    version = "/v1" if protocol in (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES) else ""
    return Endpoint("aimock", protocol, url + version, models=(MODELS[protocol],))


def asking(
    url: str,
    protocol: Protocol,
    draft: str,
    *,
    stream: bool = True,
    history: tuple[Message, ...] = (),
) -> Composed:
    return compose(
        Inputs(
            at(url, protocol),
            Preset("p"),
            history=history,
            draft=draft,
            settings=SessionSettings(max_tokens=500),
            stream=stream,
        )
    )


@EVERY
@WHOLE_OR_STREAMED
async def test_text(aimock: str, protocol: Protocol, stream: bool, tmp_path: Path):
    entry, told = await sent(asking(aimock, protocol, "say it", stream=stream), tmp_path)
    assert (entry.status, entry.error) == ("complete", "")
    assert entry.message.content == TEXT
    assert (entry.usage.input, entry.usage.output) == (11, 22)
    assert len(told) > 10 if stream else len(told) == 3


@EVERY
@WHOLE_OR_STREAMED
async def test_reasoning_and_back(aimock: str, protocol: Protocol, stream: bool, tmp_path: Path):
    entry, _ = await sent(asking(aimock, protocol, "think first", stream=stream), tmp_path)
    assert (entry.status, entry.error) == ("complete", "")
    assert entry.message.content == "At six."
    thought = "".join(block.text for block in entry.message.reasoning)
    assert thought == REASONING
    said = (Message.of("user", "think first", id="1"), replace(entry.message, id="2"))
    following = asking(aimock, protocol, "say it", stream=stream, history=said)
    (tmp_path / "again").mkdir()
    entry, _ = await sent(following, tmp_path / "again")
    assert (entry.status, entry.error) == ("complete", "")
    assert entry.message.content == TEXT


def with_tools(url: str, protocol: Protocol, messages: list[dict[str, Any]], stream: bool):
    tools = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "A tool.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
        }
        for name in ("weather/now!", "clock")
    ]
    body = {"model": MODELS[protocol], "messages": messages, "tools": tools, "stream": stream}
    envelope = protocol_of(Protocol.OPENAI_CHAT).decode(json.dumps(body).encode())
    # The alias depends on the protocol's rule; aimock's fixture knows the one of most.
    composed = encode(envelope, at(url, protocol))
    assert ("weather/now!", "weather_now_") in composed.encoded.aliases
    return composed


@EVERY
@WHOLE_OR_STREAMED
async def test_tools_there_and_back(aimock: str, protocol: Protocol, stream: bool, tmp_path: Path):
    asked: list[dict[str, Any]] = [{"role": "user", "content": "How is the weather?"}]
    entry, _ = await sent(with_tools(aimock, protocol, asked, stream), tmp_path)
    assert (entry.status, entry.error) == ("complete", "")
    calls = entry.message.tool_calls
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("weather/now!", {"city": "Oslo"}),
        ("clock", {}),
    ]
    asked.append(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call.id or f"call_{number}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for number, call in enumerate(calls)
            ],
        }
    )
    asked += [
        {"role": "tool", "tool_call_id": call.id or f"call_{number}", "content": "rain"}
        for number, call in reversed(list(enumerate(calls)))
    ]
    (tmp_path / "again").mkdir()
    entry, _ = await sent(with_tools(aimock, protocol, asked, stream), tmp_path / "again")
    assert (entry.status, entry.error) == ("complete", "")
    assert entry.message.content == "It rains in Oslo."


@EVERY
async def test_an_error_is_told_in_its_words(aimock: str, protocol: Protocol, tmp_path: Path):
    entry, told = await sent(asking(aimock, protocol, "refuse"), tmp_path)
    assert entry.status == "failed"
    assert "The prompt is too rude." in entry.error
    assert not any(isinstance(each, RetryPause) for each in told)


@EVERY
async def test_a_rate_limit_is_waited_for(aimock: str, protocol: Protocol, tmp_path: Path):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    # The sequence is counted per test id, so that each protocol meets its own limit.
    composed = asking(aimock, protocol, "too fast")
    endpoint = replace(composed.endpoint, headers=(("X-Test-Id", f"limit-{protocol}"),))
    entry, _ = await sent(encode(composed.envelope, endpoint), tmp_path, sleep)
    assert (entry.status, entry.error) == ("complete", "")
    assert entry.message.content == "Now I have time."
    assert len(waits) == 1
    assert 3 <= waits[0] <= 4


@EVERY
async def test_a_cut_stream_keeps_what_came(aimock: str, protocol: Protocol, tmp_path: Path):
    entry, told = await sent(asking(aimock, protocol, "cut"), tmp_path)
    assert entry.status == "failed"
    assert entry.message.content.startswith("I was going")
    assert entry.error
    assert not any(isinstance(each, RetryPause) for each in told)


@EVERY
@WHOLE_OR_STREAMED
async def test_a_limit_that_was_met(aimock: str, protocol: Protocol, stream: bool, tmp_path: Path):
    entry, _ = await sent(asking(aimock, protocol, "length", stream=stream), tmp_path)
    assert entry.status == "complete"
    assert entry.message.content == "one two"
    assert entry.finish not in ("", "stop", "completed", "end_turn", "STOP")
