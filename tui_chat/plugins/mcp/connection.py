"""A connection to a server: the client of the package `mcp` in a task of its own.

1. The client is entered and left in one task, as its cancel scopes demand. Requests come from any
   task; the one that is cancelled tells the server.
2. A call has `timeout` seconds. While the user is asked, they do not pass.
3. Capabilities are few: questions to the user, if there is someone to ask. No sampling, no roots.
4. The package logs what a hostile server sends, which would be written across the screen: its log
   is silent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias, TypeVar

from httpx2 import Auth
from mcp import Client, MCPError
from mcp.client import ClientRequestContext, IncomingMessage, InputRequiredRoundsExceededError
from mcp.client.auth import OAuthFlowError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    Implementation,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tui_chat import __version__
from tui_chat.errors import InputError, ProviderError, Refused, ReplyCut
from tui_chat.models.json_text import as_object, as_string, objects_in
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.elicitation import Ask, reaction_to
from tui_chat.plugins.mcp.http_transport import HttpTransport
from tui_chat.plugins.mcp.login import known_login
from tui_chat.plugins.mcp.process import ServerProcess
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.plugins.mcp.transport import MessageFilter, over_http, over_stdio

__all__ = ["Connection", "HttpTransport", "MessageFilter", "known_login"]

MAX_QUESTIONS = 20
"""Maximum questions of a server that wait for the user at once."""
_START_SECONDS = 20.0
"""Seconds that a server has at least to begin; `npx` may install for so long."""
_LEAVE_SECONDS = 3.0
_URL_NEEDED = -32042
"""A legacy server asks the user to open a URL, and to call again."""
_Result = TypeVar("_Result")
Fault: TypeAlias = ProviderError | InputError

for _name in ("mcp", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


async def _accept(name: str, result: CallToolResult) -> None:
    """Accept any result, in place of the package's check of the schema that its server names: a
    pattern in it could take hours.
    """


class Connection:
    """A server that was started or reached, and the client that speaks with it."""

    def __init__(
        self,
        settings: ServerSettings,
        link: ServerProcess | HttpTransport,
        message_filter: MessageFilter,
        login: Auth | None,
        ask: Ask | None,
        list_changed: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        """`settings` are expanded. `login` adds tokens to requests over HTTP. `ask` asks the user;
        None if nobody can be asked. `ended` is called when no more requests can be sent.
        """
        self._name, self._timeout = settings.name, settings.timeout
        self._settings = settings
        self.link = link
        self.message_filter = message_filter
        self._login = login
        self._ask = ask
        self._list_changed = list_changed
        self._ended = ended
        self._client: Client | None = None
        self._fault: Fault | None = None
        self._stop = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._timers: set[asyncio.Timeout] = set()
        self._questions = 0
        """The number of questions that wait for the user."""

    @property
    def fault(self) -> Fault | None:
        """Why no more requests can be sent; None while they can."""
        link = self.link
        return (link.fault if isinstance(link, ServerProcess) else None) or self._fault

    @property
    def is_session_lost(self) -> bool:
        """True after the server over HTTP said that its session is over."""
        return isinstance(self.link, HttpTransport) and self.link.is_session_lost

    @property
    def has_begun(self) -> bool:
        """True once both speak a version."""
        return self._client is not None

    @property
    def client(self) -> Client:
        """The client, once it has begun."""
        assert self._client is not None
        return self._client

    # The task that owns the client

    async def begin(self) -> None:
        """Find the version that both speak. Raises ProviderError."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.ensure_future(self._run(ready))
        try:
            async with asyncio.timeout(max(self._timeout, _START_SECONDS)):
                await asyncio.shield(ready)
        except TimeoutError:
            raise ReplyCut(f"The MCP server “{self._name}” did not answer in time.") from None

    async def _run(self, ready: asyncio.Future[None]) -> None:
        """Own the client for as long as it is used."""
        try:
            async with self._new_client() as client:
                client.session.validate_tool_result = _accept
                self._client = client
                self.message_filter.version = client.protocol_version
                listening = self._listen(client)
                ready.set_result(None)
                await self._stop.wait()
                if listening is not None:
                    listening.cancel()
        except Exception as error:
            self._fault = self._error_of(error)
        finally:
            self._fault = self._fault or ReplyCut(f"The MCP server “{self._name}” was stopped.")
            if not ready.done():
                ready.set_exception(self._fault)
                ready.exception()  # who began it may be gone
            self._ended()

    def _new_client(self) -> Client:
        info = Implementation(name="tui-chat", version=__version__)
        if isinstance(self.link, ServerProcess):
            streams = over_stdio(self.link, self.message_filter, self._ended)
        else:
            streams = over_http(self._settings, self.link, self.message_filter, self._login)
        return Client(
            streams,
            client_info=info,
            cache=None,
            elicitation_callback=None if self._ask is None else self._elicit,
            message_handler=self._take,
        )

    def _listen(self, client: Client) -> asyncio.Task[None] | None:
        """Have a modern server tell changes of its list for as long as it runs."""
        tools = client.server_capabilities.tools
        is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        tells = tools is not None and bool(tools.list_changed)
        if isinstance(self.link, HttpTransport) or not is_modern or not tells:
            return None

        async def listen() -> None:
            with suppress(Exception):  # a server may not be able to
                async with client.listen(tools_list_changed=True):
                    await self._stop.wait()

        return asyncio.ensure_future(listen())

    async def _take(self, message: IncomingMessage) -> None:
        """Take a notification."""
        if isinstance(message, ToolListChangedNotification):
            self._list_changed()

    # Requests

    async def use(self, call: Callable[[Client], Awaitable[_Result]]) -> _Result:
        """Return what a call of the client returns, in its time. Raises ProviderError; Refused for
        an error of the server.
        """
        if self.fault is not None:
            raise self.fault
        try:
            async with asyncio.timeout(None if self._questions else self._timeout) as timer:
                self._timers.add(timer)
                try:
                    return await call(self.client)
                finally:
                    self._timers.discard(timer)
        except TimeoutError:
            raise ReplyCut(
                f"The MCP server “{self._name}” did not answer within {self._timeout:g} seconds.",
                advice=f"Raise `timeout` in [mcp.{self._name}] if it needs longer.",
            ) from None
        except Exception as error:
            raise self._error_of(error) from None

    def _error_of(self, error: BaseException) -> Fault:
        """Return the error of ours that an error of the package stands for."""
        match error:
            case ProviderError() | InputError():
                return error
            case BaseExceptionGroup():
                return self._error_of(error.exceptions[0])
            case MCPError():
                return self._refusal(error)
            case InputRequiredRoundsExceededError():
                return Refused(
                    f"The MCP server “{self._name}” asked for input {error.max_rounds} times."
                )
            case OAuthFlowError():
                words = one_line(str(error), 200)
                return Refused(
                    f"The login at the MCP server “{self._name}” failed: {words}",
                    advice=f"`tui-chat mcp login {self._name}`",
                )
            case ValidationError():
                fault = error.errors(include_url=False, include_input=False)[0]
                place = ".".join(map(str, fault["loc"]))
                words = f"{place}: {fault['msg']}"
            case _:
                words = str(error) or type(error).__name__
        return Refused(
            f"The MCP server “{self._name}” sent what is no valid answer: {one_line(words, 200)}"
        )

    def _refusal(self, error: MCPError) -> Fault:
        link = self.link
        if isinstance(link, HttpTransport) and (fault := link.fault(error.data)) is not None:
            return fault
        if error.code == CONNECTION_CLOSED and self.fault is not None:
            return self.fault
        words = one_line(error.message) or "no reason"
        if error.code == _URL_NEEDED:
            urls = objects_in(as_object(error.data).get("elicitations"))
            words += "".join(f" Open {one_line(as_string(one.get('url')))}" for one in urls)
        return Refused(f"The MCP server “{self._name}” refused: {words}", code=str(error.code))

    # Questions of the server

    async def _elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """Ask the user, while the time of calls stands still."""
        del context
        if self._ask is None or self._questions >= MAX_QUESTIONS:
            return ErrorData(code=INVALID_REQUEST, message="Nobody can be asked now.")
        self._questions += 1
        self._reschedule(None)
        try:
            values = params.model_dump(by_alias=True, mode="json", exclude_none=True)
            return ElicitResult(**await reaction_to(self._name, values, self._ask))
        finally:
            self._questions -= 1
            if not self._questions:
                self._reschedule(asyncio.get_running_loop().time() + self._timeout)

    def _reschedule(self, when: float | None) -> None:
        for timer in self._timers:
            if not timer.expired():
                timer.reschedule(when)

    # The end

    async def close(self) -> None:
        """End the server, and wait until it has ended."""
        if isinstance(self.link, ServerProcess):
            await self.link.close()
        self._stop.set()
        if self._owner is not None:
            await asyncio.wait((self._owner,), timeout=_LEAVE_SECONDS)
            self._owner.cancel()

    def leave(self) -> None:
        """End the server without waiting."""
        if isinstance(self.link, ServerProcess):
            self.link.leave()
        else:
            self.link.is_left = True
        self._stop.set()
        if self._owner is not None:
            self._owner.cancel()
