"""Requests that are no part of a conversation: they ask a model for a title, a summary, the rest of
the user's message, or a text of a kind that a plugin adds.

Each is stored when it has ended, however it ended, so that what it cost is counted. Of one in a new
chat, which has no session that it could be deleted with, only that is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from tui_chat.compose import Composed
from tui_chat.errors import InputError, StoreError, TuiChatError
from tui_chat.models.generation import GenerationKind
from tui_chat.models.reply import Reply
from tui_chat.models.request import SideRequest
from tui_chat.models.text import clean
from tui_chat.models.usage import cost_of, source_of_cost
from tui_chat.send import receive
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.requests import Requests, require_usable_role
from tui_chat.workspace.usage import UsageReports

REPLY_KEPT = 100_000
"""Characters of a reply that are kept with its request."""


class SideRequests:
    """Sends side requests and stores each with its cost."""

    def __init__(self, core: WorkspaceCore, requests: Requests, usage: UsageReports) -> None:
        self.core = core
        self._requests = requests
        self._usage = usage

    async def ask(
        self,
        kind: str,
        session_id: str,
        composed: Composed,
        on_text: Callable[[str], None] = lambda text: None,
    ) -> Reply:
        """Send a request of a session, or of the new chat with this id, and return the reply.

        Calls `on_text` with the text that has arrived so far. Raises TuiChatError if the request
        fails. If the record of the request cannot be stored, that is not an error.
        """
        require_usable_role(composed.errors)
        reply = Reply()
        state = self.core.state
        is_new = state.session is None and state.session_id == session_id

        def grow(more: Reply, _: int) -> None:
            nonlocal reply
            reply = more
            on_text(reply.text)

        try:
            await receive(composed, self.core.client, grow, lambda pause: None)
        except asyncio.CancelledError:
            await self._store(kind, session_id, is_new, composed, reply, "stopped")
            raise
        except TuiChatError as error:
            await self._store(kind, session_id, is_new, composed, reply, "failed", str(error))
            raise
        await self._store(kind, session_id, is_new, composed, reply, "complete")
        return reply

    async def generate(
        self,
        kind: GenerationKind,
        composed: Composed,
        on_text: Callable[[str], None],
        *,
        for_user: bool = False,
    ) -> str:
        """Send a request of `Requests.compose_kind` for the active session, and return its text;
        the conversation does not change. Calls `on_text` with the text that has arrived so far. If
        it is written `for_user`, it goes without his name at its beginning. Reports an error and
        returns an empty text if the request fails.
        """
        core = self.core
        session_id, inputs = core.state.session_id, composed.inputs

        def spoken(text: str) -> str:
            text = clean(text).strip()
            if for_user and inputs is not None:  # models like to begin with the name
                text = text.removeprefix(f"{inputs.user_name}:").lstrip()
            return text

        self._requests.reseed()
        with core.reporting():
            reply = await self.ask(kind, session_id, composed, lambda text: on_text(spoken(text)))
            if not (text := spoken(reply.text)):
                raise InputError("The model wrote no text.")
            return text
        return ""

    @reported(())
    async def sent(self) -> tuple[SideRequest, ...]:
        """Return those of the active session whose exact bodies are kept, the newest first."""
        core = self.core
        side_requests = await core.active_store.side_requests.list(core.state.session_id)
        return tuple(request for request in reversed(side_requests) if request.body)

    async def _store(
        self,
        kind: str,
        session_id: str,
        is_new: bool,
        composed: Composed,
        reply: Reply,
        status: Literal["complete", "stopped", "failed"],
        error: str = "",
    ) -> None:
        core = self.core
        known = await self._usage.prices()
        prices = known.prices_of_request(composed, core.now())(reply.usage.tier)
        media = frozenset(part.kind for turn in composed.envelope.turns for part in turn.parts)
        cost = cost_of(reply.usage, prices, media)
        request = SideRequest(
            "" if is_new else session_id,
            kind,
            composed.endpoint.name,
            composed.model,
            status,
            composed.payload.body,
            reply.text[:REPLY_KEPT],
            reply.usage,
            cost,
            source_of_cost(reply.usage, prices, cost),
            error,
        )
        with suppress(StoreError):  # the session may have been deleted meanwhile
            await core.store_of(session_id).side_requests.add(request)
