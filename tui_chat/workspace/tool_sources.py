"""Where tools come from: the commands of `config.toml`, and the sources that plugins add.

1. A source has tools, answers calls of them, and has a state. Commands are one; a plugin has one
   for each server.
2. The sources of plugins are opened when something is typed, or a call waits, in a session that may
   offer their tools: in the background. A request is composed from the tools that are known then.
3. A session offers the tools chosen for it, else for its role, else those that say so themselves.
   Names are chosen, since the sources may be asked later.
4. Names are unique: of two tools with one name the later source's is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from shlex import join
from typing import Any, Protocol

from tui_chat import hooks
from tui_chat.api import Plugin
from tui_chat.config import Config
from tui_chat.errors import InputError
from tui_chat.hooks import PluginFailed, guard
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.role import Role
from tui_chat.models.tool import CommandTool, Tool
from tui_chat.providers.client import HttpClient
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Done, SourceAsked
from tui_chat.workspace.programs import files_of, located, shown_variables
from tui_chat.workspace.state import SourceStatus, WorkspaceState
from tui_chat.workspace.tool_runner import ToolRun, run

_ROLE_PREFIX = "role tools/"
"""Settings of the store with the names of the tools chosen for a role, by its id."""

TOOL_SECONDS = 10.0
"""Seconds for which a request waits for the tools of servers at most."""


class ToolSource(Protocol):
    """A source of tools. Nothing raises: what fails is in its status, or the answer of a call."""

    @property
    def name(self) -> str:
        """The name of its server, with which the names of its tools begin; empty for commands."""
        ...

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools known so far."""
        ...

    @property
    def status(self) -> SourceStatus:
        """Its state."""
        ...

    async def load(self) -> None:
        """Ask for the tools, unless they are known."""
        ...

    async def call(self, tool: Tool, arguments: str) -> ToolRun:
        """Answer a call with arguments as JSON. Cancel the task to cancel the call."""
        ...

    async def close(self) -> None:
        """End what runs for it. `load` may start it again."""
        ...


async def _ask_nobody(dialog: Callable[[], Any]) -> Any:
    return None


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What the sources of a plugin are opened with."""

    config: Config
    client: HttpClient
    hidden: frozenset[str]
    """Variables of the environment that hold keys: no process of a source gets them."""
    changed: Callable[[], None]
    """To be called on the event loop after a change of a source's tools or status."""
    before: Sequence[ToolSource] = ()
    """The plugin's sources under the last configuration. Those that are not returned are closed."""
    ask: Callable[[Callable[[], Any]], Awaitable[Any]] = _ask_nobody
    """Shows the dialog that a function returns, and returns its result; None without a screen. A
    dialog is closed when its task is cancelled. It must name the source."""


OpenSources = Callable[[SourceContext], Sequence[ToolSource]]
"""The function of a plugin that returns its sources. It is called in a thread, and starts nothing.
Raises InputError."""


def key_variables(config: Config) -> frozenset[str]:
    """Return the variables of the environment that hold credentials of endpoints: keys, and the
    URLs of proxies.
    """
    values = (each for endpoint in config.endpoints for each in (endpoint.key, endpoint.proxy))
    return frozenset(each.removeprefix("env:") for each in values if each.startswith("env:"))


def definition_digest(definition: ToolDefinition) -> str:
    """Return the SHA-256 of a definition: its name, description and parameters."""
    values = (definition.name, definition.description, definition.parameters)
    return sha256(json.dumps(values, sort_keys=True).encode("utf-8", "replace")).hexdigest()


class LocalCommands:
    """The commands of `[tools.NAME]` as a source."""

    name = ""
    status = SourceStatus("", "ready")

    def __init__(self, config: Config) -> None:
        self._hidden = key_variables(config)
        folder = ""
        with suppress(OSError):  # the working folder was deleted
            folder = os.getcwd()
        commands = (replace(each, command=located(each.command)) for each in config.tools)
        self._commands = {command.name: command for command in commands}
        self.tools = tuple(_command_tool(each, folder) for each in self._commands.values())

    async def load(self) -> None:
        """Do nothing: the configuration has the tools."""

    async def call(self, tool: Tool, arguments: str) -> ToolRun:
        """Run the command."""
        return await run(self._commands[tool.name], arguments, hidden=self._hidden)

    async def close(self) -> None:
        """Do nothing: runs are cancelled by their tasks."""


class _GuardedSource:
    """A source of a plugin. An exception of it fails the source, or the call, by a sentence."""

    def __init__(self, plugin: str, inner: ToolSource, changed: Callable[[], None]) -> None:
        self.inner = inner
        self._changed = changed
        self._plugin = plugin
        with guard(plugin, "tool source"):
            self.name = inner.name
        self._fault = ""

    @contextmanager
    def _noting(self) -> Generator[None]:
        """Note an exception of the source as its fault."""
        try:
            with guard(self._plugin, "tool source"):
                yield
        except PluginFailed as error:
            self._fault = str(error)

    @property
    def tools(self) -> Sequence[Tool]:
        with self._noting():
            return tuple(self.inner.tools)
        return ()

    @property
    def status(self) -> SourceStatus:
        status = SourceStatus(self.name)
        with self._noting():
            status = self.inner.status
        return replace(status, state="failed", sentence=self._fault) if self._fault else status

    async def load(self) -> None:
        self._fault = ""
        with self._noting():
            await self.inner.load()
        if self._fault:
            self._changed()

    async def call(self, tool: Tool, arguments: str) -> ToolRun:
        with self._noting():
            return await self.inner.call(tool, arguments)
        return ToolRun(self._fault, ok=False)

    async def close(self) -> None:
        with self._noting():
            await self.inner.close()


def _command_tool(command: CommandTool, folder: str) -> Tool:
    parts = json.dumps((command.command, command.env)).encode("utf-8", "replace")
    return Tool(
        command.definition,
        runs=shown_variables(command.env) + join(command.command) if command.command else "",
        identity=sha256(parts).hexdigest() if command.env else "",
        folder=folder if command.command else "",
        files=files_of(command.command),
        digest=definition_digest(command.definition),
        consent=command.consent,
        offered=command.offered,
    )


class ToolSources:
    """The sources, the tools that are known of them, and those that the active session offers."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core
        self._commands = LocalCommands(core.state.config)
        self._added: dict[str, tuple[_GuardedSource, ...]] = {}
        """The sources that plugins added, by plugin."""
        self._opening: asyncio.Task[None] | None = None
        self._loads: dict[str, asyncio.Task[None]] = {}
        """By the name of the source."""
        self._waiting: asyncio.Task[None] | None = None
        """Ends when a request may go out."""
        self._late: set[asyncio.Task[None]] = set()
        """The loads that a request waited for in vain. None waits for them again."""
        self._chosen: frozenset[str] | None = None
        """The tools chosen for the active session; None for those that say so themselves."""
        self._closing: set[asyncio.Task[None]] = set()
        core.watch(self._follow)
        core.update(known_tools=self._commands.tools)

    @property
    def _sources(self) -> tuple[ToolSource, ...]:
        return (self._commands, *(one for added in self._added.values() for one in added))

    # --- which tools are offered ---------------------------------------------------------

    @reported(None)
    async def choose(self, names: Iterable[str]) -> None:
        """Offer these tools and no others to the model from the next message on."""
        core, names = self.core, tuple(names)
        known = {tool.name for tool in core.state.known_tools}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError(f"There is no tool “{unknown[0]}”.")
        self._chosen = frozenset(names)
        self._offer()
        if core.state.session is None:
            core.new_chat_tools = json.dumps(names)
        else:
            await core.active_store.chosen_tools.save(core.state.session_id, json.dumps(names))
        core.publish(BranchChanged())

    async def apply(self, session_id: str, role: Role | None) -> None:
        """Offer what was chosen for a session, else for its role; without an id what new sessions
        of the role offer. Raises StoreError.
        """
        core, text = self.core, ""
        core.new_chat_tools = ""
        if core.state.config.tools or any(hooks.parts_at("tool source")):
            if session_id:
                text = await core.store_of(session_id).chosen_tools.get(session_id)
            if not text and role is not None:
                text = await core.store.settings.get(_ROLE_PREFIX + role.role_id) or ""
        self._chosen = frozenset(json.loads(text)) if text else None
        self._offer()

    def _offer(self) -> None:
        """Offer the chosen tools."""
        core, chosen = self.core, self._chosen
        core.update(
            tools=tuple(
                tool
                for tool in core.state.known_tools
                if (tool.offered if chosen is None else tool.name in chosen)
            )
        )

    @reported(None)
    async def choose_for_role(self) -> None:
        """Let the role's sessions offer what this one does, unless they have their own choice."""
        core = self.core
        if core.state.role is None:
            raise InputError("This session has no role.")
        names = json.dumps([tool.name for tool in core.state.tools])
        await core.store.settings.set(_ROLE_PREFIX + core.state.role.role_id, names)
        core.publish(Done(f"Sessions of {core.state.role.name} offer these tools."))

    def _may_offer(self, source: ToolSource) -> bool:
        """Return True if the active session may offer tools of a source, or has a call of one."""
        if self._chosen is None:
            return True
        names = (*self._chosen, *(call.call.name for call in self.core.state.pending_calls))
        return any(name.startswith(f"{source.name}__") for name in names)

    # --- the sources of plugins ----------------------------------------------------------

    def _follow(self, before: WorkspaceState, now: WorkspaceState) -> None:
        """Open and load the sources when they are needed."""
        # A lone / is the beginning of a command.
        is_typed = now.request is not before.request and bool(now.request.draft.strip("/"))
        if is_typed or (now.entries is not before.entries and now.pending_calls):
            self.load()

    def follow_config(self) -> None:
        """Use the configuration of the state, after it was changed."""
        self._commands = LocalCommands(self.core.state.config)
        self._changed()
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None
            self.load()

    def load(self) -> None:
        """Open the plugins' sources and ask them for their tools: in the background, and once."""
        if (opening := self.open()).done():
            self._load_offered()
        else:
            opening.add_done_callback(self._load_opened)

    def _load_opened(self, opening: asyncio.Task[None]) -> None:
        if opening is self._opening:  # else the configuration was changed
            self._load_offered()

    async def loaded(self) -> None:
        """Wait until the sources that the session may offer were asked for their tools."""
        await self.opened()
        self._load_offered()
        if loads := tuple(self._loads.values()):
            await asyncio.wait(loads)

    async def ready(self) -> bool:
        """Wait, before a request, for the sources that `load` asks for their tools: not long, since
        one may hang, and once for each start of one. Return False if `stop_waiting` ended it.
        """
        if self._opening is None:
            return True
        if self._waiting is None:
            self._waiting = asyncio.ensure_future(self._wait())
        waiting = self._waiting
        await asyncio.wait((waiting,))
        return not waiting.cancelled()

    async def _wait(self) -> None:
        try:
            await self.opened()
            loads = self._loads.items()
            awaited = {n: one for n, one in loads if not one.done() and one not in self._late}
            if awaited:
                self.core.update(BranchChanged(), awaited_sources=tuple(awaited))
                _, late = await asyncio.wait(awaited.values(), timeout=TOOL_SECONDS)
                self._late |= late
        finally:
            self._waiting = None
            if self.core.state.awaited_sources:
                self.core.update(BranchChanged(), awaited_sources=())

    def stop_waiting(self) -> bool:
        """Send nothing that waits for tools; False if nothing does."""
        return self._waiting is not None and self._waiting.cancel()

    def open(self) -> asyncio.Task[None]:
        """Open the sources of plugins in the background, once. None is asked for anything."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())
        return self._opening

    async def opened(self) -> None:
        """Wait until the sources of plugins are open. None is asked for anything."""
        while not (opening := self.open()).done():
            await asyncio.wait((opening,))

    async def named(self, name: str) -> ToolSource | None:
        """Return the source of a plugin with this name, if there is one."""
        source = await self._guarded(name)
        return None if source is None else source.inner

    async def _guarded(self, name: str) -> _GuardedSource | None:
        await self.opened()
        added = chain.from_iterable(self._added.values())
        return next((one for one in added if one.name and one.name == name), None)

    async def _open(self) -> None:
        core, config = self.core, self.core.state.config
        for plugin, part in hooks.parts_at("tool source"):
            before = self._added.get(part.path, ())
            hidden = key_variables(config)
            context = SourceContext(
                *(config, core.client, hidden, self._changed),
                *([source.inner for source in before], self._ask),
            )
            with core.reporting():  # a plugin that fails is named, and the others go on
                opened = await asyncio.to_thread(_open_sources, plugin, part.path, context)
                self._added[part.path] = tuple(
                    _GuardedSource(plugin.name, one, self._changed) for one in opened
                )
                for source in before:
                    if source.inner not in opened:
                        self._close(source)

        self._changed()

    def _load_offered(self) -> None:
        for source in self._sources:
            if source.name and source.name not in self._loads and self._may_offer(source):
                self._loads[source.name] = asyncio.ensure_future(source.load())

    async def restart(self, name: str) -> None:
        """End what runs for a source of a plugin, however it is, and ask for its tools again."""
        if (source := await self._guarded(name)) is None:
            return
        if (load := self._loads.get(name)) is not None:
            load.cancel()
        await source.close()
        self._loads[name] = load = asyncio.ensure_future(source.load())
        await asyncio.wait((load,))

    def _close(self, source: ToolSource) -> None:
        if (load := self._loads.pop(source.name, None)) is not None:
            load.cancel()
        task = asyncio.ensure_future(source.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _changed(self) -> None:
        """Take over what the sources know now."""
        core, tools = self.core, dict[str, Tool]()
        for tool in chain.from_iterable(source.tools for source in self._sources):
            tools.setdefault(tool.name, tool)
        known = tuple(tools.values())
        failed = {one.name for one in core.state.tool_sources if one.state == "failed"}
        core.update(tool_sources=tuple(one.status for one in self._sources if one.name))
        for one in core.state.tool_sources:
            if one.state == "failed" and one.name not in failed:
                core.publish(Done(one.sentence))
        if known != core.state.known_tools:
            core.update(known_tools=known)
            self._offer()
        core.publish(BranchChanged())

    async def _ask(self, dialog: Callable[[], Any]) -> Any:
        self.core.publish(question := SourceAsked(dialog))
        return None if question.answer is None else await question.answer

    # --- calls ---------------------------------------------------------------------------

    async def call(self, tool: Tool, arguments: str) -> ToolRun:
        """Answer a call of a tool that is known."""
        source = next(source for source in self._sources if source.name == tool.server)
        return await source.call(tool, arguments)

    async def close(self) -> None:
        """End all sources."""
        for task in (*self._loads.values(), self._opening, self._waiting):
            if task is not None:
                task.cancel()
        for source in self._sources:
            self._close(source)
        if self._closing:
            await asyncio.wait(tuple(self._closing))


def _open_sources(plugin: Plugin, path: str, context: SourceContext) -> Sequence[ToolSource]:
    open_sources: OpenSources = hooks.load_part(plugin, path)
    return open_sources(context)
