"""A client of the vendors, on a clock that advances only by sleeping."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.offline.conftest import Clock, clock
from tests.support.vendors import VendorTransport

__all__ = ["clock"]


@pytest.fixture
async def client(clock: Clock) -> AsyncIterator[httpx.AsyncClient]:
    transport = VendorTransport(dependencies=clock.dependencies)
    headers = {"anthropic-version": "2026-10-21", "authorization": "Bearer sk-very-secret"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://loopback.invalid", headers=headers
    ) as client:
        yield client
