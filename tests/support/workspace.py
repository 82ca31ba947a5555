"""A workspace wired as the app wires it, with a real store and the offline provider behind the
vendors' checks, and what tests do with one: send, and look at messages, requests and files.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from tests.support.databases import provide_database
from tests.support.vendors import ENDPOINTS, HttpRequest, VendorTransport
from tests.support.vendors import LOOPBACKS as LOOPBACKS
from tui_chat.cli.app import open_library
from tui_chat.config import Config, load_config
from tui_chat.library.editing.edits import EditHistory, change_message
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.tool import CommandTool
from tui_chat.providers.client import HttpClient
from tui_chat.store import Store
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import (
    Failed,
    WorkspaceEvent,
)
from tui_chat.workspace.workspace import Workspace


async def no_wait(seconds: float) -> None:
    """Stand in for the pause before another try."""
    await asyncio.sleep(0)


class Heard:
    """What a workspace told, and a way to wait for the state one needs."""

    def __init__(self) -> None:
        self.changes: list[WorkspaceEvent] = []
        self.received: list[HttpRequest] = []
        """The requests that arrived at the offline provider."""
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


class MakeWorkspace:
    """Opens workspaces over a folder, which are closed at the end of a test."""

    def __init__(self, folder: Path, opened: list[Workspace]) -> None:
        self._folder, self._opened = folder, opened
        self._numbers = itertools.count()

    def of_row(self, number: int) -> MakeWorkspace:
        """Return one for a row of a table, over the row's `tmp_path`."""
        folder = self._folder / f"row-{number}"
        folder.mkdir(exist_ok=True)
        return MakeWorkspace(folder, self._opened)

    async def __call__(
        self,
        endpoint: str = "loopback",
        model: str = "echo",
        endpoints: tuple[Endpoint, ...] = ENDPOINTS,
        sent: Sequence[str] = (),
        on_request: Callable[[HttpRequest], None] | None = None,
        clock: Callable[[], float] = monotonic,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
        reads_config: bool = False,
        **settings: Any,
    ) -> tuple[Workspace, Heard]:
        """Open a workspace, in which the drafts `sent` were sent and answered."""
        folder, numbers, heard = self._folder, self._numbers, Heard()
        chosen = {"endpoints": endpoints, "endpoint": endpoint, "model": model}
        config = Config(data_dir=folder, config_dir=folder, **chosen, **settings)
        moments = itertools.count(1_700_000_000)
        store = await Store.open(
            provide_database(folder / "chat.db"),
            now=lambda: float(next(moments)),
            new_id=lambda: f"id{next(numbers):06}",
        )
        receive = on_request or heard.received.append
        offline = transport or (lambda: VendorTransport(on_request=receive))
        client = HttpClient(
            dict.fromkeys(("loopback.invalid", "provider.invalid"), offline), sleep=no_wait
        )
        core = WorkspaceCore(
            config,
            store,
            client,
            open_library(config),
            now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
            clock=clock,
            new_id=lambda: f"ws{next(numbers):06}",
        )
        read_config = partial(load_config, folder, folder, {}, {}) if reads_config else None
        workspace = Workspace(core, read_config=read_config)
        workspace.subscribe(heard)
        self._opened.append(workspace)
        await workspace.start()
        if sent:
            await say(workspace, heard, *sent)
        return workspace, heard


@pytest.fixture
async def make_workspace(tmp_path: Path) -> AsyncIterator[MakeWorkspace]:
    """Open workspaces over `tmp_path`."""
    opened: list[Workspace] = []
    yield MakeWorkspace(tmp_path, opened)
    for workspace in opened:
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


async def answered(workspace: Workspace, heard: Heard, asked: Awaitable[bool]) -> None:
    """Wait until what was asked for has begun, and its reply has ended."""
    assert await asked
    await settled(workspace, heard)


async def say(
    workspace: Workspace, heard: Heard, *drafts: str, parts: Sequence[MediaBlock] = ()
) -> str:
    """Send drafts, each once the reply to the one before has ended; return the last reply's id."""
    for draft in drafts:
        assert await workspace.replies.submit(draft, tuple(parts))
        await settled(workspace, heard)
    return workspace.state.entries[-1].message.id


def contents(workspace: Workspace) -> list[str]:
    """Return the texts of the shown messages."""
    return [entry.message.content for entry in workspace.state.entries]


def ids(workspace: Workspace) -> list[str]:
    """Return the ids of the shown messages."""
    return [entry.message.id for entry in workspace.state.entries]


def last_failure(heard: Heard) -> str:
    """Return the sentence of what failed last."""
    return str(heard.of(Failed)[-1].error)


def words(workspace: Workspace, draft: str = "hi") -> list[str]:
    """Return the texts of the turns that the next request has."""
    return [turn.text.plain for turn in workspace.requests.compose(draft).envelope.turns]


def put(folder: Path, name: str, value: object) -> Path:
    """Write a value as a JSON file with this name into a folder."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value))
    return path


def preset_with(content: str) -> dict[str, object]:
    """Return a preset with one message."""
    return {"name": "Called otherwise", "presetMessages": [{"role": "user", "content": content}]}


def cached_preset(*contents: str) -> dict[str, Any]:
    """Return a preset with system messages, the last of which has a cache mark, and the history."""
    messages: list[dict[str, Any]] = [
        {"id": f"p{number}", "name": f"Part {number}", "role": "system", "content": content}
        for number, content in enumerate(contents)
    ]
    messages[-1]["cacheControl"] = True
    history = {"type": "chat_history", "id": "history"}
    return {"name": "p", "presetMessages": [*messages, history]}


LONG_TEXT = "Rivers do not hurry, and yet they arrive. " * 130
"""Enough for the caches of providers."""
CHANGING = "{{random::" + "::".join(f"n{number}" for number in range(10_000)) + "}}"
"""A macro that is another text in each request, but for one in ten thousand."""

PLANTED = "zaffre quokka 7731"
"""Words that occur nowhere else."""


def files_with(folder: Path, text: str) -> list[Path]:
    """Return the files below a folder that contain a text, in UTF-8 or UTF-16."""
    wanted = [text.encode(), text.encode("utf-16-le")]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(each in path.read_bytes() for each in wanted)]


def limited(tokens: int) -> tuple[Endpoint, ...]:
    """Return the built-in endpoints with models that have a context of so many tokens."""
    facts = (("*", ModelFacts(context_limit=tokens, max_output=20)),)
    return tuple(replace(each, facts=facts) for each in ENDPOINTS)


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
BY_HAND = CommandTool(ToolDefinition("ask_me", "A person answers.", SCHEMA))


def command(name: str, code: str, **settings: Any) -> CommandTool:
    """Return a tool that is a program in Python."""
    return CommandTool(
        ToolDefinition(name, "A command answers.", SCHEMA),
        command=(sys.executable, "-c", code),
        **settings,
    )


ECHO = command("echo_city", "import json,sys; print('in', json.load(sys.stdin)['city'])")


def moved(endpoint: Endpoint, base: str) -> Endpoint:
    """Return a loopback endpoint that goes to a socket instead."""
    return replace(endpoint, base_url=endpoint.base_url.replace("http://loopback.invalid", base))


def edits_of(workspace: Workspace) -> EditHistory:
    edits = workspace.state.preset_edits
    assert edits is not None
    return edits


def rewrite(workspace: Workspace, content: str) -> None:
    edits = edits_of(workspace)
    preset = change_message(edits.preset, 0, content=content)
    workspace.presets.edit(workspace.state.preset_name, edits.record(preset, "edit"))
