"""The two doors: bytes as they come, cuts, stalls, closing, and many at once."""

import asyncio
import json

import httpx
import pytest

from tests.support.tables import each_row
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.plugins.practice.provider import PracticeTransport

from .provider_messages import PROTOCOLS, read_reply, request

both = each_row("stream", [False, True], ids=["whole", "stream"])
every = each_row("protocol", PROTOCOLS)


class Gate:
    """A clock that stands still until told, and knows who gave up waiting."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.naps = 0

    async def sleep(self, _seconds: float) -> None:
        self.naps += 1
        self.waiting.set()
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    @property
    def dependencies(self) -> OfflineDependencies:
        return OfflineDependencies(now=lambda: 0.0, monotonic=lambda: 0.0, sleep=self.sleep)


@pytest.fixture(params=["transport", "socket"])
async def either_client(request, client, server):
    """A client through either either_client; both record into `received`."""
    if request.param == "transport":
        yield client
        return
    async with httpx.AsyncClient(base_url=server.base_url, headers=client.headers) as through:
        yield through


async def drain(
    either_client: httpx.AsyncClient, into: bytearray, path: str, body, **options
) -> None:
    async with either_client.stream("POST", path, json=body, **options) as response:
        assert response.status_code == 200
        async for data in response.aiter_raw():
            into += data


@every
@both
async def test_the_exact_bytes_arrive(either_client, received, protocol, stream):
    path, body = request(protocol, "echo", "exact: \u2028 é 🌸", stream=stream)
    sent = json.dumps(body, ensure_ascii=False, indent=1).encode()
    response = await either_client.post(path, content=sent)
    assert read_reply(protocol, response).text == "exact: \u2028 é 🌸"
    (seen,) = received
    received.clear()
    assert seen.body == sent
    assert seen.method == "POST"
    assert seen.target == path
    assert seen.header("authorization") == "Bearer sk-very-secret"
    assert "secret" not in repr(seen)


@every
async def test_a_cut_stream_ends_without_its_end(either_client, protocol):
    path, body = request(protocol, "flaky-cut", stream=True)
    got = bytearray()
    with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
        await drain(either_client, got, path, body)
    assert b" never" in got
    for end in (b"[DONE]", b"message_stop", b"response.completed", b"finishReason"):
        assert end not in got


@every
async def test_a_cut_whole_reply_does_not_come(either_client, protocol):
    path, body = request(protocol, "flaky-cut")
    with pytest.raises(httpx.RemoteProtocolError):
        await either_client.post(path, json=body)


@both
async def test_a_stall_runs_into_the_read_timeout(either_client, stream):
    path, body = request("anthropic", "flaky-stall", stream=stream)
    got = bytearray()
    with pytest.raises(httpx.ReadTimeout):
        await drain(either_client, got, path, body, timeout=httpx.Timeout(5, read=0.05))
    assert (b"text_delta" in got) is stream


async def test_the_first_text_arrives_before_the_last_is_generated(either_client, clock):
    path, body = request("openai_chat", "lorem:1:100", stream=True)
    start = clock.time
    async with either_client.stream("POST", path, json=body) as response:
        first = await anext(response.aiter_raw())
    assert b'"role":"assistant"' in first
    assert clock.time - start < 50


class TestTransport:
    async def test_cancelling_the_reader_stops_the_model(self):
        gate = Gate()
        async with httpx.AsyncClient(transport=PracticeTransport(gate.dependencies)) as client:
            path, body = request("gemini", "lorem:1")
            post = asyncio.create_task(client.post(f"http://x{path}", json=body))
            await gate.waiting.wait()
            post.cancel()
            with pytest.raises(asyncio.CancelledError):
                await post
            await asyncio.wait_for(gate.cancelled.wait(), 2)


class TestServer:
    async def test_twenty_streams_at_once(self, server):
        async def one(client: httpx.AsyncClient, number: int) -> str:
            protocol = PROTOCOLS[number % len(PROTOCOLS)]
            text = f"stream {number} " + "word " * 200 + "end"
            path, body = request(protocol, "echo:100", text, stream=True)
            headers = {"anthropic-version": "2026-10-21"}
            reply = read_reply(protocol, await client.post(path, json=body, headers=headers))
            return reply.text.replace("word ", "")

        async with httpx.AsyncClient(base_url=server.base_url) as client:
            texts = await asyncio.gather(*(one(client, number) for number in range(20)))
        assert texts == [f"stream {number} end" for number in range(20)]

    async def test_a_body_over_the_limit_is_refused(self, server, monkeypatch):
        monkeypatch.setattr("tui_chat.plugins.practice.provider.MAX_BODY", 1_000)
        async with httpx.AsyncClient(base_url=server.base_url) as client:
            response = await client.post("/v1/messages", content=b"x" * 5000)
        assert (response.status_code, response.json()["error"]["type"]) == (
            413,
            "request_too_large",
        )


@each_row("status", [429, 500, 529])
async def test_failures_end_after_n_requests(client, status):
    path, body = request("anthropic", f"flaky-{status}:2", "at last", stream=True)
    statuses = [(await client.post(path, json=body)).status_code for _ in range(3)]
    assert statuses == [status, status, 200]
    path, body = request("anthropic", f"flaky-{status}")
    assert [(await client.post(path, json=body)).status_code for _ in range(3)] == [status] * 3
