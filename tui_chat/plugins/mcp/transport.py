"""A connection to a server, as its client sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from tui_chat.errors import ProviderError
from tui_chat.plugins.mcp.messages import Answer, Notification, Request

Receiver: TypeAlias = Callable[[Request | Notification], None]
"""Gets what a server sends besides answers."""


class Transport(Protocol):
    """Carries messages to a server and back. `stdio` and `streamable_http` have one each."""

    noise: int
    """The number of lines, events and answers that were no message, or that nobody waited for."""

    @property
    def fault(self) -> ProviderError | None:
        """Why no more requests can be sent; None while they can."""
        ...

    async def exchange(
        self, message: dict[str, Any], headers: Sequence[tuple[str, str]] = ()
    ) -> Answer:
        """Send a request and return its answer. Cancelled, it tells the server. `headers` are
        further ones of this request, where there are any.

        Raises ProviderError.
        """
        ...

    async def send(self, message: dict[str, Any]) -> None:
        """Send a notification, or an answer. What cannot be sent is ignored."""
        ...

    async def close(self) -> None:
        """End the connection, and wait until the server has ended."""
        ...

    def leave(self) -> None:
        """End the connection without waiting."""
        ...
