"""A clock that advances only by sleeping, and a client of the transport and the server on it."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import httpx
import pytest

from tui_chat.offline.http_messages import HttpRequest, OfflineDependencies
from tui_chat.offline.server import OfflineServer, serve
from tui_chat.offline.service import OfflineService
from tui_chat.offline.transport import LoopbackTransport


class Clock:
    """Time that passes at once, and remembers."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.slept: list[float] = []
        self.ids = itertools.count(1)

    async def sleep(self, seconds: float) -> None:
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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def received() -> list[HttpRequest]:
    """Every request that reached the provider."""
    return []


@pytest.fixture
async def client(clock: Clock, received: list[HttpRequest]) -> AsyncIterator[httpx.AsyncClient]:
    transport = LoopbackTransport(OfflineService(clock.dependencies, received.append))
    headers = {"anthropic-version": "2026-10-21", "authorization": "Bearer sk-very-secret"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://loopback.invalid", headers=headers
    ) as client:
        yield client


@pytest.fixture
async def server(clock: Clock, received: list[HttpRequest]) -> AsyncIterator[OfflineServer]:
    async with serve(on_request=received.append, dependencies=clock.dependencies) as server:
        yield server
