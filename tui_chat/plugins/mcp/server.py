"""A configured server: started when it is first used, restarted once if it dies.

1. The first use starts it, or connects to it; several at once share the start.
2. A death tells the waiting calls. The next use starts it again, once; after that it has failed
   until it is closed. No call is sent twice.
3. Lists are asked for once, and again after the server says that they changed; over HTTP, where
   nothing is held open for that, after the time that it names, or a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from tui_chat.errors import InputError, ProviderError, Refused, TuiChatError
from tui_chat.models.json_text import as_string, objects_in
from tui_chat.models.message import Message
from tui_chat.models.sanitize import one_line
from tui_chat.models.semantics import Brought, MessageSemantics
from tui_chat.models.text import clean
from tui_chat.plugins.mcp.connection import Connection, OnProgress
from tui_chat.plugins.mcp.content import (
    MOST_PARTS,
    ToolResult,
    document_bytes,
    read_content,
    read_result,
)
from tui_chat.plugins.mcp.elicitation import Ask
from tui_chat.plugins.mcp.messages import ServerInfo
from tui_chat.plugins.mcp.settings import ServerSettings, located_command, server_environment
from tui_chat.plugins.mcp.stdio import StdioTransport
from tui_chat.plugins.mcp.streamable_http import HttpTransport, argument_headers
from tui_chat.plugins.mcp.tools import ServerTool, read_tools
from tui_chat.plugins.mcp.transport import Transport
from tui_chat.providers.client import HttpClient
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.workspace.programs import VARIABLE, files_of, secret_values
from tui_chat.workspace.source_texts import PromptArgument, SourceDocument, SourcePrompt

State = Literal["idle", "starting", "ready", "failed"]
MAX_RESTARTS = 1
"""Times that a server which died is started again by itself."""
MAX_ARGUMENTS = 20
"""Arguments of a prompt that are asked for."""
_TEMPLATES = "resourceTemplates"
_FRESH_SECONDS = 60.0
"""Seconds that a list over HTTP is used."""


class Server:
    """A server of `[mcp.NAME]`."""

    def __init__(
        self,
        settings: ServerSettings,
        client: HttpClient,
        *,
        hidden: Collection[str] = (),
        ask: Ask | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`hidden` are variables of the client's environment that hold keys. `ask` asks the user
        what the server wants to know; None if nobody can be asked. `changed` is called after a
        change of state, or of a list.
        """
        self.name, self.settings = settings.name, settings
        self._client = client
        self._hidden = hidden
        self._ask = ask
        self._changed = changed
        self._connection: Connection | None = None
        self._starting: asyncio.Task[Connection] | None = None
        self._lists: dict[str, tuple[float, list[dict[str, Any]]]] = {}
        """By their kind: the time until which a list is used, and its entries."""
        self.stale: set[str] = set()
        """The kinds of lists that have changed since they were asked for, as the server said."""
        self._tools: dict[str, ServerTool] = {}
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
        return ServerInfo() if self._connection is None else self._connection.info

    @property
    def version(self) -> str:
        """What it says that it is: a name and a version, on one line."""
        return one_line(f"{self.info.name} {self.info.version}".strip(), 80)

    @property
    def stderr_lines(self) -> tuple[str, ...]:
        """The last lines of its standard error. They are the server's: sanitize them."""
        transport = self._transport
        return tuple(transport.stderr) if isinstance(transport, StdioTransport) else ()

    @property
    def noise(self) -> int:
        """The number of lines, events and answers that were skipped."""
        return 0 if self._transport is None else self._transport.noise

    @property
    def _transport(self) -> Transport | None:
        return None if self._connection is None else self._connection.transport

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
        environ = self._client.environ
        settings = self.settings.expanded(environ, self._hidden)
        connection = Connection(self.name, settings.timeout, self._ask, self._forget)
        self._connection = connection
        if settings.url:
            transport = HttpTransport(settings, self._client, connection.receive)
        else:
            environment = server_environment(settings, environ, self._hidden)
            command = located_command(settings, environment)
            self.files = files_of(command, settings.cwd)
            said = [("", word) for word in self.settings.args if VARIABLE.search(word)]
            masks = KeyMasks(secret_values((*self.settings.env, *said), environ))
            settings = replace(settings, command=command[0])
            transport = await StdioTransport.start(
                settings, environment, connection.receive, self._changed, masks
            )
        try:
            await connection.begin(transport)
        except BaseException:
            connection.leave()
            raise
        return connection

    def _started(self, task: asyncio.Task[Connection]) -> None:
        if self._starting is not task:
            return  # it was closed meanwhile
        self._starting = None
        self._lists.clear()
        self._start_error = None
        if not task.cancelled() and isinstance(error := task.exception(), TuiChatError):
            self._start_error = error
        self._changed()

    def _forget(self, kind: str) -> None:
        """Ask for a list anew when it is needed."""
        self.stale.add(kind)
        self._changed()

    async def close(self) -> None:
        """End the server, and wait until it has ended: for four seconds at most."""
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

    async def _request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        headers: Sequence[tuple[str, str]] = (),
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        connection = await self._connected()
        return await connection.request(method, params, headers=headers, on_progress=on_progress)

    # Tools

    async def tools(self) -> tuple[ServerTool, ...]:
        """Return its tools that may be offered. Raises InputError, ProviderError."""
        entries = await self._list("tools")
        patterns = self.settings.tools
        tools, self.tool_faults = read_tools(self.name, entries, patterns, self.version)
        self._tools = {tool.name: tool for tool in tools}
        return tools

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call a tool by its name at the server. What fails is in the result, for the model. Cancel
        the task to cancel the call.
        """
        headers: Sequence[tuple[str, str]] = ()
        if self.settings.url and name in self._tools:
            headers = tuple(argument_headers(self._tools[name].header_paths, arguments))
        params = {"name": name, "arguments": arguments}
        try:
            result = await self._request(
                "tools/call", params, headers=headers, on_progress=on_progress
            )
        except (InputError, ProviderError) as error:
            return ToolResult(str(error), failed=True)
        return read_result(result)

    # Prompts and documents

    async def prompts(self) -> tuple[SourcePrompt, ...]:
        """Return its prompts. Raises InputError, ProviderError."""
        return tuple(
            SourcePrompt(
                self.name,
                name,
                _description(entry),
                tuple(
                    PromptArgument(
                        as_string(argument.get("name")),
                        one_line(as_string(argument.get("description")), 200),
                        argument.get("required") is True,
                    )
                    for argument in islice(objects_in(entry.get("arguments")), MAX_ARGUMENTS)
                ),
            )
            for entry in await self._list("prompts")
            if (name := as_string(entry.get("name"))) and not any(map(str.isspace, name))
        )

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages of a prompt with its arguments. Raises as `prompts`."""
        result = await self._request("prompts/get", {"name": name, "arguments": arguments})
        label = f"{self.name}:{one_line(name, 80)}"
        origin = Brought(prompt=f"{label} ({self.version})" if self.version else label)
        return tuple(
            _prompt_message(message, label, origin)
            for message in objects_in(result.get("messages"))
        )

    async def documents(self) -> tuple[SourceDocument, ...]:
        """Return its documents, then its templates of URIs. Raises InputError, ProviderError."""
        if "resources" in self.stale:
            self._lists.pop(_TEMPLATES, None)
        documents = await self._list("resources")
        templates: list[dict[str, Any]] = []
        with suppress(Refused):  # a server may have documents alone
            templates = await self._list("resources", "resources/templates/list", _TEMPLATES)
        return tuple(
            SourceDocument(self.name, uri, _description(entry), is_template=key == "uriTemplate")
            for key, entries in (("uri", documents), ("uriTemplate", templates))
            for entry in entries
            if (uri := as_string(entry.get(key))) and not any(map(str.isspace, uri))
        )

    async def read(self, uri: str) -> tuple[bytes, ...]:
        """Return the contents of a document. Raises InputError, ProviderError."""
        result = await self._request("resources/read", {"uri": uri})
        contents = tuple(objects_in(result.get("contents")))
        if len(contents) > MOST_PARTS:
            raise InputError(f"{one_line(uri)} has more than {MOST_PARTS} contents.")
        return tuple(document_bytes(content, uri) for content in contents)

    async def _list(
        self, kind: Literal["tools", "prompts", "resources"], method: str = "", key: str = ""
    ) -> list[dict[str, Any]]:
        """Return a list of a kind, by default the one that is named like it."""
        connection = await self._connected()
        if not connection.info.can(kind):
            return []
        key = key or kind
        until, entries = self._lists.get(key, (0.0, []))
        if time.monotonic() < until and kind not in self.stale:
            return entries
        was_stale = kind in self.stale
        self.stale.discard(kind)  # before the request: the list may change again meanwhile
        try:
            entries, seconds = await connection.list_all(method or f"{kind}/list", key)
        except BaseException:
            if was_stale:
                self.stale.add(kind)
            raise
        kept = max(seconds, _FRESH_SECONDS) if self.settings.url else float("inf")
        self._lists[key] = time.monotonic() + kept, entries
        return entries


def _description(entry: Mapping[str, Any]) -> str:
    """Return what a prompt or document is, on one line."""
    title = as_string(entry.get("title")) or as_string(entry.get("description"))
    return one_line(title or as_string(entry.get("name")), 200)


def _prompt_message(message: Mapping[str, Any], label: str, origin: Brought) -> Message:
    content = read_content(message.get("content"))
    return Message(
        "assistant" if message.get("role") == "assistant" else "user",
        clean(content.text),
        parts=tuple(replace(part, name=part.name or label) for part in content.parts),
        semantics=MessageSemantics(brought=origin),
    )
