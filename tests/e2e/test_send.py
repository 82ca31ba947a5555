"""A message that is typed and sent."""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.support.sending import begin_and_send
from tests.support.tables import each_row
from tests.support.terminal_app import CTRL_Q, TerminalApp
from tests.support.vendors import VendorTransport
from tests.support.workspace import LOOPBACKS, no_wait
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.session import Entry
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.client import HttpClient
from tui_chat.providers.retry import RetryPause
from tui_chat.send import FinishedReply, PartialReply, SendProgress
from tui_chat.store import Store


async def sent(
    composed: Composed, folder: Path, sleep=no_wait, told: list[SendProgress] | None = None
) -> tuple[Entry, list[SendProgress]]:
    told = [] if told is None else told
    numbers = itertools.count()
    store = await Store.open(
        folder / "chat.db", now=lambda: 1_700_000_000.0, new_id=lambda: f"id{next(numbers)}"
    )
    client = HttpClient({"loopback.invalid": VendorTransport}, sleep=sleep)
    try:
        session = await store.sessions.create(title="t")
        entry = await begin_and_send(
            composed,
            session_id=session.session_id,
            parent_id=None,
            user=Message.of("user", "go"),
            store=store,
            client=client,
            emit=told.append,
        )
    finally:
        await client.aclose()
        await store.close()
    return entry, told


def asking(endpoint, model: str, draft: str = "go") -> Composed:
    return compose(
        Inputs(endpoint, Preset("p"), draft=draft, settings=SessionSettings(model=model))
    )


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
@each_row("model", ["flaky-429:2", "flaky-500:2", "flaky-529:1"])
async def test_a_failed_request_is_retried_and_announced(endpoint, model: str, tmp_path: Path):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    entry, told = await sent(asking(endpoint, model), tmp_path, sleep)
    assert entry.status == "complete"
    assert entry.message.content == "go"
    kinds = [type(each) for each in told]
    waiting = [each for each in told if isinstance(each, RetryPause)]
    assert kinds == [
        *[RetryPause] * len(waiting),
        *[PartialReply] * kinds.count(PartialReply),
        FinishedReply,
    ]
    assert [each.attempt for each in waiting] == list(range(2, 2 + int(model[-1])))
    assert [each.seconds for each in waiting] == waits
    assert all(len(str(each.why).split()) > 3 for each in waiting)
    if "429" in model:  # the loopback asks for two seconds, in the way of each provider
        assert all(2 <= seconds <= 2.5 for seconds in waits)


async def test_a_fast_reply_is_emitted_a_few_times_and_whole(tmp_path: Path):
    entry, told = await sent(asking(LOOPBACKS[0], "lorem:max:3000"), tmp_path)
    partials = [each for each in told if isinstance(each, PartialReply)]
    assert 0 < len(partials) < 1_000
    assert partials[-1].reply.text == entry.message.content
    assert len(entry.message.content) > 3_000


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
@each_row("model", ["flaky-cut", "flaky-error"])
async def test_a_broken_reply_is_kept_and_not_retried(endpoint, model: str, tmp_path: Path):
    entry, told = await sent(asking(endpoint, model), tmp_path)
    assert entry.status == "failed"
    assert entry.message.content
    assert not any(isinstance(each, RetryPause) for each in told)


async def test_stopping_during_a_retry_pause(tmp_path: Path):
    told: list[SendProgress] = []
    waiting = asyncio.Event()

    async def for_ever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(sent(asking(LOOPBACKS[0], "flaky-429"), tmp_path, for_ever, told))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ended = told[-1]
    assert isinstance(ended, FinishedReply)
    assert ended.entry.status == "stopped"


RENAMING = [each for each in LOOPBACKS if each.protocol is not Protocol.OLLAMA]
"""Ollama takes any name."""


@each_row("endpoint", RENAMING, ids=lambda e: e.protocol.value)
async def test_renamed_tools_get_their_names_back_in_replies(endpoint, tmp_path: Path):
    body = {
        "model": "toolsmith",
        "messages": [{"role": "user", "content": "Use the tool."}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather/now!",
                    "description": "The weather.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
            }
        ],
        "stream": True,
    }
    envelope = protocol_of(Protocol.OPENAI_CHAT).decode(json.dumps(body).encode())
    composed = encode(envelope, endpoint)
    assert b"weather/now!" not in composed.payload.body
    assert composed.encoded.aliases
    entry, _ = await sent(composed, tmp_path)
    assert [call.name for call in entry.message.tool_calls] == ["weather/now!"]


async def test_a_key_echoed_by_the_provider_is_not_stored(tmp_path: Path):
    key = "sk-proj-0123456789abcdef"
    said = [f"whole {key} ", *key, f" {key[:-1]}"]
    chunks = [{"choices": [{"index": 0, "delta": {"content": each}}]} for each in said]
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
    answer = httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)
    client = HttpClient(
        {"provider.test": lambda: httpx.MockTransport(lambda _: answer)}, {"KEY": key}
    )
    endpoint = replace(LOOPBACKS[0], base_url="https://provider.test/v1", key="env:KEY", auth="")
    assert endpoint.protocol is Protocol.OPENAI_CHAT
    told: list[SendProgress] = []
    numbers = itertools.count()
    async with await Store.open(
        tmp_path / "chat.db", now=lambda: 1.0, new_id=lambda: f"id{next(numbers)}"
    ) as store:
        session = await store.sessions.create(title="t")
        entry = await begin_and_send(
            asking(endpoint, "m"),
            session_id=session.session_id,
            parent_id=None,
            user=Message.of("user", "go"),
            store=store,
            client=client,
            emit=told.append,
        )
        files = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    await client.aclose()
    assert entry.message.content == "whole [key] [key] [key]"
    assert isinstance(told[-1], FinishedReply)
    assert told[-1].repeats_key
    assert key not in repr(told)
    assert "chat.db-wal" in files
    assert not [name for name, content in files.items() if key[-10:].encode() in content]


# --- Text typed in a real terminal arrives in the draft, character for character ----------


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pty")

TEXT = "👩\u200d🌾 🏳\ufe0f\u200d🌈 می\u200cخواهم e\u0301 全\u3000角 \u202eabc\u202c \U0001fae8!"


def test_emoji_sequences_and_format_characters_are_typed_whole(tmp_path: Path) -> None:
    with TerminalApp(tmp_path, ("--endpoint", "loopback", "--model", "echo")) as app:
        app.until(lambda: app.shows("Type a message"))
        app.read(0.5)
        for character in TEXT:
            app.type(character)
        app.until(lambda: app.shows("!"))
        app.type(CTRL_Q)
        assert app.wait() == 0
    with closing(sqlite3.connect(tmp_path / "chat.db")) as connection:
        sql = "SELECT value FROM settings WHERE key = 'draft'"
        assert connection.execute(sql).fetchall() == [(TEXT,)]
