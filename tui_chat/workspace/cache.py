"""The prompt cache: how much of a request the provider will find in it, compared with the last one
of the session that the same endpoint accepted; and what sessions lost of it, and why.

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
from tui_chat.models.memo import recent_memo
from tui_chat.models.session import Entry
from tui_chat.tokens import counter_for
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import BranchChanged, ReplySettled, RequestOutdated
from tui_chat.workspace.exchange import with_entry
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.sent import Sent
from tui_chat.workspace.state import WorkspaceState
from tui_chat.workspace.usage import UsageReports

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast
    from tui_chat.analysis.cache_loss import CacheCause


class PromptCache:
    """Forecasts for the requests of the active session, and the causes of cache losses."""

    def __init__(
        self, core: WorkspaceCore, requests: Requests, sent: Sent, usage: UsageReports
    ) -> None:
        self.core = core
        self._requests, self._sent, self._usage = requests, sent, usage
        self._recalled: set[str] = set()
        """The endpoints whose last request was looked up since the session was opened."""
        self._tasks: set[asyncio.Task[None]] = set()
        core.watch(self._follow_session)

    def _follow_session(self, before: WorkspaceState, now: WorkspaceState) -> None:
        if now.session_id != before.session_id:
            self._recalled = set()

    # --- forecasts -------------------------------------------------------------------------

    def forecast(self, composed: Composed) -> Forecast | None:
        """Return the forecast for a request; None if its endpoint accepted none of the session."""
        last = self.core.state.last_sent.get(composed.endpoint.name)
        return None if last is None else _forecast(composed, last.composed)

    def of_reply(self, entry: Entry) -> Forecast | None:
        """Return the forecast for the request of a reply, if that was the last to its endpoint."""
        last = self.core.state.last_sent.get(entry.endpoint)
        if last is None or last.before is None or last.entry_id != entry.message.id:
            return None
        return _forecast(last.composed, last.before)

    def should_recall(self, endpoint: str) -> bool:
        """Return True once for an endpoint without a known request, for `recall` to look it up."""
        if endpoint in self.core.state.last_sent or endpoint in self._recalled:
            return False
        self._recalled.add(endpoint)
        return True

    async def recall(self, endpoint: str, draft: str) -> None:
        """Look up the session's last request that an endpoint accepted in the store, and publish
        `RequestOutdated` if there is one now that was not known before.
        """
        core, session_id = self.core, self.core.state.session_id
        last = await self._sent.last_sent(endpoint)
        is_active = core.state.is_active(session_id)
        if last is None or not is_active or endpoint in core.state.last_sent:
            return
        if core.state.request.session_id != session_id:
            # Its first request is still being composed, in a thread if it is long.
            self._recalled.discard(endpoint)
            return
        if core.state.endpoint.name == endpoint:
            # Counting all of it takes a while; from then on only what changes is counted.
            await asyncio.to_thread(_forecast, self._requests.compose(draft), last.composed)
            if not core.state.is_active(session_id):
                return
        core.update(RequestOutdated(), last_sent={endpoint: last, **core.state.last_sent})

    # --- losses ----------------------------------------------------------------------------

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
            forecast = await asyncio.to_thread(_forecast, now, last)
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
            entries = core.state.entries
            shown = next((entry for entry in entries if entry.message.id == entry_id), None)
            if shown is not None:
                entries = with_entry(entries, replace(shown, cache_loss=loss))
                core.update(BranchChanged(), entries=entries)

    async def _request(self, reply: Entry) -> Composed | None:
        """Return the request of a reply: as it was composed if that is known, else as stored."""
        known = self.core.state.last_sent.get(reply.endpoint)
        if known is not None and known.entry_id == reply.message.id:
            return known.composed
        return (await self._sent.request(reply.message.id, self.core.state.entries)).shown


@recent_memo()
def _forecast(composed: Composed, last: Composed) -> Forecast:
    from tui_chat.analysis.cache_forecast import forecast_cache

    counter = counter_for(composed.model)
    if composed.inputs is not None:  # corrected as the figures beside it are
        counter = counter.corrected(composed.inputs.correction)
    return forecast_cache(last, composed, counter)
