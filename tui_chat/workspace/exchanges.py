"""Exchanges: requests that leave, and their replies as they arrive.

1. One transaction stores all that leaves together (`_store`), and one the end of each reply. What
   they return is shown at once (`_show_begun`, `_show_ended`); nothing is read again.
2. Each reply arrives in a task of its own, whichever session is active. What follows its end by
   itself is in `followers`, in that order.
3. A reply whose end cannot be stored stays on the screen, marked as not saved; `save_again` stores
   it, and nothing is sent before.

`Replies` is this with what a user does to get a reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tui_chat.errors import (
    BranchMoved,
    ProviderError,
    StoreError,
    TuiChatError,
)
from tui_chat.library.prices import KnownPrices
from tui_chat.models.session import Beginning, Begun, EndChanges, Entry, NewSession
from tui_chat.models.usage import Timing, Usage, cost_of, source_of_cost
from tui_chat.providers.retry import RetryPause
from tui_chat.send import FinishedReply, PartialReply, SendProgress, send
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import (
    BranchChanged,
    Done,
    Failed,
    ReplyGrew,
    ReplyRetrying,
    ReplySettled,
    RequestOutdated,
    SessionsChanged,
    WorkspaceEvent,
)
from tui_chat.workspace.exchange import (
    Exchange,
    Outgoing,
    Target,
    changes_when_begun,
    edits_after_all,
    with_entry,
    with_status,
    with_summary,
)
from tui_chat.workspace.requests import (
    Requests,
    require_usable_role,
)
from tui_chat.workspace.sent import Sent
from tui_chat.workspace.session_list import SessionList
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.state import LastSent
from tui_chat.workspace.tool_sources import ToolSources
from tui_chat.workspace.usage import UsageReports


class Exchanges:
    """Sends requests and receives their replies."""

    def __init__(
        self,
        core: WorkspaceCore,
        requests: Requests,
        sent: Sent,
        sessions: Sessions,
        listed: SessionList,
        usage: UsageReports,
        sources: ToolSources,
    ) -> None:
        self.core = core
        self._requests, self._sent, self._usage = requests, sent, usage
        self._sessions, self._list, self._sources = sessions, listed, sources
        self.followers: tuple[Callable[[ReplySettled], object], ...] = ()
        """Called with the end of each reply, one after the other: what follows it by itself."""
        self._tasks: dict[asyncio.Task[Entry], Exchange] = {}
        """The replies that are arriving, or are being stored."""
        self._unsaved: dict[str, Exchange] = {}
        """Those whose end could not be stored, by reply id."""
        self._targets: dict[str, Target] = {}
        """The targets of the replies that were sent to one, by reply id."""
        self._own_ids: set[str] = set()
        """Ids of the replies that this program requested."""
        self._timings: dict[str, Timing] = {}
        """The timings of replies that ended since the program started, by id."""
        self._endings: set[asyncio.Future[None]] = set()
        """The work after the ends of replies."""
        self._continues = True
        """False while replies are stopped because the program ends: nothing follows them then."""

    # --- what was sent ---------------------------------------------------------------------

    def target_of(self, reply_id: str) -> Target | None:
        """Return the target that a reply was sent to; None for the session's own choice."""
        return self._targets.get(reply_id)

    def was_requested_here(self, reply_id: str) -> bool:
        """Return True if this program requested a reply, since it started."""
        return reply_id in self._own_ids

    @property
    def sent_to_targets(self) -> tuple[str, ...]:
        """The ids of the replies that were sent to targets, oldest first."""
        return tuple(self._targets)

    def forget_targets(self) -> None:
        """Go on with all replies as the session says from now on."""
        self._targets.clear()
        for exchange in self._tasks.values():
            exchange.target = None

    def timing(self, entry: Entry) -> Timing:
        """Return how long a reply took and what it cost, as far as that is known."""
        timing = self._timings.get(entry.message.id)
        if timing is not None:
            return timing
        tokens = entry.usage.output
        cost, priced = entry.cost, entry.priced
        if not priced and tokens is not None and entry.status == "complete":
            prices = self._usage.prices_of(entry)
            cost = cost_of(entry.usage, prices)
            priced = source_of_cost(entry.usage, prices, cost)
        exact = tokens is not None
        return Timing(entry.seconds, entry.first, tokens, exact, cost, priced)

    # --- stopping ----------------------------------------------------------------------------

    async def stop(self, session_id: str = "", *, reply_id: str = "") -> None:
        """Stop what is arriving in a session, by default the active one, or one reply; what has
        arrived is kept.
        """
        session_id = session_id or self.core.state.session_id
        if reply_id:
            await self._stop(lambda exchange: exchange.reply_id == reply_id)
        else:
            await self._stop(lambda exchange: exchange.session_id == session_id)

    async def _stop(self, is_meant: Callable[[Exchange], bool]) -> None:
        await asyncio.sleep(0)  # a task that has not begun to run would never end its reply
        tasks = [task for task, exchange in self._tasks.items() if is_meant(exchange)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def stop_all(self, *, for_good: bool = False) -> None:
        """Stop all replies and keep what arrived. No tool runs because of it (`for_good`: ever)."""
        self._continues = False
        try:
            await self._stop(lambda exchange: True)
        finally:
            self._continues = not for_good

    async def all_ended(self) -> None:
        """Wait until no reply arrives, and what has arrived is stored and shown."""
        while left := [task for task in (*self._tasks, *self._endings) if not task.done()]:
            await asyncio.wait(left)

    # --- sending and receiving ---------------------------------------------------------------

    @reported(())
    async def begin(
        self,
        requests: tuple[Outgoing, ...],
        draft: str = "",
        stored: Callable[[], None] | None = None,
        *,
        is_at_head: bool = False,
    ) -> tuple[str, ...]:
        """Store messages and empty replies, and let the requests leave. Return the ids of the
        replies once they are on disk and shown; none, with `Failed` published, if that fails.

        `draft` is the text of the message, which calls the session if it begins with it. With
        `is_at_head`, the message must follow the last one of the stored session. Raises InputError
        for a role that was disabled or deleted.
        """
        for request in requests:
            require_usable_role(request.composed.errors)
        await self._save_unsaved()
        prices = await self._usage.prices()
        state = self.core.state
        exchanges = [Exchange(state.session_id, it.composed, it.target) for it in requests]
        beginning = self._beginning(requests, draft, is_at_head=is_at_head)
        storing = asyncio.create_task(self._store(beginning, requests, exchanges, stored))
        self._requests.reseed()
        for number, request in enumerate(requests):
            self._receive(request, exchanges[number], _reply_of(storing, number), prices)
        await asyncio.wait((storing,))
        return tuple(exchange.reply_id for exchange in exchanges if exchange.reply_id)

    def _beginning(
        self, requests: tuple[Outgoing, ...], draft: str, *, is_at_head: bool
    ) -> Beginning:
        """Return what is stored before requests of the active session leave."""
        state, user = self.core.state, requests[0].user
        new: NewSession | None = None
        if state.session is None:
            new = self._sessions.new_session(draft, user.parts if user is not None else ())
        is_first = new is not None or requests[0].parent_id is None
        edits = edits_after_all(state.edits, requests)
        revisions = {
            name: revision
            for request in requests
            for name, revision in self._sent.new_revisions(request.inputs).items()
        }
        return Beginning(
            state.session_id,
            tuple(request.stored for request in requests),
            new,
            edits=None if edits == state.edits else edits,
            is_at_head=is_at_head,
            revisions=revisions,
            settings=self._sessions.settings_when_begun() if is_first else {},
        )

    async def _store(
        self,
        beginning: Beginning,
        requests: tuple[Outgoing, ...],
        exchanges: Sequence[Exchange],
        stored: Callable[[], None] | None,
    ) -> Begun:
        """Store what leaves, and show it as it is stored. Raises StoreError, which is reported."""
        store = self.core.store_of(beginning.session_id)
        try:
            begun = await store.replies.begin_all(beginning)
        except TuiChatError as error:
            if isinstance(error, BranchMoved):
                with self.core.reporting():
                    await self._sessions.reload_branch()
            self.core.publish(Failed(error))
            raise
        self._sent.note_stored(store, beginning.revisions)
        self._show_begun(begun, requests, exchanges)
        if stored is not None:
            stored()
        return begun

    def _show_begun(
        self,
        begun: Begun,
        requests: tuple[Outgoing, ...],
        exchanges: Sequence[Exchange],
    ) -> None:
        """Take what was stored over into the state, in one step."""
        core, session_id = self.core, exchanges[0].session_id
        for exchange, stored in zip(exchanges, begun.exchanges, strict=True):
            exchange.reply_id = reply_id = stored.reply.message.id
            self._own_ids.add(reply_id)
            if exchange.target is not None:
                self._targets[reply_id] = exchange.target
        changes: dict[str, Any] = {"streaming_sessions": self._streaming_sessions}
        events: list[WorkspaceEvent] = []
        if session_id == core.state.session_id:
            changes |= changes_when_begun(core.state, begun, requests)
            events.append(BranchChanged())
        if begun.session is not None and self._is_listed(session_id):
            changes |= self._sessions.changes_when_begun(begun.session)
        if begun.summary is not None and self._is_listed(session_id):
            changes["sessions"] = with_summary(core.state.sessions, begun.summary)
            events.append(SessionsChanged())
        core.update(*events, **changes)

    def _is_listed(self, session_id: str) -> bool:
        """Return True for a session that is stored in the file, unlike a temporary one."""
        return self.core.store_of(session_id) is self.core.store

    def _receive(
        self,
        request: Outgoing,
        exchange: Exchange,
        reply: Coroutine[Any, Any, Entry],
        prices: KnownPrices,
    ) -> None:
        """Send a request and receive its reply in a task."""
        core = self.core
        task = asyncio.create_task(
            send(
                request.composed,
                reply,
                store=core.store_of(exchange.session_id),
                client=core.client,
                emit=partial(self._follow, exchange),
                clock=core.clock,
                begin_with=request.begin_with,
                prices_of=prices.prices_of_request(request.composed, core.now()),
                changes_with=partial(self._changes_at_end, exchange),
            )
        )
        self._tasks[task] = exchange
        task.add_done_callback(partial(self._finish, exchange))

    def _changes_at_end(self, exchange: Exchange, usage: Usage) -> EndChanges:
        """Return what is stored with the end of a reply."""
        learned = self._usage.learn(exchange.composed, usage.input)
        session_id = exchange.session_id
        is_away = not self.core.state.is_active(session_id)
        return EndChanges(learned if self._is_listed(session_id) else {}, unread=is_away)

    @property
    def _streaming_sessions(self) -> frozenset[str]:
        return frozenset(exchange.session_id for exchange in self._tasks.values())

    def _follow(self, exchange: Exchange, progress: SendProgress) -> None:
        """Show the progress of a reply."""
        core, is_active = self.core, self.core.state.is_active(exchange.session_id)
        if is_active:
            self._remember_accepted(exchange, progress)
        match progress:
            case PartialReply(entry_id):
                core.update(partials={**core.state.partials, entry_id: progress})
                if is_active and core.state.is_on_branch(entry_id):
                    core.publish(ReplyGrew(progress))
            case RetryPause() if is_active:
                core.publish(ReplyRetrying(progress))
            case FinishedReply(entry, timing):
                exchange.end = progress
                self._timings[entry.message.id] = timing
            case _:
                pass

    def _remember_accepted(self, exchange: Exchange, progress: SendProgress) -> None:
        """Keep a request of the active session as its last one once its endpoint accepted it: the
        next one is compared with it. One to a target is not kept.
        """
        match progress:
            case PartialReply(reply=reply):
                is_continued = bool(reply.begun) and reply.length <= reply.begun
                is_accepted = not reply.is_empty and not is_continued
            case FinishedReply(is_accepted=is_accepted):
                pass
            case _:
                return
        name, last_sent = exchange.composed.endpoint.name, self.core.state.last_sent
        last = last_sent.get(name)
        is_new = last is None or last.entry_id != exchange.reply_id
        if is_accepted and is_new and exchange.target is None:
            sent = LastSent(exchange.reply_id, exchange.composed)
            self.core.update(RequestOutdated(), last_sent={**last_sent, name: sent})

    # --- the end of a reply ------------------------------------------------------------------

    def _finish(self, exchange: Exchange, task: asyncio.Task[Entry]) -> None:
        """Show that a reply has ended, and begin what follows."""
        del self._tasks[task]
        fault = None if task.cancelled() else task.exception()
        if fault is not None and not isinstance(fault, TuiChatError):
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a reply failed", "exception": fault, "task": task}
            )
        if not exchange.reply_id:
            return  # it was not stored, which is reported
        self._show_ended(exchange)
        if isinstance(fault, TuiChatError):
            self.core.publish(Failed(fault))
        if fault is not None:
            self._spawn(self._reload(exchange.session_id))
        end = exchange.end
        entry, summary = (end.entry, end.summary) if end is not None else (None, None)
        is_away = not self.core.state.is_active(exchange.session_id)
        is_stopped = task.cancelled() or (entry is not None and entry.status == "stopped")
        is_kept = entry is not None and not is_stopped and not entry.unsaved
        settled = ReplySettled(
            exchange.session_id,
            entry,
            end.error if end is not None else None,
            is_kept and fault is None and self._continues,
            exchange.target,
            summary.title if is_away and summary is not None and not is_stopped else "",
        )
        self.core.publish(settled)
        if summary is not None and summary.unread and not is_away:  # the user came back meanwhile
            self._spawn(self._mark_read(exchange.session_id))
        for follow in self.followers:
            follow(settled)

    def _show_ended(self, exchange: Exchange) -> None:
        """Take the end of a reply over into the state, in one step."""
        core, end, session_id = self.core, exchange.end, exchange.session_id
        state = core.state
        partials = {key: it for key, it in state.partials.items() if key != exchange.reply_id}
        changes: dict[str, Any] = {
            "partials": partials,
            "streaming_sessions": self._streaming_sessions,
        }
        events: list[WorkspaceEvent] = []
        if end is not None:
            changes["unsaved_replies"] = self._note_unsaved(exchange, end)
        if end is not None and state.is_active(session_id):
            changes["entries"] = with_entry(state.entries, end.entry)
            events.append(BranchChanged())
        if end is not None and self._is_listed(session_id):
            sessions = state.sessions
            if end.summary is not None:
                changes["sessions"] = with_summary(sessions, end.summary)
            else:
                changes["sessions"] = with_status(sessions, session_id, end.entry)
            events.append(SessionsChanged())
        core.update(*events, **changes)
        if end is not None and end.repeats_key:
            sentence = "The provider repeated a key of the endpoint; it was replaced by “[key]”."
            advice = "Look at the endpoint's base_url: who repeats a key may also keep it."
            core.publish(Failed(ProviderError(sentence, advice=advice)))
        if end is not None and end.save is not None:
            sentence = f"The reply is not saved. {end.entry.unsaved}"
            advice = "It stays on the screen; Regenerate (r) saves it again."
            core.publish(Failed(StoreError(sentence, advice=advice)))

    def _note_unsaved(self, exchange: Exchange, end: FinishedReply) -> dict[str, Entry]:
        """Keep a reply whose end is not stored; return all of those."""
        if end.save is None:
            self._unsaved.pop(exchange.reply_id, None)
        else:
            self._unsaved[exchange.reply_id] = exchange
        ends = {key: other.end for key, other in self._unsaved.items()}
        return {key: end.entry for key, end in ends.items() if end is not None}

    @reported(False)
    async def save_again(self) -> bool:
        """Store the replies whose ends could not be stored; False, reported, if one still cannot
        be.
        """
        is_any = bool(self._unsaved)
        await self._save_unsaved()
        if is_any:
            self.core.publish(Done("The reply is saved now."))
        return True

    async def _save_unsaved(self) -> None:
        """Store the replies whose ends could not be stored. Raises StoreError."""
        for exchange in tuple(self._unsaved.values()):
            end = exchange.end
            assert end is not None
            assert end.save is not None
            try:
                stored = await end.save()
            except StoreError as fault:
                fault.args = (f"The reply is not saved. {fault}",)
                raise
            exchange.end = replace(end, entry=stored.entry, summary=stored.summary, save=None)
            self._show_ended(exchange)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.ensure_future(work)
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    @reported(None)
    async def _mark_read(self, session_id: str) -> None:
        await self._list.mark_read(session_id)

    @reported(None)
    async def _reload(self, session_id: str) -> None:
        if self.core.state.is_active(session_id):
            await self._sessions.reload_branch()


async def _reply_of(storing: asyncio.Task[Begun], number: int) -> Entry:
    return (await asyncio.shield(storing)).exchanges[number].reply
