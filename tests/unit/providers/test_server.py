"""An httpx transport on a loopback socket."""

import asyncio
import json

import httpx
import pytest

from tests.support.tables import each_row
from tui_chat.offline.provider import OfflineDependencies, OfflineTransport
from tui_chat.providers.server import LoopbackServer

PATH = "/v1/chat/completions"
both = each_row("stream", [False, True], ids=["whole", "stream"])


def ask(model: str, text: str = "hello", **fields):
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


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


@pytest.fixture
async def server():
    async with LoopbackServer(OfflineTransport(), max_body=6_000_000) as server:
        yield server


@both
async def test_a_client_that_leaves_stops_the_work(stream):
    gate = Gate()
    path, body = PATH, ask("lorem:1", stream=stream)
    async with LoopbackServer(OfflineTransport(gate.dependencies)) as server:
        async with httpx.AsyncClient(base_url=server.base_url) as client:
            post = asyncio.create_task(client.post(path, json=body))
            await gate.waiting.wait()
            post.cancel()
            await asyncio.wait_for(gate.cancelled.wait(), 2)
        assert gate.naps == 1


async def test_closing_the_server_ends_its_connections():
    gate = Gate()
    path, body = PATH, ask("lorem:1", stream=True)
    server = LoopbackServer(OfflineTransport(gate.dependencies))
    await server.__aenter__()
    async with httpx.AsyncClient(base_url=server.base_url) as client:
        post = asyncio.create_task(client.post(path, json=body))
        await gate.waiting.wait()
        await asyncio.wait_for(server.__aexit__(), 2)
        with pytest.raises(httpx.RemoteProtocolError):
            await post
    assert server.connections == 0


@each_row("host", ["0.0.0.0", "::", "192.168.1.2", "example.com", ""])
def test_it_refuses_hosts_that_other_machines_reach(host):
    with pytest.raises(ValueError, match="this machine only"):
        LoopbackServer(OfflineTransport(), host=host)


@each_row("host", ["127.0.0.1", "localhost", "127.1.2.3", "::1"])
def test_it_accepts_loopback_hosts(host):
    assert LoopbackServer(OfflineTransport(), 1234, host).base_url.endswith(":1234")


async def test_a_port_that_is_taken(server):
    with pytest.raises(OSError):
        await LoopbackServer(OfflineTransport(), server.port).__aenter__()


async def raw(server, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_broken_http_gets_a_400(server):
    answer = await raw(server, b"NOT HTTP AT ALL\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")


async def test_endless_headers_are_refused(server):
    answer = await raw(server, b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000)
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_chunked_bodies_and_continue(server):
    data = json.dumps(ask("echo", "chunky")).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (data[:7], data[7:]))
    post = f"POST {PATH} HTTP/1.1\r\nHost: x\r\n".encode()
    answer = await raw(
        server,
        post + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
    )
    assert b"chunky" in answer

    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"Content-Length: {len(data)}\r\nExpect: 100-continue\r\n\r\n"
    writer.write(post + head.encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    writer.write(data)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.close()
    await writer.wait_closed()


async def test_of_a_body_over_the_limit_no_more_is_read(server):
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n".encode()
    answer = await raw(server, head + b"x" * 6_100_000)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in answer


async def test_a_large_body_is_taken(server):
    async with httpx.AsyncClient(base_url=server.base_url) as client:
        response = await client.post(PATH, json=ask("mirror", "x" * 5_000_000))
    assert "5,000,000 characters" in response.text
