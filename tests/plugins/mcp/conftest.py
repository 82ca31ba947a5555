from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.client import HttpClient

SCRIPT = Path(__file__).with_name("hostile_server.py")
Start = Callable[..., Server]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Return a function that makes a server of `hostile_server.py`; all are ended at the end."""
    client = HttpClient(environ=os.environ)
    servers: list[Server] = []

    def make(*words: str, settings: dict[str, Any] | None = None, **more: Any) -> Server:
        arguments = ("-S", "-E", str(SCRIPT), *words)
        values: dict[str, Any] = {"command": sys.executable, "args": arguments, "timeout": 20.0}
        server = Server(
            ServerSettings("bad", **values | (settings or {})), more.pop("client", client), **more
        )
        servers.append(server)
        return server

    yield make
    for server in servers:
        await server.close()
    await client.aclose()


def running() -> set[int]:
    """Return the processes of `hostile_server.py` that this process has started."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and SCRIPT.name.encode() in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
    return found


def is_alive(pid: int) -> bool:
    """Return True if a process runs; one that has ended and is not waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def has_ended(pid: int) -> bool:
    """Wait until a process has ended; False after ten seconds."""
    for _ in range(200):
        if not is_alive(pid):
            return True
        await asyncio.sleep(0.05)
    return False
