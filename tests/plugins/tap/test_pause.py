"""Held requests: patterns, decisions, limits, and clients that leave."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.plugins.tap.conftest import KEY, Recording, recording
from tests.plugins.tap.wire import PATIENCE
from tests.support.tables import each_row
from tests.support.vendors import HttpRequest, serve
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.payload import Arr, Obj, Str, Tree
from tui_chat.models.text import OriginKind
from tui_chat.plugins.tap import pause
from tui_chat.plugins.tap.call_output import call_json, call_line
from tui_chat.plugins.tap.calls import Call, read_call
from tui_chat.plugins.tap.exchange import RecordedExchange, Request
from tui_chat.plugins.tap.held_request import editable_text, edited_body
from tui_chat.plugins.tap.held_table import WaitingRequest, decide, waiting_requests
from tui_chat.plugins.tap.pause import read_pattern

BODY = b'{"model": "echo",  "messages": [{"role": "user", "content": "caf\\u00e9"}]}'
VERSION = {"anthropic-version": "2023-06-01"}

CALLS: list[tuple[Protocol, str, dict[str, Any], Callable[[dict[str, Any]], Any]]] = [
    (
        Protocol.OPENAI_CHAT,
        "/v1/chat/completions",
        {"model": "echo", "messages": [{"role": "user", "content": "Hi"}]},
        lambda body: body["messages"][0],
    ),
    (
        Protocol.OPENAI_RESPONSES,
        "/v1/responses",
        {"model": "echo", "input": [{"role": "user", "content": "Hi"}]},
        lambda body: body["input"][0],
    ),
    (
        Protocol.ANTHROPIC,
        "/v1/messages",
        {"model": "echo", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
        lambda body: body["messages"][0],
    ),
    (
        Protocol.GEMINI,
        "/v1beta/models/echo:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        lambda body: body["contents"][0]["parts"][0],
    ),
    (
        Protocol.OLLAMA,
        "/api/chat",
        {"model": "echo", "stream": False, "messages": [{"role": "user", "content": "Hi"}]},
        lambda body: body["messages"][0],
    ),
]
"""Protocol, path, body, and what has the text of the user."""
by_protocol = each_row(
    ("protocol", "path", "body", "part"), CALLS, ids=lambda value: getattr(value, "value", "")
)


class PausedTap:
    """A tap that holds calls in front of an upstream, and a client of it."""

    def __init__(
        self, tap: Recording, client: httpx.AsyncClient, received: list[HttpRequest]
    ) -> None:
        self.tap, self.received = tap, received
        self._client = client
        self.database = tap.store.replies.database

    def ask(self, path: str, body: Any, **options: Any) -> asyncio.Task[httpx.Response]:
        """Send a request, as JSON unless it is bytes."""
        form = {"content" if isinstance(body, bytes) else "json": body}
        return asyncio.create_task(self._client.post(path, **form, **options))

    async def held(self, count: int = 1) -> WaitingRequest:
        """Return the newest held request when so many are held."""
        async with asyncio.timeout(PATIENCE):
            while len(waiting := await waiting_requests(self.database)) != count:  # noqa: ASYNC110 - a row of a database
                await asyncio.sleep(0.01)
        return waiting[-1] if waiting else WaitingRequest("", "", "", "", 0, 0)

    async def decide(self, decision: Any, content: str = "") -> None:
        """Decide about the only held request, and wait until it is not held any more."""
        held = await self.held()
        assert await decide(self.database, held.message_id, decision, content)
        await self.held(0)
        assert not await decide(self.database, held.message_id, "dropped")

    async def text(self) -> str:
        """Return the body of the only held request as an editor gets it."""
        record = await self.tap.store.requests.get((await self.held()).message_id)
        assert record is not None
        return editable_text(record.body or b"")


@asynccontextmanager
async def pausing(
    folder: Path, pattern: str = "model:echo", seconds: float = 60.0, **options: Any
) -> AsyncIterator[PausedTap]:
    """Run a tap that holds what has a pattern in front of the offline provider."""
    received = list[HttpRequest]()
    async with (
        serve(on_request=received.append, alias="echo") as server,
        recording(folder, server.base_url, pause=pattern, pause_for=seconds, **options) as tap,
        httpx.AsyncClient(base_url=tap.base_url, headers=VERSION, timeout=PATIENCE) as client,
    ):
        yield PausedTap(tap, client, received)


def call_of(body: bytes = BODY, path: str = "/v1/messages") -> Call:
    """Return a call as the tap reads it."""
    request = Request("POST", path, (("user-agent", "My-Agent/1.0"),), body)
    call = read_call(RecordedExchange(1, request, "http://127.0.0.1", 1 << 26, 0.0))
    assert call is not None
    return call


@each_row(
    ("pattern", "fits"),
    [
        ("/v1/messages", True),
        ("*/messages", True),
        ("/v1/*/messages", False),
        ("model:ech*", True),
        ("ECHO", True),
        ("ch*", False),
        ("anthropic", True),
        ("body:café", True),
        ("my-ag*", True),
        ("nothing", False),
    ],
)
def test_patterns(pattern: str, fits: bool):
    assert pause.fits(call_of(), read_pattern(pattern)) is fits


@each_row("text", ["", "model:", " "])
def test_a_pattern_has_a_text(text: str):
    with pytest.raises(InputError, match="no text to look for"):
        read_pattern(text)


async def test_what_is_no_call_of_a_model_passes(tmp_path: Path):
    async with pausing(tmp_path, "*") as paused:
        for path in ("/v1/messages/count_tokens", "/v1/embeddings", "/x"):
            await paused.ask(path, {"model": "echo", "input": []})
        assert len(paused.received) == 3


async def test_a_compressed_request_goes_on_as_it_came(tmp_path: Path):
    zipped = gzip.compress(BODY)
    async with pausing(tmp_path) as paused:
        headers = {"content-encoding": "gzip", "expect": "100-continue"}
        sending = paused.ask("/v1/chat/completions", zipped, headers=headers)
        await paused.held()
        assert not paused.received
        await paused.decide("sent")
        await sending
        (sent,) = paused.received
        assert (sent.body, sent.header("content-encoding")) == (zipped, "gzip")
        (call,) = await paused.tap.recorded(1)
        assert call.exchange.hold is not None
        assert call.exchange.hold.end == "sent"


@by_protocol
@each_row("encoding", ["", "gzip"])
async def test_an_edited_request_is_sent(
    tmp_path: Path, protocol: Protocol, path: str, body: Any, part: Any, encoding: str
):
    data = json.dumps(body).encode()
    content = gzip.compress(data) if encoding else data
    headers = {"authorization": f"Bearer {KEY}", "x-own": "stays"}
    headers |= {"content-encoding": encoding} if encoding else {}
    async with pausing(tmp_path / protocol / (encoding or "plain"), path) as paused:
        tap, sending = paused.tap, paused.ask(path, content, headers=headers)
        edited = json.loads(await paused.text())
        name = "text" if protocol is Protocol.GEMINI else "content"
        part(edited)[name] = "Hi, edited ✎"
        await paused.decide("edited", json.dumps(edited))
        response = await sending
        assert response.status_code == 200
        (sent,) = paused.received
        assert json.loads(sent.body) == edited
        assert sent.header("content-length") == str(len(sent.body))
        assert sent.header("content-encoding") is None
        assert sent.header("authorization") == f"Bearer {KEY}"
        assert sent.header("x-own") == "stays"
        (call,) = await tap.recorded(1)
        printed = call_json(call, 0.0)
        assert printed["request"]["body"] == data.decode()
        assert printed["request"]["sent"]["body"].encode() == sent.body
        assert printed["request"]["sent"]["bytes"] == len(sent.body)
        assert printed["held"]["decision"] == "edited"
        assert printed["explained"]["turns"][0]["content"] == "Hi, edited ✎"
        assert "edited by hand" in call_line(call, 0.0)
        assert KEY not in json.dumps(printed)
        (session,) = await tap.sessions()
        (stored,) = await tap.store.requests.list(session.session_id)
        record = await tap.store.requests.get(stored.message_id)
        assert record is not None
        assert record.recorded is not None
        assert record.body == sent.body
        assert json.loads(record.recorded.came) == body
    composed = call.call.composed
    assert composed is not None
    assert composed.payload.body == sent.body
    assert list(texts_by_hand(composed.encoded.tree)) == [", edited ✎"]


def texts_by_hand(node: Tree) -> Iterator[str]:
    """Yield the texts whose origin is an edit by hand."""
    match node:
        case Str():
            spans = node.text.spans
            yield from (span.text for span in spans if span.origin.kind is OriginKind.EDIT)
        case Obj():
            for _, value in node.items:
                yield from texts_by_hand(value)
        case Arr():
            for value in node.items:
                yield from texts_by_hand(value)
        case _:
            pass


async def test_a_dropped_request_is_refused(tmp_path: Path):
    async with pausing(tmp_path) as paused:
        sending = paused.ask("/v1/messages", BODY)
        await paused.decide("dropped")
        response = await sending
        assert (response.status_code, paused.received) == (403, [])
        assert "dropped this request" in json.dumps(response.json()["error"])
        assert response.headers["x-should-retry"] == "false"
        (call,) = await paused.tap.recorded(1)
        assert call.failure == "Dropped by hand; it was not sent."
        assert call_json(call, 0.0)["response"]["outcome"] == "dropped"


async def test_the_time_limit_sends_a_request_as_it_came(tmp_path: Path):
    async with pausing(tmp_path, seconds=0.05) as paused:
        assert (await paused.ask("/v1/chat/completions", BODY)).status_code == 200
        assert paused.received[0].body == BODY
        (call,) = await paused.tap.recorded(1)
        assert call.exchange.hold is not None
        assert call.exchange.hold.end == "expired"


async def test_the_end_of_the_proxy_refuses_what_is_held(tmp_path: Path):
    async with pausing(tmp_path) as paused:
        sending = paused.ask("/v1/messages", BODY)
        await paused.held()
        await paused.tap.transport.aclose()
        response = await sending
        assert response.status_code == 503
        assert "ended while it held this request; it was not sent" in response.text
        (call,) = await paused.tap.recorded(1)
        assert call.exchange.outcome == "ended"
        assert not paused.received


async def test_a_client_that_leaves_is_noticed(tmp_path: Path):
    async with pausing(tmp_path) as paused:
        sending = paused.ask("/v1/messages", BODY)
        await paused.held()
        sending.cancel()
        await paused.held(0)
        (call,) = await paused.tap.recorded(1)
        assert call.exchange.outcome == "client disconnected"
        assert call.exchange.hold is not None
        assert call.exchange.hold.end == "client disconnected"
        assert not paused.received


async def test_what_cannot_be_held_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tui_chat.plugins.tap.pause.MOST_HELD", 1)
    async with pausing(tmp_path, "Hi", max_body=1000) as paused:
        path, said = "/v1/chat/completions", {"role": "user", "content": "Hi"}
        first = paused.ask(path, {"model": "echo", "messages": [said]})
        await paused.held()
        other = {"model": "echo", "messages": [said, said]}
        assert (await paused.ask(path, other)).status_code == 200
        await paused.decide("sent")
        await first
        large = {"model": "echo", "messages": [{**said, "content": "Hi" * 1000}]}
        assert (await paused.ask(path, large)).status_code == 200


SECRET = "sk-in-the-body-0123456789"
WITH_SECRET = {
    "model": "echo",
    "messages": [{"role": "user", "content": "Hi"}],
    "mcp_servers": [
        {"url": "https://a", "authorization_token": SECRET},
        {"url": "https://b", "authorization_token": SECRET + "-b"},
    ],
}


def test_credentials_in_a_body_are_sent_and_never_shown():
    call = call_of(json.dumps(WITH_SECRET).encode())
    shown = json.loads(editable_text(call.body))
    assert SECRET not in editable_text(call.body)
    shown["mcp_servers"][0]["url"] = "https://c"
    shown["messages"][0]["content"] = "Hello"
    body = json.loads(edited_body(call, json.dumps(shown)) or b"")
    assert body["mcp_servers"][0] == {"url": "https://c", "authorization_token": SECRET}
    assert body["mcp_servers"][1] == WITH_SECRET["mcp_servers"][1]
    del shown["mcp_servers"][0]
    body = json.loads(edited_body(call, json.dumps(shown)) or b"")
    assert body["mcp_servers"] == WITH_SECRET["mcp_servers"][1:]
    shown["note"] = shown["mcp_servers"][0]["authorization_token"]
    with pytest.raises(InputError, match="where no credential was"):
        edited_body(call, json.dumps(shown))


def test_faults_of_an_edited_request():
    call = call_of()
    for text, told in (
        ("", "it is empty"),
        ('{"model": "echo",}', "line 1"),
        ("[]", "not a JSON object"),
        ('{"model": NaN}', "NaN"),
        ('{"model": "echo"}', "messages"),
        ('{"model": "echo", "messages": 3}', "messages"),
        ('{"model": "echo", "messages": [], "stream": true}', "“stream” must stay"),
    ):
        with pytest.raises(InputError) as fault:
            edited_body(call, text)
        assert told in str(fault.value), text
    assert edited_body(call, editable_text(call.body)) is None


async def test_the_next_request_goes_on_in_the_conversation(tmp_path: Path):
    first = {"model": "echo", "messages": [{"role": "user", "content": "One"}]}
    async with pausing(tmp_path) as paused:
        sending = paused.ask("/v1/chat/completions", first)
        await paused.decide("edited", (await paused.text()).replace("One", "Edited"))
        reply = (await sending).json()["choices"][0]["message"]["content"]
        assert reply == "Edited"
        messages = [
            *first["messages"],
            {"role": "assistant", "content": reply},
            {"role": "user", "content": "Two"},
        ]
        sending = paused.ask("/v1/chat/completions", {"model": "echo", "messages": messages})
        await paused.decide("sent")
        await sending
        one, two = await paused.tap.recorded(2)
        assert one.placed.conversation is two.placed.conversation
        assert two.placed.shared == 1
        (session,) = await paused.tap.sessions()
        transcript = await paused.tap.store.transcripts.get(session.session_id)
        assert transcript is not None
        texts = [entry.message.content for entry in transcript.entries]
        assert texts == ["One", "Edited", "Two", "Two"]
