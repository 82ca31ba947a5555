"""Held requests on real sockets: patterns, decisions, limits, and clients that leave."""

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

from tests.plugins.tap.conftest import KEY, recording
from tests.plugins.tap.test_proxy import OK, request
from tests.plugins.tap.wire import PATIENCE, Tap, answering, tap_with, within
from tests.support.tables import each_row
from tests.support.vendors import HttpRequest, serve
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_tree import Arr, Obj, Str, Tree
from tui_chat.models.text import OriginKind
from tui_chat.plugins.tap.call_output import call_json, call_line
from tui_chat.plugins.tap.held_request import editable_text, edited_body
from tui_chat.plugins.tap.pause import HeldRequest, HoldDecision, Pauses, read_pattern

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


class Waiting:
    """Pauses whose held requests a test awaits."""

    def __init__(self, *patterns: str, seconds: float = 60.0) -> None:
        self.held: asyncio.Queue[HeldRequest] = asyncio.Queue()
        self.ended: asyncio.Queue[HeldRequest] = asyncio.Queue()
        self.passed: list[str] = []
        self.pauses = Pauses(
            [read_pattern(text) for text in patterns],
            seconds,
            on_change=lambda held: (self.ended if held.hold.end else self.held).put_nowait(held),
            on_passed=lambda exchange, why: self.passed.append(why),
        )

    async def next(self) -> HeldRequest:
        return await asyncio.wait_for(self.held.get(), PATIENCE)

    async def end(self) -> HeldRequest:
        return await asyncio.wait_for(self.ended.get(), PATIENCE)


class PausedTap:
    """A tap that holds requests in front of an upstream, which keeps what it receives."""

    def __init__(self, tap: Tap, waiting: Waiting, received: list[bytes]) -> None:
        self.tap, self.waiting, self.received = tap, waiting, received

    def request(self, body: bytes = BODY, path: str = "/v1/messages", *more: str) -> bytes:
        return request(self.tap.proxy.port, body, path, *more)

    async def ask(self, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await self.tap.send(data or self.request())

    async def hold(
        self, data: bytes = b""
    ) -> tuple[HeldRequest, asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.ask(data)
        return await self.waiting.next(), reader, writer


@asynccontextmanager
async def pausing(pattern: str = "model:echo", seconds: float = 60.0) -> AsyncIterator[PausedTap]:
    """Run a tap that holds what has a pattern; its upstream answers each request."""
    waiting, received = Waiting(pattern, seconds=seconds), list[bytes]()
    async with tap_with(answering(OK, received), pauses=waiting.pauses) as tap:
        yield PausedTap(tap, waiting, received)


async def is_answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    assert await within(reader.readexactly(len(OK))) == OK
    writer.close()


CALL = "/v1/messages"


@each_row(
    ("pattern", "path", "is_held"),
    [
        ("path:/v1/messages", CALL, True),
        ("path:*/messages", CALL, True),
        ("path:/v1/*/messages", CALL, False),
        ("model:ech*", CALL, True),
        ("model:ECHO", CALL, True),
        ("model:ch*", CALL, False),
        ("body:café", CALL, True),
        ("body:caf\\u00e9", CALL, True),
        ("body:*", CALL, False),
        ("client:my-agent", CALL, True),
        ("client:claude", CALL, False),
        ("café", CALL, True),
        ("my-ag*", CALL, True),
        ("nothing", CALL, False),
        # Nothing but calls of models is held.
        ("path:*", "/v1/messages/count_tokens", False),
        ("path:*", "/v1/embeddings", False),
        ("path:*", "/x", False),
    ],
)
async def test_patterns(pattern: str, path: str, is_held: bool):
    async with pausing(pattern) as paused:
        body = BODY if path == CALL else b"[]"
        sent = paused.request(body, path, "user-agent: My-Agent/1.0")
        reader, writer = await paused.ask(sent)
        if is_held:
            held = await paused.waiting.next()
            assert held.call.program.name == "My-Agent"
            assert not paused.received
            assert held.decide(HoldDecision("sent"))
            assert not held.decide(HoldDecision("dropped"))
        await is_answered(reader, writer)
        host = f"host: 127.0.0.1:{paused.tap.proxy.port}".encode()
        target = f"host: {paused.tap.upstream.authority}".encode()
        assert paused.received == [sent.replace(host, target)]
        (exchange,) = await paused.tap.ended()
        assert (exchange.hold is not None) is is_held
        assert exchange.request.data == body
        assert paused.waiting.held.empty()


@each_row("text", ["", "model:", " "])
def test_a_pattern_has_a_text(text: str):
    with pytest.raises(InputError, match="no text to look for"):
        read_pattern(text)


async def test_chunks_and_compressed_bodies_pass_as_they_came_after_a_hold():
    waiting, received = Waiting("model:echo"), b""
    done = asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        received = await reader.readuntil(b"0\r\nx: y\r\n\r\n")
        done.set()
        writer.write(OK)

    zipped = gzip.compress(BODY)
    chunks = b"%x;a=b\r\n%s\r\n0\r\nx: y\r\n\r\n" % (len(zipped), zipped)
    async with tap_with(upstream, pauses=waiting.pauses) as tap:
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHOST: 127.0.0.1:{tap.proxy.port}\r\n"
            "content-encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        ).encode()
        reader, writer = await tap.connect()
        writer.write(head + chunks)
        (await waiting.next()).decide(HoldDecision("sent"))
        assert await within(reader.readexactly(len(OK))) == OK
        await done.wait()
        target = tap.upstream.authority.encode()
        assert received == head.replace(f"127.0.0.1:{tap.proxy.port}".encode(), target) + chunks
        writer.close()


async def test_a_client_that_waits_for_continue_is_told_to_go_on():
    async with pausing() as paused:
        sent = paused.request(BODY, CALL, "expect: 100-continue")
        reader, writer = await paused.ask(sent[: -len(BODY)])
        told = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert await within(reader.readexactly(len(told))) == told
        writer.write(BODY)
        (await paused.waiting.next()).decide(HoldDecision("sent"))
        await is_answered(reader, writer)


@by_protocol
@each_row("encoding", ["", "gzip"])
async def test_an_edited_request_is_sent(
    tmp_path: Path, protocol: Protocol, path: str, body: Any, part: Any, encoding: str
):
    waiting, received = Waiting(f"path:{path}"), list[HttpRequest]()
    data = json.dumps(body).encode()
    content = gzip.compress(data) if encoding else data
    headers = {"authorization": f"Bearer {KEY}", "x-own": "stays"}
    headers |= {"content-encoding": encoding} if encoding else {}
    async with (
        serve(on_request=received.append) as server,
        recording(tmp_path, server.base_url, pauses=waiting.pauses) as tap,
        httpx.AsyncClient(base_url=tap.base_url, headers=VERSION) as client,
    ):
        sending = asyncio.create_task(client.post(path, content=content, headers=headers))
        held = await waiting.next()
        edited = json.loads(editable_text(held.call.body))
        name = "text" if protocol is Protocol.GEMINI else "content"
        part(edited)[name] = "Hi, edited ✎"
        changed = edited_body(held.call, json.dumps(edited))
        assert changed is not None
        held.decide(HoldDecision("edited", changed))
        response = await sending
        assert response.status_code == 200
        (sent,) = received
        assert json.loads(sent.body) == edited
        assert sent.header("content-length") == str(len(sent.body))
        assert sent.header("content-encoding") is None
        assert sent.header("authorization") == f"Bearer {KEY}"
        assert sent.header("x-own") == "stays"
        (call,) = await tap.recorded(1)
        printed = call_json(call, 0.0, ())
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


@by_protocol
@each_row("is_stream", [False, True], ids=["whole", "streamed"])
async def test_an_answer_by_hand_and_a_refusal(
    tmp_path: Path, protocol: Protocol, path: str, body: Any, part: Any, is_stream: bool
):
    waiting, received = Waiting("Hi"), list[HttpRequest]()
    if protocol is Protocol.GEMINI:
        path = (
            path.replace(":generateContent", ":streamGenerateContent?alt=sse") * is_stream or path
        )
    else:
        body = {**body, "stream": is_stream}
    text = "By hand: é\n\nand a second paragraph, longer than nine tokens in any count."
    async with (
        serve(on_request=received.append) as server,
        recording(tmp_path, server.base_url, pauses=waiting.pauses) as tap,
        httpx.AsyncClient(base_url=tap.base_url, headers=VERSION) as client,
    ):
        sending = asyncio.create_task(client.post(path, json=body))
        held = await waiting.next()
        held.decide(HoldDecision("answered", text.encode()))
        response = await sending
        assert (response.status_code, received) == (200, [])
        assert response.headers["x-tui-chat-tap"] == "answered by hand"
        is_json = response.headers["content-type"].startswith("application/json")
        assert is_json is not is_stream
        (call,) = await tap.recorded(1)
        assert call.call.protocol is protocol
        assert (call.message.content, call.failure, call.cost) == (text, "", None)
        assert call.reply.usage.input is None
        printed = call_json(call, 0.0, ())
        assert (printed["held"]["decision"], printed["request"]["sent"]) == ("answered", None)
        assert printed["response"]["outcome"] == "answered"
        (session,) = await tap.sessions()
        transcript = await tap.store.transcripts.get(session.session_id)
        assert transcript is not None
        reply = transcript.entries[-1]
        assert (reply.message.content, reply.finish) == (text, "answered by hand")
        # The connection is as good as before.
        sending = asyncio.create_task(client.post(path, json=body))
        (await waiting.next()).decide(HoldDecision("sent"))
        assert (await sending).status_code == 200
        sending = asyncio.create_task(client.post(path, json=body))
        (await waiting.next()).decide(HoldDecision("dropped"))
        response = await sending
        assert (response.status_code, len(received)) == (403, 1)
        assert "dropped this request" in json.dumps(response.json()["error"])
        assert response.headers["x-should-retry"] == "false"
        call = (await tap.recorded(3))[-1]
        assert call.failure == "Dropped by hand; it was not sent."
        assert call_json(call, 0.0, ())["response"]["outcome"] == "dropped"


async def test_an_answer_by_hand_at_a_path_of_a_gateway():
    async with pausing() as paused:
        held, reader, writer = await paused.hold(paused.request(BODY, "/api/chat/completions"))
        held.decide(HoldDecision("answered", b"By hand."))
        answer = await within(reader.readuntil(b"By hand."))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b'"choices":' in answer
        writer.close()


async def test_the_time_limit_sends_a_request_as_it_came():
    async with pausing(seconds=0.05) as paused:
        await is_answered(*await paused.ask())
        held = await paused.waiting.end()
        assert (held.hold.end, paused.waiting.pauses.requests) == ("expired", {})
        assert paused.received[0].endswith(BODY)
        assert not held.decide(HoldDecision("dropped"))


async def test_all_are_sent_and_none_is_held_afterwards():
    async with pausing() as paused:
        clients = [(await paused.hold())[1:] for _ in range(3)]
        paused.waiting.pauses.stop()
        clients.append(await paused.ask())
        for client in clients:
            await is_answered(*client)
        assert len(paused.received) == 4


async def test_the_end_of_the_proxy_refuses_what_is_held():
    async with pausing() as paused:
        _, reader, writer = await paused.hold()
    answer = await within(reader.read())
    writer.close()
    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"ended while it held this request; it was not sent" in answer
    assert (await paused.waiting.end()).hold.end == "ended"
    assert not paused.received


async def test_a_client_that_leaves_is_noticed():
    for is_reset in (False, True):
        async with pausing() as paused:
            *_, writer = await paused.hold()
            if is_reset:
                writer.transport.abort()
            else:
                writer.close()
            held = await paused.waiting.end()
            assert (held.hold.end, paused.waiting.pauses.requests) == ("client disconnected", {})
            (exchange,) = await paused.tap.ended()
            assert exchange.outcome == "client disconnected"
        assert not paused.received
    async with pausing() as paused:  # within its request
        _, writer = await paused.ask(paused.request()[:-20])
        writer.close()
        (exchange,) = await paused.tap.ended()
        assert (exchange.outcome, exchange.hold) == ("client disconnected", None)
    assert not paused.received
    assert paused.waiting.held.empty()


async def test_half_a_request_goes_on_after_the_time_limit():
    waiting, half = Waiting("model:echo", seconds=0.05), asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'"model"')
        half.set()
        await reader.readuntil(BODY[-20:])
        writer.write(OK)

    async with tap_with(upstream, pauses=waiting.pauses) as tap:
        sent = request(tap.proxy.port, BODY)
        reader, writer = await tap.connect()
        writer.write(sent[:-20])
        await asyncio.wait_for(half.wait(), PATIENCE)
        writer.write(sent[-20:])
        assert await within(reader.readexactly(len(OK))) == OK
        exchange = await tap.end(writer)
        assert exchange.request.data == BODY
    assert waiting.passed == ["it did not arrive in time to be held"]


@pytest.mark.slow
async def test_a_body_over_the_limit_passes_unheld():
    waiting, size = Waiting("model:echo"), 64 * 1024 * 1024
    body = b'{"model": "echo", "messages": "' + b"x" * size + b'"}'
    total = 0

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal total
        await reader.readuntil(b"\r\n\r\n")
        while total < len(body):
            total += len(await reader.read(1 << 20))
        writer.write(OK)

    async with tap_with(upstream, pauses=waiting.pauses) as tap:
        reader, writer = await tap.send(request(tap.proxy.port, body))
        async with asyncio.timeout(6 * PATIENCE):
            assert await reader.readexactly(len(OK)) == OK
        writer.close()
    assert total == len(body)
    assert waiting.passed == ["it is too large to be held"]


async def test_a_request_after_the_held_one_keeps_its_place():
    async with pausing("body:café") as paused:
        second = paused.request(b'{"model": "b"}')
        held, reader, writer = await paused.hold(paused.request() + second)
        held.decide(HoldDecision("edited", b'{"model": "other"}'))
        assert await within(reader.readexactly(2 * len(OK))) == 2 * OK
        writer.close()
        bodies = [data.rpartition(b"\r\n")[2] for data in paused.received]
        assert bodies == [b'{"model": "other"}', b'{"model": "b"}']


async def test_no_more_are_held_than_fit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tui_chat.plugins.tap.pause.MOST_HELD", 1)
    async with pausing() as paused:
        *_, first = await paused.hold()
        await is_answered(*await paused.ask())
        first.close()
        assert paused.waiting.passed == ["1 requests are held already"]


async def test_the_patience_of_the_client():
    async with pausing() as paused:
        for header, patience in (("600", 600), ("nan", None)):
            sent = paused.request(BODY, CALL, f"x-stainless-timeout: {header}")
            held, _, writer = await paused.hold(sent)
            assert held.client_patience == patience
            writer.close()
            await paused.waiting.end()


SECRET = "sk-in-the-body-0123456789"
WITH_SECRET = {
    "model": "echo",
    "messages": [{"role": "user", "content": "Hi"}],
    "mcp_servers": [
        {"url": "https://a", "authorization_token": SECRET},
        {"url": "https://b", "authorization_token": SECRET + "-b"},
    ],
}


async def test_credentials_in_a_body_are_sent_and_never_shown():
    async with pausing() as paused:
        held, _, writer = await paused.hold(paused.request(json.dumps(WITH_SECRET).encode()))
        writer.close()
        shown = json.loads(editable_text(held.call.body))
        assert SECRET not in editable_text(held.call.body)
        shown["mcp_servers"][0]["url"] = "https://c"
        shown["messages"][0]["content"] = "Hello"
        body = json.loads(edited_body(held.call, json.dumps(shown)) or b"")
        assert body["mcp_servers"][0] == {"url": "https://c", "authorization_token": SECRET}
        assert body["mcp_servers"][1] == WITH_SECRET["mcp_servers"][1]
        del shown["mcp_servers"][0]
        body = json.loads(edited_body(held.call, json.dumps(shown)) or b"")
        assert body["mcp_servers"] == WITH_SECRET["mcp_servers"][1:]
        shown["note"] = shown["mcp_servers"][0]["authorization_token"]
        with pytest.raises(InputError, match="where no credential was"):
            edited_body(held.call, json.dumps(shown))


async def test_faults_of_an_edited_request():
    async with pausing() as paused:
        held, _, writer = await paused.hold()
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
                edited_body(held.call, text)
            assert told in str(fault.value), text
        assert edited_body(held.call, editable_text(held.call.body)) is None
        writer.close()


async def test_the_next_request_goes_on_in_the_conversation(tmp_path: Path):
    waiting = Waiting("model:echo")
    first = {"model": "echo", "messages": [{"role": "user", "content": "One"}]}
    async with (
        serve() as server,
        recording(tmp_path, server.base_url, pauses=waiting.pauses) as tap,
        httpx.AsyncClient(base_url=tap.base_url, headers=VERSION) as client,
    ):
        sending = asyncio.create_task(client.post("/v1/chat/completions", json=first))
        held = await waiting.next()
        text = editable_text(held.call.body).replace("One", "Edited")
        held.decide(HoldDecision("edited", edited_body(held.call, text) or b""))
        reply = (await sending).json()["choices"][0]["message"]["content"]
        assert reply == "Edited"
        messages = [
            *first["messages"],
            {"role": "assistant", "content": reply},
            {"role": "user", "content": "Two"},
        ]
        body = {"model": "echo", "messages": messages}
        sending = asyncio.create_task(client.post("/v1/chat/completions", json=body))
        (await waiting.next()).decide(HoldDecision("sent"))
        await sending
        one, two = await tap.recorded(2)
        assert one.placed.conversation is two.placed.conversation
        assert two.placed.shared == 1
        (session,) = await tap.sessions()
        transcript = await tap.store.transcripts.get(session.session_id)
        assert transcript is not None
        texts = [entry.message.content for entry in transcript.entries]
        assert texts == ["One", "Edited", "Two", "Two"]
