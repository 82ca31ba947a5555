"""Sources of tools for tests: servers in memory, of a plugin that is installed beside us."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pytest

from tui_chat import hooks
from tui_chat.api import Part, Plugin
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Range
from tui_chat.models.envelope import ToolDefinition, ToolOrigin
from tui_chat.models.tool import Tool
from tui_chat.workspace.state import SourceStatus
from tui_chat.workspace.tool_runner import ToolRun
from tui_chat.workspace.tool_sources import SourceContext, definition_digest

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class ToolServer:
    """A server with tools, which answers each call with its arguments."""

    def __init__(self, name: str, *tools: str, description: str = "Answers.") -> None:
        self.name = name
        self.status = SourceStatus(name)
        self.tools: Sequence[Tool] = ()
        self.loads = 0
        self.calls: list[tuple[str, str]] = []
        self.is_closed = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.context: SourceContext | None = None
        self.has(*tools, description=description)

    def has(self, *tools: str, description: str = "Answers.", runs: str = "") -> None:
        """Have these tools, once they are loaded."""
        runs = runs or f"serve-{self.name} --stdio"
        self.defined: list[Tool] = []
        for tool in tools:
            definition = ToolDefinition(f"{self.name}__{tool}", description, SCHEMA)
            digest = definition_digest(definition)
            origin = ToolOrigin(self.name, tool, "Server 1.0", digest)
            definition = ToolDefinition(definition.name, description, SCHEMA, source=origin)
            self.defined.append(Tool(definition, runs, digest, ("only reads",)))

    def announce(self) -> None:
        """Say that the tools changed."""
        self.tools = tuple(self.defined)
        assert self.context is not None
        self.context.changed()

    async def load(self) -> None:
        self.loads += 1
        await self.may_answer.wait()
        log = ("Ready\x1b[2J",)
        runs = f"serve-{self.name} --stdio"
        self.status = SourceStatus(self.name, "ready", "", runs, "Server 1.0", log)
        self.announce()

    async def call(self, tool: Tool, arguments: str) -> ToolRun:
        assert tool.definition.source is not None
        self.calls.append((tool.definition.source.name, arguments))
        await self.may_answer.wait()
        return ToolRun(f"{self.name} got {arguments}", ok=True)

    async def close(self) -> None:
        self.is_closed = True


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One of `[servers.NAME]`."""

    command: str
    timeout: Annotated[float, Range(above=0, high=600)] = 60.0


ServerTable = Mapping[str, ServerSettings]

SERVERS: list[ToolServer] = []
"""Those that the plugin brings."""


def open_sources(context: SourceContext) -> Sequence[ToolServer]:
    for server in SERVERS:
        server.context = context
    return tuple(SERVERS)


PLUGIN = Plugin(
    name="servers",
    summary="Brings servers in memory.",
    api=2,
    config="tests.support.tool_servers:ServerTable",
    parts=(Part("tool source", "tests.support.tool_servers:open_sources"),),
)


@contextmanager
def tool_servers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *servers: ToolServer
) -> Iterator[None]:
    """Install and enable the plugin, with these servers."""
    info = folder / "site" / "servers-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: servers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tui_chat.plugins]\nservers = tests.support.tool_servers:PLUGIN\n"
    )
    monkeypatch.syspath_prepend(str(info.parent))
    SERVERS[:] = servers
    hooks.enable(["servers"])
    try:
        yield
    finally:
        hooks.enable(())
        SERVERS.clear()
