"""A connection in its era: the handshake, requests with their timeout, and questions on the way.

1. A call has `timeout` seconds. While the user is asked, they do not pass.
2. No request is sent a second time by itself, but where the protocol says that it was not
   processed: after an answer that asks for input, and after the end of a session.
3. Capabilities are few: questions to the user, if there is someone to ask. No sampling, no roots.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeGuard

from tui_chat.errors import ProviderError, Refused, ReplyCut
from tui_chat.models.json_text import as_count, as_object, as_string, objects_in
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp import messages
from tui_chat.plugins.mcp.elicitation import Ask, reaction_to
from tui_chat.plugins.mcp.messages import Answer, Notification, Request, ServerInfo
from tui_chat.plugins.mcp.streamable_http import HttpTransport, SessionLost
from tui_chat.plugins.mcp.transport import Transport

PROBE_SECONDS = 10.0
"""Seconds after which a silent server is asked for the handshake; `npx` may install for so long."""
MAX_PAGES = 100
MAX_ENTRIES = 2_000
"""Maximum entries of a list, over all pages."""
MAX_ROUNDS = 10
"""Maximum times that one call asks for input."""
_LARGEST_AMOUNT = 1e15
"""Limit of the progress that a server tells, which is divided and shown."""

OnProgress = Callable[[float, float | None, str], None]
"""Gets progress, total (None if unknown) and a message."""


def _is_amount(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value < _LARGEST_AMOUNT


class Connection:
    """A server that was found to speak one of our versions."""

    def __init__(
        self, name: str, timeout: float, ask: Ask | None, list_changed: Callable[[str], None]
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._ask = ask
        self._list_changed = list_changed
        self._numbers = itertools.count(1)
        self.transport: Transport | None = None
        """The transport, once it began."""
        self._progress: dict[object, OnProgress] = {}
        """By the token of a call, which is its id."""
        self._timers: set[asyncio.Timeout] = set()
        self._questions = 0
        """The number of questions that wait for the user."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.info = ServerInfo()

    @property
    def fault(self) -> ProviderError | None:
        """Why no more requests can be sent; None while they can."""
        return None if self.transport is None else self.transport.fault

    # The beginning

    async def begin(self, transport: Transport) -> None:
        """Find the era, and make the handshake of the legacy one. Raises ProviderError."""
        self.transport = transport
        try:
            async with asyncio.timeout(max(self._timeout, PROBE_SECONDS * 2)):
                info = await self._find_era(transport)
        except TimeoutError:
            raise ReplyCut(f"The MCP server “{self._name}” did not answer in time.") from None
        except ValueError as error:
            raise self._unusable(error) from None
        await self._use(info, transport)
        is_stdio = not isinstance(transport, HttpTransport)
        if self.info.is_modern and is_stdio and (changes := self._announced()):
            self._run(self._listen(transport, changes))

    async def _use(self, info: ServerInfo, transport: Transport) -> None:
        """Speak the version that was found from now on."""
        self.info = info
        if isinstance(transport, HttpTransport):
            transport.protocol = info.protocol
        if not info.is_modern:
            await transport.send(messages.notification("notifications/initialized"))

    async def _find_era(self, transport: Transport) -> ServerInfo:
        probing = asyncio.ensure_future(self._discover(transport))
        shaking = None
        try:
            await asyncio.wait((probing,), timeout=PROBE_SECONDS)
            if probing.done() and (info := probing.result()):
                return info
            shaking = asyncio.ensure_future(self._shake_hands(transport))
            # A server that was slow to start answers the probe first.
            await asyncio.wait((probing, shaking), return_when=asyncio.FIRST_COMPLETED)
            if probing.done() and (info := probing.result()):
                return info
            answer = await shaking
            is_modern = answer.error is not None and answer.error.is_modern
            if is_modern and (info := await self._discover(transport)):
                return info
            return messages.initialized(answer)
        finally:
            for task in filter(None, (probing, shaking)):
                task.cancel()
                # One of them decides; the error of the other is nobody's.
                task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _discover(self, transport: Transport) -> ServerInfo | None:
        """Return what a modern server says of itself; None if it is a legacy one."""
        probe = self._request("server/discover", {}, messages.MODERN)
        try:
            answer = await transport.exchange(probe)
        except Refused as error:
            if error.status is None or error.status in (401, 403):
                raise
            return None
        return messages.discovered(answer)

    async def _shake_hands(self, transport: Transport) -> Answer:
        if isinstance(transport, HttpTransport):
            transport.protocol = ""
        number = next(self._numbers)
        return await transport.exchange(messages.initialize(number, self._capabilities))

    @property
    def _capabilities(self) -> dict[str, Any]:
        """What we can do for a server."""
        return {"elicitation": {"form": {}, "url": {}}} if self._ask is not None else {}

    def _announced(self) -> dict[str, bool]:
        """Return the lists whose changes a modern server tells."""
        return {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if as_object(self.info.capabilities.get(kind)).get("listChanged") is True
        }

    async def _listen(self, transport: Transport, changes: Mapping[str, bool]) -> None:
        """Have a modern server tell changes for as long as it runs."""
        params = {"notifications": changes}
        try:
            await transport.exchange(self._request("subscriptions/listen", params))
        except ProviderError:
            return

    # Requests

    def _request(
        self, method: str, params: Mapping[str, Any], protocol: str = ""
    ) -> dict[str, Any]:
        version = protocol or self.info.protocol
        return messages.request(next(self._numbers), method, params, version, self._capabilities)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        headers: Sequence[tuple[str, str]] = (),
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Return the result of a request, after the questions that the server asks for it.

        Raises ProviderError; Refused for an error of the server.
        """
        extra: dict[str, Any] = {}
        for _ in range(MAX_ROUNDS):
            message = self._request(method, {**params, **extra})
            result = await self._exchange(message, headers, on_progress)
            match result.get("resultType", "complete"):
                case "complete":
                    return result
                case "input_required":
                    extra = await self._inputs(result)
                case kind:
                    raise Refused(
                        f"The MCP server “{self._name}” sent a result of the unknown type "
                        f"“{one_line(str(kind), 40)}”."
                    )
        raise Refused(f"The MCP server “{self._name}” asked for input {MAX_ROUNDS} times.")

    async def _exchange(
        self,
        message: dict[str, Any],
        headers: Sequence[tuple[str, str]],
        on_progress: OnProgress | None,
    ) -> Mapping[str, Any]:
        if on_progress is not None:
            self._progress[message["id"]] = on_progress
        try:
            async with asyncio.timeout(self._timeout) as timer:
                self._timers.add(timer)
                try:
                    answer = await self._send(message, headers)
                finally:
                    self._timers.discard(timer)
        except TimeoutError:
            raise ReplyCut(
                f"The MCP server “{self._name}” did not answer within {self._timeout:g} seconds.",
                advice=f"Raise `timeout` in [mcp.{self._name}] if it needs longer.",
            ) from None
        finally:
            self._progress.pop(message["id"], None)
        if (error := answer.error) is not None:
            words = error.message
            if error.code == messages.URL_NEEDED:
                urls = objects_in(as_object(error.data).get("elicitations"))
                words += "".join(f" Open {one_line(as_string(one.get('url')))}" for one in urls)
            raise Refused(f"The MCP server “{self._name}” refused: {words}", code=str(error.code))
        return answer.result

    async def _send(self, message: dict[str, Any], headers: Sequence[tuple[str, str]]) -> Answer:
        transport = self.transport
        assert transport is not None
        try:
            return await transport.exchange(message, headers)
        except SessionLost:
            try:
                info = messages.initialized(await self._shake_hands(transport))
            except ValueError as error:
                raise self._unusable(error) from None
            await self._use(info, transport)
            return await transport.exchange(message, headers)

    def _unusable(self, error: ValueError) -> Refused:
        return Refused(f"The MCP server “{self._name}” cannot be used. {error}")

    async def list_all(self, method: str, key: str) -> tuple[list[dict[str, Any]], float]:
        """Return the entries of a list, of all its pages, and the seconds that the server wants
        them to be used for. Raises ProviderError.
        """
        entries: list[dict[str, Any]] = []
        milliseconds = 0
        cursor: object = None
        seen: set[object] = set()
        while len(seen) < MAX_PAGES:
            result = await self.request(method, {} if cursor is None else {"cursor": cursor})
            entries += objects_in(result.get(key))
            milliseconds = as_count(result.get("ttlMs")) or 0
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen or len(entries) >= MAX_ENTRIES:
                break
            seen.add(cursor)
        return entries[:MAX_ENTRIES], milliseconds / 1000

    async def _inputs(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that are added to a request which is sent again."""
        extra: dict[str, Any] = {}
        if "requestState" in result:
            extra["requestState"] = result["requestState"]
        asked = as_object(result.get("inputRequests"))
        responses: dict[str, Any] = {}
        for key, value in asked.items():
            request = as_object(value)
            if self._ask is None or request.get("method") != "elicitation/create":
                method = one_line(as_string(request.get("method")), 40)
                raise Refused(
                    f"The MCP server “{self._name}” asked for “{method}” without permission."
                )
            responses[key] = await self._react(self._ask, as_object(request.get("params")))
        if responses:
            extra["inputResponses"] = responses
        return extra

    # What the server sends by itself

    def receive(self, message: Request | Notification) -> None:
        """Take a message that is no answer."""
        if isinstance(message, Request):
            self._run(self._answer(message))
        elif message.method == "notifications/progress":
            self._take_progress(message.params)
        elif message.method.endswith("/list_changed"):
            self._list_changed(message.method.split("/")[1])

    def _take_progress(self, params: Mapping[str, Any]) -> None:
        token = params.get("progressToken")
        on_progress = self._progress.get(token) if isinstance(token, int | str) else None
        progress, total = params.get("progress"), params.get("total")
        if on_progress is not None and _is_amount(progress):
            message = one_line(as_string(params.get("message")))
            on_progress(progress, total if total and _is_amount(total) else None, message)

    async def _answer(self, request: Request) -> None:
        """Answer a request of a legacy server."""
        if request.method == "ping":
            answer = messages.result_message(request.id, {})
        elif request.method == "elicitation/create" and self._ask is not None:
            result = await self._react(self._ask, request.params)
            answer = messages.result_message(request.id, result)
        else:
            sentence = "This client has no such method."
            answer = messages.error_message(request.id, messages.METHOD_NOT_FOUND, sentence)
        if self.transport is not None:
            await self.transport.send(answer)

    async def _react(self, ask: Ask, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the user, while the time of calls stands still."""
        loop = asyncio.get_running_loop()
        self._questions += 1
        self._reschedule(None)
        try:
            return await reaction_to(self._name, params, ask)
        finally:
            self._questions -= 1
            if not self._questions:
                self._reschedule(loop.time() + self._timeout)

    def _reschedule(self, when: float | None) -> None:
        for timer in self._timers:
            if not timer.expired():
                timer.reschedule(when)

    # The end

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End the server, and wait until it has ended."""
        self._cancel()
        if self.transport is not None:
            await self.transport.close()

    def leave(self) -> None:
        """End the server without waiting."""
        self._cancel()
        if self.transport is not None:
            self.transport.leave()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
