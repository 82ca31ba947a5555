"""A tap in front of the offline provider, with a recorder and a database."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.tap.wire import PATIENCE
from tests.support.vendors import serve
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.pause import HeldRequests, read_pattern
from tui_chat.plugins.tap.proxy import TapTransport
from tui_chat.plugins.tap.recorded_call import RecordedCall
from tui_chat.plugins.tap.recorder import Recorder
from tui_chat.plugins.tap.sessions import SessionWriter
from tui_chat.plugins.tap.upstreams import read_upstream, route_to
from tui_chat.providers.server import LoopbackServer
from tui_chat.store import Store

KEY = "sk-planted-0123456789abcdefghij"


@dataclass
class Recording:
    """A running tap, and what it recorded."""

    base_url: str
    store: Store
    recorder: Recorder = field(init=False)
    transport: TapTransport = field(init=False)
    calls: list[RecordedCall] = field(default_factory=list)
    others: list[RecordedExchange] = field(default_factory=list)
    exchanges: list[RecordedExchange] = field(default_factory=list)
    added: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    async def recorded(self, count: int) -> list[RecordedCall]:
        """Return the calls when so many are recorded."""
        async with asyncio.timeout(PATIENCE):
            while len(self.calls) < count:
                await self.added.wait()
                self.added.clear()
        return self.calls

    def add(self, call: RecordedCall) -> None:
        """Take a call, in a thread."""
        self.calls.append(call)
        self.loop.call_soon_threadsafe(self.added.set)

    async def sessions(self) -> list[Any]:
        """Return the stored sessions, the oldest first."""
        found = await self.store.sessions.list()
        return sorted(found, key=lambda each: each.session_id)


@asynccontextmanager
async def recording(
    folder: Path,
    upstream_url: str,
    *,
    max_body: int = 1 << 26,
    first_id: int = 1,
    pause: str = "",
    pause_for: float = 60.0,
    endpoint: str = "",
    **options: Any,
) -> AsyncIterator[Recording]:
    """Run a tap in front of a server; `pause` is a pattern of calls that it holds."""
    numbers = itertools.count(first_id)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "chat.db"
    async with await Store.open(
        path, now=time.time, new_id=lambda: f"{next(numbers):032x}"
    ) as store:
        writer = SessionWriter(
            store,
            now=time.time,
            new_id=lambda: f"{next(numbers):032x}",
            endpoint_name=lambda protocol, url: endpoint,
        )
        tap = Recording("", store)
        tap.recorder = Recorder(
            on_call=tap.add,
            on_other=tap.others.append,
            prices_of=lambda call, tier: None,
            writer=writer,
            **options,
        )

        def follow(exchange: RecordedExchange) -> None:
            tap.exchanges.append(exchange)
            tap.recorder.follow(exchange)

        holds = None
        if pause:
            database = store.replies.database
            holds = HeldRequests([read_pattern(pause)], pause_for, tap.recorder, database)
        route = route_to(read_upstream(upstream_url))
        tap.transport = transport = TapTransport(route, follow, max_body=max_body, holds=holds)
        async with LoopbackServer(transport) as proxy, transport:
            tap.base_url = proxy.base_url
            yield tap
            await tap.recorder.finish(PATIENCE)


@pytest.fixture
async def tap(tmp_path: Path) -> AsyncIterator[Recording]:
    async with serve(alias="echo") as server, recording(tmp_path, server.base_url) as found:
        yield found
