"""Requests that are no part of a conversation: they ask a model for a title or a summary.

Each is stored when it has ended, however it ended, so that what it cost is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from tui_chat.compose import Composed
from tui_chat.errors import StoreError, TuiChatError
from tui_chat.models.reply import Reply
from tui_chat.models.side_request import SideRequest, SideRequestKind
from tui_chat.models.usage import cost_of
from tui_chat.send import receive

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

REPLY_KEPT = 100_000
"""Characters of a reply that are kept with its request."""


class SideRequests:
    """Sends them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def ask(
        self,
        kind: SideRequestKind,
        session_id: str,
        composed: Composed,
        on_text: Callable[[str], None] = lambda text: None,
    ) -> Reply:
        """Send a request of a session and return the reply.

        `on_text` is called with what has arrived of its text. Raises TuiChatError if the request
        fails; that it is stored is tried only.
        """
        reply = Reply()

        def grow(more: Reply, _: int) -> None:
            nonlocal reply
            reply = more
            on_text(reply.text)

        try:
            await receive(composed, self._workspace.client, grow, lambda pause: None)
        except asyncio.CancelledError:
            await self._store(kind, session_id, composed, reply, "stopped")
            raise
        except TuiChatError as error:
            await self._store(kind, session_id, composed, reply, "failed", str(error))
            raise
        await self._store(kind, session_id, composed, reply, "complete")
        return reply

    async def _store(
        self,
        kind: SideRequestKind,
        session_id: str,
        composed: Composed,
        reply: Reply,
        status: Literal["complete", "stopped", "failed"],
        error: str = "",
    ) -> None:
        workspace = self._workspace
        known = await workspace.replies.prices()
        prices = known.prices_of_request(composed, workspace.now())(reply.usage.tier)
        media = frozenset(part.kind for turn in composed.envelope.turns for part in turn.parts)
        cost = cost_of(reply.usage, prices, media)
        request = SideRequest(
            session_id,
            kind,
            composed.endpoint.name,
            composed.model,
            status,
            composed.payload.body,
            reply.text[:REPLY_KEPT],
            reply.usage,
            cost,
            prices.source if prices is not None and cost is not None else "",
            error,
        )
        with suppress(StoreError):  # the session may have been deleted meanwhile
            await workspace.store_of(session_id).side_requests.add(request)
