"""Records of requests, and other programs on a store."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.stores import clock, new_id, open_store, path, store
from tui_chat.models.endpoint import Protocol
from tui_chat.models.request import RequestRecord

__all__ = ["clock", "new_id", "open_store", "path", "request_record", "run", "store"]

HERE = Path(__file__).parent


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
