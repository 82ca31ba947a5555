"""A configured server: started when it is first used, restarted once if it dies.

1. The first use starts it, or connects to it; several at once share the start. The package `mcp` is
   imported then, in a thread: it takes a second.
2. A death tells the waiting calls. The next use starts it again, once; after that it has failed
   until it is closed. No call is sent twice, but after the end of a session, which did not take it.
3. The list of tools is asked for once, and again after the server says that it changed; over HTTP,
   where nothing is held open for that, after the time that it names, or a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from tui_chat.errors import InputError, ProviderError, Refused, TuiChatError, install_advice
from tui_chat.models.json_text import clean_json
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.content import ToolResult, read_result
from tui_chat.plugins.mcp.elicitation import Ask
from tui_chat.plugins.mcp.process import ServerProcess
from tui_chat.plugins.mcp.settings import ServerSettings, located_command, server_environment
from tui_chat.plugins.mcp.tools import ServerTool, read_tools
from tui_chat.providers.client import HttpClient
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.workspace.programs import VARIABLE, files_of, secret_values

if TYPE_CHECKING:
    from pathlib import Path

    from httpx2 import Auth
    from mcp import Client

    from tui_chat.plugins.mcp.connection import Connection

State = Literal["idle", "starting", "ready", "failed"]
MAX_RESTARTS = 1
"""Times that a server which died is started again by itself."""
MAX_PAGES = 100
MAX_ENTRIES = 2_000
"""Maximum entries of a list, over all pages."""
_NOTHING_LISTED: tuple[float, list[dict[str, Any]]] = (0.0, [])
_FRESH_SECONDS = 60.0
"""Seconds that a list over HTTP is used."""
_Result = TypeVar("_Result")


class ServerInfo(NamedTuple):
    """What a server says of itself, each on one line."""

    name: str = ""
    version: str = ""
    protocol: str = ""
    """The version of the protocol that is spoken."""


class Server:
    """A server of `[mcp.NAME]`."""

    def __init__(
        self,
        settings: ServerSettings,
        client: HttpClient,
        *,
        hidden: Collection[str] = (),
        data_dir: Path | None = None,
        login: Auth | None = None,
        ask: Ask | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`hidden` are variables of the client's environment that hold keys. `data_dir` has the
        logins, and `login` is one that the user makes now. `ask` asks the user
        what the server wants to know; None if nobody can be asked. `changed` is called after a
        change of state, or of a list.
        """
        self.name, self.settings = settings.name, settings
        self._client = client
        self._hidden = hidden
        self._data_dir = data_dir
        self._login = login
        self._ask = ask
        self._changed = changed
        self._connection: Connection | None = None
        self._starting: asyncio.Task[Connection] | None = None
        self._listed = _NOTHING_LISTED
        """The time until which the list of tools is used, and its entries as JSON."""
        self.is_stale = False
        """True if the list has changed since it was asked for, as the server said."""
        self._restarts = 0
        self._start_error: TuiChatError | None = None
        self.files: tuple[str, ...] = ()
        """The paths of its program and of the files that its command line names; see `Tool`."""
        self.tool_faults: tuple[str, ...] = ()
        """Sentences about tools that cannot be offered."""

    @property
    def state(self) -> State:
        """Its state. One that has failed once is started again by its next use."""
        if self._starting is not None:
            return "starting"
        if self.error is not None:
            return "failed"
        return "idle" if self._connection is None else "ready"

    @property
    def error(self) -> TuiChatError | None:
        """Why it could not be started, or died."""
        if self._start_error is not None or self._connection is None:
            return self._start_error
        return self._connection.fault

    @property
    def info(self) -> ServerInfo:
        """What it says of itself; empty before its first start."""
        if self._connection is None or not self._connection.has_begun:
            return ServerInfo()
        client = self._connection.client
        said = client.server_info
        name, version = ("", "") if said is None else (said.name, said.version)
        return ServerInfo(one_line(name, 80), one_line(version, 40), client.protocol_version)

    @property
    def version(self) -> str:
        """What it says that it is: a name and a version, on one line."""
        return one_line(f"{self.info.name} {self.info.version}".strip(), 80)

    @property
    def stderr_lines(self) -> tuple[str, ...]:
        """The last lines of its standard error. They are the server's: sanitize them."""
        link = None if self._connection is None else self._connection.link
        return tuple(link.stderr) if isinstance(link, ServerProcess) else ()

    @property
    def noise(self) -> int:
        """The number of lines and events that were skipped, as they were no messages."""
        return 0 if self._connection is None else self._connection.message_filter.noise

    # Start and end

    async def _connected(self) -> Connection:
        """Return the open connection, after starting the server if need be.

        Raises InputError, ProviderError.
        """
        if self._starting is None:
            if self._connection is not None and self.error is None:
                return self._connection
            if self.error is not None:
                if self._restarts >= MAX_RESTARTS:
                    raise self.error
                self._restarts += 1
            self._starting = asyncio.ensure_future(self._start())
            self._starting.add_done_callback(self._started)
            self._changed()
        return await asyncio.shield(self._starting)

    async def _start(self) -> Connection:
        package = await asyncio.to_thread(import_package, "tui_chat.plugins.mcp.connection")
        environ = self._client.environ
        settings, message_filter = (
            self.settings.expanded(environ, self._hidden),
            package.MessageFilter(),
        )
        login = self._login
        if settings.url:
            link = package.HttpTransport(settings, self._client, message_filter)
            if login is None and self._data_dir is not None:
                login = package.known_login(self._data_dir, settings.url)
        else:
            environment = server_environment(settings, environ, self._hidden)
            command = located_command(settings, environment)
            self.files = files_of(command, settings.cwd)
            said = [("", word) for word in self.settings.args if VARIABLE.search(word)]
            masks = KeyMasks(secret_values((*self.settings.env, *said), environ))
            settings = replace(settings, command=command[0])
            link = await ServerProcess.start(settings, environment, masks)
        connection: Connection = package.Connection(
            settings, link, message_filter, login, self._ask, self._forget, self._changed
        )
        self._connection = connection
        try:
            await connection.begin()
        except BaseException:
            connection.leave()
            raise
        return connection

    def _started(self, task: asyncio.Task[Connection]) -> None:
        if self._starting is not task:
            return  # it was closed meanwhile
        self._starting = None
        self._listed = _NOTHING_LISTED
        self._start_error = None
        if not task.cancelled() and isinstance(error := task.exception(), TuiChatError):
            self._start_error = error
        self._changed()

    def _forget(self) -> None:
        """Ask for the list anew when it is needed."""
        self.is_stale = True
        self._changed()

    async def close(self) -> None:
        """End the server, and wait until it has ended: for some seconds at most."""
        if (connection := self._taken()) is not None:
            await connection.close()

    def leave(self) -> None:
        """End the server without waiting, as the app does when it quits."""
        if (connection := self._taken()) is not None:
            connection.leave()

    def _taken(self) -> Connection | None:
        """Return the connection, which nobody uses any more. The next use starts the server."""
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None
        connection, self._connection = self._connection, None
        self._start_error = None
        self._restarts = 0
        self._changed()
        return connection

    async def _use(self, call: Callable[[Client], Awaitable[_Result]]) -> _Result:
        """Return what a call of the package's client returns. Raises InputError, ProviderError."""
        connection = await self._connected()
        try:
            return await connection.use(call)
        except Refused:
            if not connection.is_session_lost:
                raise
        if self._connection is connection:
            self.leave()
        return await (await self._connected()).use(call)

    # Tools

    async def tools(self) -> tuple[ServerTool, ...]:
        """Return its tools that may be offered. Raises InputError, ProviderError."""
        connection = await self._connected()
        entries = await self._list()
        tools, faults = read_tools(self.name, entries, self.settings.tools, self.version)
        self.tool_faults = (*faults, *connection.message_filter.left_out)
        return tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool by its name at the server. What fails is in the result, for the model. Cancel
        the task to cancel the call.
        """
        values = clean_json(dict(arguments))
        try:
            result = await self._use(lambda client: client.call_tool(name, values))
        except (InputError, ProviderError) as error:
            return ToolResult(str(error), failed=True)
        return read_result(_json(result))

    async def _list(self) -> list[dict[str, Any]]:
        """Return the list of tools, as JSON."""
        connection = await self._connected()
        if connection.client.server_capabilities.tools is None:
            return []
        until, entries = self._listed
        if time.monotonic() < until and not self.is_stale:
            return entries
        was_stale = self.is_stale
        self.is_stale = False  # before the request: the list may change again meanwhile
        try:
            entries, seconds = await self._all_pages()
        except BaseException:
            self.is_stale = self.is_stale or was_stale
            raise
        kept = max(seconds, _FRESH_SECONDS) if self.settings.url else float("inf")
        self._listed = time.monotonic() + kept, entries
        return entries

    async def _all_pages(self) -> tuple[list[dict[str, Any]], float]:
        """Return the entries of the list, and the seconds that the server wants them used for."""
        if self._connection is not None:
            self._connection.message_filter.left_out.clear()
        entries: list[dict[str, Any]] = []
        seconds = 0.0
        cursor: str | None = None
        seen: set[str] = set()
        while len(seen) < MAX_PAGES and len(entries) < MAX_ENTRIES:
            page = _json(await self._use(partial(_page, cursor)))
            entries += page["tools"]
            seconds = page.get("ttlMs", 0) / 1000
            cursor = page.get("nextCursor")
            if cursor is None or cursor in seen:
                break
            seen.add(cursor)
        return entries[:MAX_ENTRIES], seconds


def import_package(module: str) -> Any:
    """Return a module of ours that imports the package. Raises InputError without the extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("tui_chat"):
            raise
        advice = install_advice("tui-chat[mcp]")
        raise InputError("MCP servers need the package mcp.", advice=advice) from None


def _page(cursor: str | None, client: Client) -> Awaitable[Any]:
    return client.list_tools(cursor=cursor)


def _json(value: Any) -> Any:
    """Return a value of the package as JSON, without what is null."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)
