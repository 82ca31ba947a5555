"""The servers as sources of tools for conversations.

A source asks its server for tools when a session that may offer them needs them, and again when the
server says that they changed. It ends its server without waiting for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from tui_chat.errors import InputError, ProviderError
from tui_chat.models.tool import Tool
from tui_chat.plugins.mcp.elicitation import CANCEL, Question, Reaction
from tui_chat.plugins.mcp.server import Server
from tui_chat.plugins.mcp.settings import ServerSettings, configured_servers
from tui_chat.plugins.mcp.tools import CLAIMS, ServerTool
from tui_chat.workspace.state import SourceStatus
from tui_chat.workspace.tool_runner import ToolRun, argument_fault
from tui_chat.workspace.tool_sources import SourceContext, ToolSource

_CHANGES_SECONDS = 0.5
"""Seconds in which changes that a server tells are one."""


class ServerSource:
    """A server as a source of tools."""

    def __init__(self, settings: ServerSettings, context: SourceContext) -> None:
        self.name, self.settings = settings.name, settings
        self.hidden = context.hidden
        self._changed = context.changed
        self._show = context.ask
        self.server = Server(
            settings,
            context.client,
            hidden=context.hidden,
            data_dir=context.config.data_dir,
            ask=self._ask,
            changed=self._follow,
        )
        self.tools: tuple[Tool, ...] = ()
        self._names: dict[str, str] = {}
        """The names at the server, by those for models."""
        self._loading: asyncio.Task[None] | None = None

    @property
    def status(self) -> SourceStatus:
        """The state of the server, and why it failed."""
        server, info = self.server, self.server.info
        sentence = "" if server.error is None else f"{server.error} {server.error.advice}".strip()
        version = f"{info.name} {info.version}".strip() + f" · protocol {info.protocol}"
        return SourceStatus(
            self.name,
            server.state,
            sentence,
            self.settings.command_line,
            version if info.protocol else "",
            server.stderr_lines,
        )

    async def load(self) -> None:
        """Ask the server for its tools. What fails is in the status."""
        try:
            tools = await self.server.tools()
        except (InputError, ProviderError):
            return  # its tools stay known, and a call says what is wrong
        self._names = {tool.definition.name: tool.name for tool in tools}
        files = self.server.files
        self.tools = tuple(_offered(tool, self.settings, files) for tool in tools)
        self._changed()

    def _follow(self) -> None:
        """Tell a change, and ask for the tools again if they changed."""
        is_loading = self._loading is not None and not self._loading.done()
        if self.server.is_stale and not is_loading:
            self._loading = asyncio.ensure_future(self._load_again())
        self._changed()

    async def _load_again(self) -> None:
        await asyncio.sleep(_CHANGES_SECONDS)
        await self.load()

    async def call(self, tool: Tool, arguments: str) -> ToolRun:
        """Call a tool. What fails is in the text."""
        if fault := argument_fault(arguments):
            return ToolRun(f"The tool was not called. {fault}", ok=False)
        name = self._names.get(tool.name)
        if name is None:
            return ToolRun("The tool was not called: its server no longer has it.", ok=False)
        values: dict[str, Any] = json.loads(arguments.strip() or "{}")
        result = await self.server.call(name, values)
        return ToolRun(result.text, ok=not result.failed, parts=result.parts)

    async def _ask(self, question: Question) -> Reaction:
        content: dict[str, Any] = {}

        def dialog() -> object:
            from tui_chat.plugins.mcp.question_dialog import QuestionForm

            return QuestionForm(question, content)

        answer = await self._show(dialog)
        if answer is None:
            return CANCEL
        return Reaction("accept", content) if answer else Reaction("decline")

    async def close(self) -> None:
        """End the server without waiting for it."""
        if self._loading is not None:
            self._loading.cancel()
        self.server.leave()


def _offered(tool: ServerTool, settings: ServerSettings, files: tuple[str, ...]) -> Tool:
    return Tool(
        tool.definition,
        runs=settings.command_line,
        identity=settings.fingerprint,
        files=files,
        digest=tool.sha256,
        claims=tuple(CLAIMS[claim][value] for claim, value in tool.claims),
        consent=settings.consent,
    )


def open_sources(context: SourceContext) -> Sequence[ToolSource]:
    """Return a source for each configured server, those that were open before as they are."""
    before = {one.settings: one for one in context.before if isinstance(one, ServerSource)}
    sources: list[ToolSource] = []
    for settings in configured_servers(context.config):
        source = before.get(settings)
        if source is None or source.hidden != context.hidden:
            source = ServerSource(settings, context)
        sources.append(source)
    return sources
