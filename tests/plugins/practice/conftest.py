"""A clock that advances only by sleeping, and a client of the transport and the server on it."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from tests.support.vendors import HttpRequest, read_request
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.plugins.practice.provider import PracticeTransport
from tui_chat.providers.server import LoopbackServer


class Clock:
    """Time that passes at once, and remembers."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.slept: list[float] = []
        self.ids = itertools.count(1)

    async def sleep(self, seconds: float) -> None:
        if seconds == float("inf"):
            await asyncio.Event().wait()
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def random_id(self, length: int) -> str:
        return f"{next(self.ids):0{length}d}"

    @property
    def dependencies(self) -> OfflineDependencies:
        return OfflineDependencies(
            now=lambda: self.time,
            monotonic=lambda: self.time,
            sleep=self.sleep,
            random_id=self.random_id,
        )


class Recording(PracticeTransport):
    """The provider, which tells of each request."""

    def __init__(self, listen: Callable[[HttpRequest], None], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._listen = listen

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self._listen(read_request(request))
        return await super().handle_async_request(request)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def received() -> list[HttpRequest]:
    """Every request that reached the provider."""
    return []


@pytest.fixture
async def client(clock: Clock, received: list[HttpRequest]) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"anthropic-version": "2026-10-21", "authorization": "Bearer sk-very-secret"}
    async with httpx.AsyncClient(
        transport=Recording(received.append, clock.dependencies),
        base_url="http://loopback.invalid",
        headers=headers,
    ) as client:
        yield client


@pytest.fixture
async def server(clock: Clock, received: list[HttpRequest]) -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer(Recording(received.append, clock.dependencies)) as server:
        yield server
