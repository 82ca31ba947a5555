"""The tap's overhead: time to the first byte and to the last one, with the proxy and without it.

    uv run python -m tests.tools.benchmarks.tap [ROUNDS]

One run alternates three ways: straight to a server, through the proxy alone, and through one whose
calls are explained and stored as `tui-chat tap --json` does; all in one process, so that what is
measured is the work and not how the system schedules processes. The request has the size of a
coding agent's (100 kB), the reply streams 200 events. Prints medians, the difference to the direct
way, and their ratio; the goal is less than 2 ms to the first byte.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.plugins.tap.wire import raw_server, tap_before
from tui_chat.cli.app import new_id
from tui_chat.plugins.tap.call_output import call_json
from tui_chat.plugins.tap.proxy import TapTransport
from tui_chat.plugins.tap.recorder import Recorder
from tui_chat.plugins.tap.sessions import SessionWriter
from tui_chat.plugins.tap.upstreams import read_upstream, route_to
from tui_chat.providers.server import LoopbackServer
from tui_chat.store import Store

ROUNDS = 200
PAUSE = 0.1
"""Seconds between two requests."""
EVENTS = 200
TEXT = "The ferry leaves at dawn. " * 4000


def request(port: int, number: int) -> bytes:
    messages = [{"role": "user", "content": f"{number}: {TEXT}"}]
    body = json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        f"authorization: Bearer sk-0123456789abcdef\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def events() -> list[bytes]:
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    out = [head]
    for number in range(EVENTS):
        delta = {"choices": [{"index": 0, "delta": {"content": f"word {number} "}}]}
        data = f"data: {json.dumps(delta)}\n\n".encode()
        out.append(b"%x\r\n%s\r\n" % (len(data), data))
    return [*out, b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"]


async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
        for event in events():
            writer.write(event)
            await writer.drain()
            await asyncio.sleep(0)


class Client:
    """A client with one connection."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.writer.close()

    async def ask(self, number: int) -> tuple[float, float]:
        """Return the seconds to the first byte and to the last one."""
        data = request(self.port, number)
        began = time.perf_counter()
        self.writer.write(data)
        await self.reader.readexactly(1)
        first = time.perf_counter() - began
        await self.reader.readuntil(b"\r\n0\r\n\r\n")
        return first, time.perf_counter() - began


@asynccontextmanager
async def recording(upstream: int, folder: Path) -> AsyncIterator[int]:
    """Run a proxy whose calls are explained and stored as the command does; yields its port."""
    async with await Store.open(folder / "chat.db", now=time.time, new_id=new_id) as store:
        writer = SessionWriter(
            store, now=time.time, new_id=new_id, endpoint_name=lambda protocol, url: ""
        )
        recorder = Recorder(
            on_call=lambda call: json.dumps(call_json(call, 0.0)),
            on_other=lambda exchange: None,
            prices_of=lambda call, tier: None,
            writer=writer,
        )
        route = route_to(read_upstream(f"http://127.0.0.1:{upstream}"))
        transport = TapTransport(route, recorder.follow)
        async with LoopbackServer(transport) as proxy, transport:
            yield proxy.port
            await recorder.finish(10)


async def measure(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with (
            raw_server(upstream) as port,
            tap_before(port) as tap,
            recording(port, Path(folder)) as recorded,
        ):
            ports = {"direct": port, "proxy": tap.proxy.port, "recorded": recorded}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in ports}
            clients = {name: await Client(at).__aenter__() for name, at in ports.items()}
            for number in range(rounds):
                for name, client in clients.items():
                    times[name].append(await client.ask(number))
                    await asyncio.sleep(PAUSE)  # an agent runs its tools meanwhile
                for exchange in tap.exchanges:
                    exchange.free()
                tap.exchanges.clear()
            for client in clients.values():
                await client.__aexit__()
            report(times)


def report(times: dict[str, list[tuple[float, float]]]) -> None:
    for place, what in enumerate(("first byte", "last byte")):
        direct = [each[place] for each in times["direct"]]
        for name, measured in times.items():
            own = [each[place] for each in measured]
            more = statistics.median(a - b for a, b in zip(own, direct, strict=True))
            ratio = statistics.median(own) / statistics.median(direct)
            p95 = statistics.quantiles(own, n=20)[-1] - statistics.quantiles(direct, n=20)[-1]
            print(
                f"{what:<10} {name:<9} {statistics.median(own) * 1e3:7.2f} ms   "
                f"{more * 1e3:+6.2f} ms (p95 {p95 * 1e3:+6.2f})   x{ratio:.2f}"
            )


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
