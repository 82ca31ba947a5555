"""A workspace wired as the app wires it, with a real store and the offline provider behind the
vendors' checks."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from tests.support.databases import provide_database
from tests.support.vendors import VendorTransport, serve
from tui_chat import paths
from tui_chat.cli.app import open_library
from tui_chat.config import BUILT_IN_ENDPOINTS, Config, load_config
from tui_chat.models.endpoint import Endpoint
from tui_chat.offline.http_messages import HttpRequest, OfflineDependencies
from tui_chat.providers.client import HttpClient
from tui_chat.store import Store
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import BranchChanged, WorkspaceEvent
from tui_chat.workspace.workspace import Workspace

LOOPBACKS = [e for e in BUILT_IN_ENDPOINTS if e.name.startswith("loopback")]


async def no_wait(seconds: float) -> None:
    """Stand in for the pause before another try."""
    await asyncio.sleep(0)


class Heard:
    """What a workspace told, and a way to wait for the state one needs."""

    def __init__(self) -> None:
        self.changes: list[WorkspaceEvent] = []
        self._news = asyncio.Event()
        self.react: Callable[[WorkspaceEvent], None] = lambda change: None
        """What a test does at once: whoever waits may wake when the moment is gone."""

    def __call__(self, change: WorkspaceEvent) -> None:
        self.changes.append(change)
        self.react(change)
        self._news.set()

    async def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                self._news.clear()
                await self._news.wait()

    def of(self, kind: type) -> list[WorkspaceEvent]:
        return [change for change in self.changes if isinstance(change, kind)]


MakeWorkspace = Callable[..., "asyncio.Future[tuple[Workspace, Heard]]"]


@pytest.fixture
async def make_workspace(tmp_path: Path) -> AsyncIterator[Callable[..., object]]:
    """Return a function that opens a workspace over `tmp_path`; all are closed at the end."""
    workspaces: list[Workspace] = []
    numbers = itertools.count()

    async def make(
        endpoint: str = "loopback",
        model: str = "echo",
        endpoints: tuple[Endpoint, ...] = BUILT_IN_ENDPOINTS,
        on_request: Callable[[HttpRequest], None] | None = None,
        clock: Callable[[], float] = monotonic,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
        reads_config: bool = False,
        **settings: Any,
    ) -> tuple[Workspace, Heard]:
        config = Config(
            endpoints=endpoints,
            endpoint=endpoint,
            model=model,
            data_dir=tmp_path,
            config_dir=tmp_path,
            **settings,
        )
        heard = Heard()
        moments = itertools.count(1_700_000_000)
        store = await Store.open(
            provide_database(tmp_path / "chat.db"),
            now=lambda: float(next(moments)),
            new_id=lambda: f"id{next(numbers):06}",
        )
        workspace = Workspace(
            WorkspaceCore(
                config,
                store,
                HttpClient(
                    dict.fromkeys(
                        ("loopback.invalid", "provider.invalid"),
                        transport or (lambda: VendorTransport(on_request=on_request)),
                    ),
                    sleep=no_wait,
                ),
                open_library(config),
                now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
                clock=clock,
                new_id=lambda: f"ws{next(numbers):06}",
            ),
            read_config=partial(load_config, tmp_path, tmp_path, {}, {}) if reads_config else None,
        )
        workspace.subscribe(heard)
        workspaces.append(workspace)
        await workspace.start()
        return workspace, heard

    yield make
    for workspace in workspaces:
        await workspace.close()


async def settled(workspace: Workspace, heard: Heard) -> None:
    """Wait until the reply has ended and the workspace shows it so."""
    await heard.until(
        lambda: (
            not workspace.state.is_streaming
            and bool(workspace.state.entries)
            and workspace.state.entries[-1].message.role == "assistant"
            and workspace.state.entries[-1].status != "streaming"
        )
    )


def moved(endpoint: Endpoint, base: str) -> Endpoint:
    """Return a loopback endpoint that goes to a socket instead."""
    return replace(endpoint, base_url=endpoint.base_url.replace("http://loopback.invalid", base))


__all__ = ["BranchChanged", "Heard", "OfflineDependencies", "moved", "paths", "serve", "settled"]
