"""What the requests of sessions lost of prompt caches, and why.

A reply whose usage says that its request lost a part of the cache is compared with the request
before it, once, in the background; the cause is stored with the reply. `causes` sums them up.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_chat.compose import Composed
from tui_chat.errors import TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import Entry
from tui_chat.tokens import counter_for
from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import ReplySettled
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.usage import UsageReports

if TYPE_CHECKING:
    from tui_chat.analysis.cache_loss import CacheCause


@dataclass(eq=False)
class CacheLosses:
    """Finds the causes of cache losses."""

    core: WorkspaceCore
    _history: RequestHistory
    _active: ActiveSession
    _usage: UsageReports

    def __post_init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, event: ReplySettled) -> None:
        """Compare the request of a reply that has ended, unless its usage rules a loss out."""
        reply = event.entry
        if reply is None or reply.usage.input is None or self._is_served(event, reply):
            return
        task = asyncio.create_task(self._assess(event.session_id, reply))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_served(self, event: ReplySettled, reply: Entry) -> bool:
        """Return True if the request before is known and the cache served what it could of it."""
        from tui_chat.analysis.cache_loss import reported_loss

        last, entries = event.before, self.core.state.entries
        before = next((it for it in entries if last and it.message.id == last.entry_id), None)
        if last is None or before is None:
            return False
        return not reported_loss(last.composed.protocol, before.usage, reply.usage)

    async def finish(self) -> None:
        """Wait for what is being compared."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def causes(self, session_id: str) -> tuple[CacheCause, ...]:
        """Return why a session lost the cache, the dearest cause first. Raises StoreError."""
        from tui_chat.analysis.cache_loss import cache_causes

        await self.finish()
        return cache_causes(await self.core.store_of(session_id).usage.cache_losses(session_id))

    async def _assess(self, session_id: str, reply: Entry) -> None:
        """Store what a reply's request lost, if it lost anything."""
        from tui_chat.analysis.cache_forecast import forecast_cache
        from tui_chat.analysis.cache_loss import Idle, cache_loss, cache_seconds, reported_loss

        core, entry_id = self.core, reply.message.id
        with suppress(TuiChatError):  # the reply is complete without it
            store = core.store_of(session_id)
            sent = await store.requests.last_accepted(session_id, reply.endpoint, entry_id)
            before = None if sent is None else await store.messages.get(sent.message_id)
            if sent is None or before is None:
                return
            if before.model != reply.model:  # one of another branch has filled another cache
                branch = await store.branches.path_to(entry_id)
                if before.message.id not in (entry.message.id for entry in branch):
                    return
            if not reported_loss(sent.request.protocol, before.usage, reply.usage):
                return
            last, now = await self._request(before), await self._request(reply)
            if last is None or now is None:
                return
            forecast = await asyncio.to_thread(forecast_cache, last, now, counter_for(now.model))
            prices = (await self._usage.prices()).prices_of_request(now, core.now())
            began = (await store.requests.get(entry_id) or sent.request).created
            idle = Idle(
                max(0.0, began - sent.request.created - (before.seconds or 0.0)),
                cache_seconds(now.protocol, last.body),
            )
            loss = cache_loss(
                *(forecast, now.protocol, before.usage, reply.usage),
                *(prices(reply.usage.tier), idle),
            )
            if loss is None:
                return
            await store.replies.set_cache_loss(entry_id, loss)
            entries = (entry for entry in core.state.entries if entry.message.id == entry_id)
            for entry in entries:
                self._active.replace_entry(replace(entry, cache_loss=loss))

    async def _request(self, reply: Entry) -> Composed | None:
        """Return the request of a reply: as it was composed if that is known, else as stored."""
        known = self.core.state.last_sent.get(reply.endpoint)
        if known is not None and known.entry_id == reply.message.id:
            return known.composed
        return (await self._history.request(reply.message.id, self.core.state.entries)).shown
