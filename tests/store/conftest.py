"""Stores on real files that are closed at the end, with a controlled clock and ids."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tui_chat.models.endpoint import Protocol
from tui_chat.models.request import RequestRecord
from tui_chat.store import Store

HERE = Path(__file__).parent


class Clock:
    """A clock that advances a second with each call."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chat.db"


@pytest.fixture
def new_id() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"id-{next(numbers):06}"


Opener = Callable[[], Awaitable[Store]]


@pytest.fixture
async def open_store(path: Path, clock: Clock, new_id: Callable[[], str]) -> AsyncIterator[Opener]:
    opened: list[Store] = []

    async def opener() -> Store:
        store = await Store.open(path, now=clock, new_id=new_id, busy_timeout=0.3)
        opened.append(store)
        return store

    yield opener
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Opener) -> Store:
    return await open_store()


@pytest.fixture
def request_record() -> Callable[..., RequestRecord]:
    def make(body: bytes | None = b'{"model":"m"}', **recipe: object) -> RequestRecord:
        return RequestRecord(
            endpoint="home",
            protocol=Protocol.ANTHROPIC,
            method="POST",
            url="https://api.example/v1/messages",
            sha256=hashlib.sha256(body or b"").hexdigest(),
            recipe=recipe,
            body=body,
        )

    return make


Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def run() -> Iterator[Run]:
    """Start a Python program with pipes; it is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(HERE / script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
