"""What this project takes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx

from tests.support.provider import TestProvider
from tests.support.vendors import ENDPOINTS
from tests.tools.benchmarks.protocols.given import PROTOCOLS, RUNS, TOOLS, Figures, best, best_of
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.payload import render
from tui_chat.models.preset import Preset
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.client import HttpClient
from tui_chat.send import receive


def our_encoding(messages: list[dict[str, Any]]) -> tuple[Figures, Figures]:
    """Return seconds from nothing, and with one turn changed."""
    body = json.dumps({"model": "m", "messages": messages, "tools": TOOLS, "stream": True}).encode()
    cold: Figures = {}
    warm: Figures = {}
    for name in PROTOCOLS:
        wire = protocol_of(Protocol(name))
        endpoint = Endpoint("e", Protocol(name), "https://e")

        def fresh() -> ChatEnvelope:
            """Return turns as a session has them: captured nowhere, and never seen before."""
            envelope = protocol_of(Protocol.OPENAI_CHAT).decode(body)
            turns = tuple(replace(t, extras=None) for t in envelope.turns)
            return replace(envelope, turns=turns, source=None, rest=None)

        waiting = [fresh() for _ in range(RUNS + 1)]

        def encode_new(waiting: Any = waiting, wire: Any = wire, endpoint: Any = endpoint) -> None:
            assert render(wire.encode(waiting.pop(), endpoint).tree).body

        cold[name] = {"ours": best(encode_new)}
        known = fresh()
        assert render(wire.encode(known, endpoint).tree).body

        def encode_again(known: Any = known, wire: Any = wire, endpoint: Any = endpoint) -> None:
            last = replace(known.turns[-1])
            changed = replace(known, turns=(*known.turns[:-1], last))
            assert render(wire.encode(changed, endpoint).tree).body

        warm[name] = {"ours": best(encode_again)}
    return cold, warm


def our_reading(url: str) -> Figures:
    """Return the seconds it takes to read the stream of each protocol."""

    def measured(name: str) -> float:
        to = Endpoint("e", Protocol(name), f"{url}/{name}", models=("m",))
        composed = compose(Inputs(to, Preset("p"), draft="go"))

        async def all_runs() -> float:
            client = HttpClient()

            async def read() -> None:
                replies: list[Any] = [None]

                def grown(reply: Any, _weight: int) -> None:
                    replies[0] = reply

                await receive(composed, client, grown, print)
                assert len(replies[0].text) > 1000

            return await best_of(read, client.aclose)

        return asyncio.run(all_runs())

    return {name: {"ours": measured(name)} for name in PROTOCOLS}


def streams(tokens: int) -> dict[str, bytes]:
    """Return what the offline provider streams, for each protocol."""

    async def stream_of(endpoint: Endpoint) -> bytes:
        settings = SessionSettings(model=f"lorem:max:{tokens}", max_tokens=2 * tokens)
        asked = compose(Inputs(endpoint, Preset("p"), draft="go", settings=settings))
        async with httpx.AsyncClient(transport=TestProvider()) as client:
            answer = await client.post(
                asked.url, content=asked.payload.body, headers=dict(asked.headers)
            )
            return answer.content

    return {endpoint.protocol.value: asyncio.run(stream_of(endpoint)) for endpoint in ENDPOINTS[:4]}
