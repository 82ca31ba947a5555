"""A client whose requests are caught, and whose clock and randomness the test controls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import httpx
import pytest

from tui_chat.providers.client import HttpClient, OutgoingRequest

HOST = "provider.test"
URL = f"https://{HOST}/v1/chat"


def request(**changes: object) -> OutgoingRequest:
    fields: dict[str, object] = {"method": "POST", "url": URL, "headers": (), "body": b"{}"}
    return OutgoingRequest(**(fields | changes))  # type: ignore[arg-type]


class Provider:
    """Answers from a list, then with 200 for ever; an exception in the list is raised."""

    def __init__(self) -> None:
        self.answers: list[httpx.Response | Exception] = []
        self.seen: list[httpx.Request] = []
        self.waits: list[float] = []

    def handle(self, received: httpx.Request) -> httpx.Response:
        self.seen.append(received)
        answer = self.answers.pop(0) if self.answers else httpx.Response(200, text="ok")
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def client(
        self, environ: dict[str, str] | None = None, random_fraction: float = 1.0
    ) -> HttpClient:
        return HttpClient(
            {HOST: lambda: httpx.MockTransport(self.handle)},
            environ or {},
            sleep=self.sleep,
            random_fraction=lambda: random_fraction,
            now=lambda: 1_700_000_000.0,
        )


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
async def closing():
    """Close what is given at the end."""
    async with AsyncExitStack() as stack:

        def add(client: HttpClient) -> HttpClient:
            stack.push_async_callback(client.aclose)
            return client

        yield add


Closing = Callable[[HttpClient], HttpClient]
