"""Exchanges: requests that leave, and their replies as they arrive.

1. One transaction stores all that leaves together (`_store`), and one the end of each reply. What
   they return is shown at once (`_show_begun`, `_show_ended`); nothing is read again.
2. Each reply arrives in a task of its own, whichever session is active. What follows its end by
   itself is in `followers`, in that order.

`Replies` is this with what a user does to get a reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from tui_chat.compose import Composed
from tui_chat.context import Inputs
from tui_chat.context.generation import uses_prefill
from tui_chat.errors import (
    BranchMoved,
    ProviderError,
    StoredLater,
    TuiChatError,
)
from tui_chat.library.prices import KnownPrices
from tui_chat.models.request import Beginning, Begun, EndChanges, NewExchange
from tui_chat.models.session import Entry, NewSession
from tui_chat.models.usage import Timing, Usage, cost_of, source_of_cost
from tui_chat.providers.retry import RetryPause
from tui_chat.request_recipe import dump_recipe, recipe_of
from tui_chat.send import FinishedReply, PartialReply, SendProgress, new_exchange, send
from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.calibration import TokenCalibration
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import (
    BackgroundReplyEnded,
    BranchChanged,
    Failed,
    ReplyEnded,
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
    changes_when_begun,
    edits_after_all,
    with_entry,
    with_status,
    with_summary,
)
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import (
    Requests,
    require_usable_role,
)
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.state import LastSent
from tui_chat.workspace.target import Target
from tui_chat.workspace.tool_sources import ToolSources
from tui_chat.workspace.usage import UsageReports


class Exchanges:
    """Sends requests and receives their replies."""

    def __init__(
        self,
        core: WorkspaceCore,
        requests: Requests,
        history: RequestHistory,
        calibration: TokenCalibration,
        active: ActiveSession,
        catalog: SessionCatalog,
        usage: UsageReports,
        sources: ToolSources,
    ) -> None:
        self.core = core
        self._requests, self._history, self._calibration = requests, history, calibration
        self._active, self._catalog, self._usage, self._sources = active, catalog, usage, sources
        self.followers: tuple[Callable[[ReplySettled], object], ...] = ()
        """Called with the end of each reply, one after the other: what follows it by itself."""
        self._tasks: dict[asyncio.Task[Entry], Exchange] = {}
        """The replies that are arriving, or are being stored."""
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

    # --- what was sent -----------------------------------------------------------------------

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

    # --- the end -----------------------------------------------------------------------------

    async def stop(self) -> None:
        """Stop what is arriving in the active session; what has arrived is kept."""
        await self.stop_in(self.core.state.session_id)

    async def stop_in(self, session_id: str) -> None:
        """Stop the replies that are arriving in a session; what has arrived is kept."""
        await self._stop(lambda exchange: exchange.session_id == session_id)

    async def stop_reply(self, reply_id: str) -> None:
        """Stop a reply that is arriving; what has arrived is kept."""
        await self._stop(lambda exchange: exchange.reply_id == reply_id)

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
        while True:
            left = [task for task in (*self._tasks, *self._endings) if not task.done()]
            if not left:
                return
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
        prices = await self._usage.prices()
        state = self.core.state
        exchanges = [Exchange(state.session_id, it.composed, it.target) for it in requests]
        beginning = self._beginning(requests, draft, is_at_head=is_at_head)
        storing = asyncio.create_task(self._store(beginning, requests, exchanges, draft, stored))
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
            new = self._active.new_session(draft, user.parts if user is not None else ())
        is_first = new is not None or requests[0].parent_id is None
        edits = edits_after_all(state.edits, requests)
        revisions = {
            name: revision
            for request in requests
            for name, revision in self._history.new_revisions(_inputs_of(request.composed)).items()
        }
        return Beginning(
            state.session_id,
            tuple(_new_exchange(request) for request in requests),
            new,
            edits=None if edits == state.edits else edits,
            is_at_head=is_at_head,
            revisions=revisions,
            settings=self._active.settings_when_begun() if is_first else {},
        )

    async def _store(
        self,
        beginning: Beginning,
        requests: tuple[Outgoing, ...],
        exchanges: Sequence[Exchange],
        draft: str,
        stored: Callable[[], None] | None,
    ) -> Begun:
        """Store what leaves, and show it as it is stored. Raises StoreError, which is reported."""
        store = self.core.store_of(beginning.session_id)
        try:
            begun = await store.replies.begin_all(beginning)
        except TuiChatError as error:
            if isinstance(error, BranchMoved):
                with self.core.reporting():
                    await self._active.reload_branch()
            self.core.publish(Failed(error))
            raise
        self._history.note_stored(store, beginning.revisions)
        self._show_begun(begun, requests, exchanges, draft)
        if stored is not None:
            stored()
        return begun

    def _show_begun(
        self,
        begun: Begun,
        requests: tuple[Outgoing, ...],
        exchanges: Sequence[Exchange],
        draft: str,
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
            changes |= changes_when_begun(core.state, begun, requests, draft)
            events.append(BranchChanged())
        if begun.session is not None and self._is_listed(session_id):
            changes |= self._active.changes_when_begun(begun.session)
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
        learned = self._calibration.learn(exchange.composed, usage.input)
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
            case FinishedReply(entry, timing, error):
                exchange.end = progress
                self._timings[entry.message.id] = timing
                core.publish(ReplyEnded(exchange.session_id, entry, error))
                if progress.repeats_key:
                    core.publish(Failed(_repeated_key()))
            case _:
                pass

    def _remember_accepted(self, exchange: Exchange, progress: SendProgress) -> None:
        """Keep a request of the active session as its last one once its endpoint accepted it: the
        next one is compared with it. One to a target is compared, and not kept.
        """
        match progress:
            case PartialReply(reply=reply):
                is_continued = bool(reply.begun) and len(reply.content) <= reply.begun
                is_accepted = not reply.is_empty and not is_continued
            case FinishedReply(is_accepted=is_accepted):
                pass
            case _:
                return
        name, last_sent = exchange.composed.endpoint.name, self.core.state.last_sent
        last = last_sent.get(name)
        if is_accepted and (last is None or last.entry_id != exchange.reply_id):
            exchange.before = last
            if exchange.target is None:
                sent = LastSent(exchange.reply_id, exchange.composed)
                self.core.update(RequestOutdated(), last_sent={**last_sent, name: sent})

    # --- the end of a reply ------------------------------------------------------------------

    def _finish(self, exchange: Exchange, task: asyncio.Task[Entry]) -> None:
        """Show that a reply has ended, and begin what follows."""
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, TuiChatError):
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a reply failed", "exception": error, "task": task}
            )
        if not exchange.reply_id:
            return  # it was not stored, which is reported
        self._show_ended(exchange)
        if isinstance(error, TuiChatError):
            self.core.publish(Failed(error))
        if error is not None:
            self._spawn(self._reload(exchange.session_id))
        entry = None if task.cancelled() or error is not None else task.result()
        self._mark_unread(exchange, entry)
        continues = error is None and self._continues
        settled = ReplySettled(
            exchange.session_id, entry, continues, exchange.target, exchange.before
        )
        self.core.publish(settled)
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
        if end is not None and end.entry.unsaved:
            sentence = f"The reply is not saved yet. {end.entry.unsaved}"
            advice = "It is kept in memory and written as soon as that works."
            core.publish(Failed(StoredLater(sentence, advice=advice)))

    def _mark_unread(self, exchange: Exchange, entry: Entry | None) -> None:
        """Say that a reply ended in a session that is not shown. One to which the user came back
        while the end was stored is read.
        """
        summary = exchange.end.summary if exchange.end is not None else None
        if summary is None:
            return
        if self.core.state.is_active(exchange.session_id):
            if summary.unread:
                self._spawn(self._mark_read(exchange.session_id))
        elif entry is not None and entry.status != "stopped":
            self.core.publish(BackgroundReplyEnded(summary.title, entry))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.ensure_future(work)
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    @reported(None)
    async def _mark_read(self, session_id: str) -> None:
        await self._catalog.mark_read(session_id)

    @reported(None)
    async def _reload(self, session_id: str) -> None:
        if self.core.state.is_active(session_id):
            await self._active.reload_branch()


async def _reply_of(storing: asyncio.Task[Begun], number: int) -> Entry:
    return (await asyncio.shield(storing)).exchanges[number].reply


def _new_exchange(request: Outgoing) -> NewExchange:
    """Return what is stored of a request before it leaves."""
    composed = request.composed
    inputs = _inputs_of(composed)
    recipe = recipe_of(
        inputs,
        prefill=bool(request.begin_with) and uses_prefill(inputs),
        is_edited=bool(request.sent_edits),
    )
    return new_exchange(composed, request.parent_id, request.user, dump_recipe(recipe))


def _inputs_of(composed: Composed) -> Inputs:
    assert composed.inputs is not None  # every request that is sent has its inputs
    return composed.inputs


def _repeated_key() -> ProviderError:
    return ProviderError(
        "The provider repeated a key of the endpoint; it was replaced by “[key]”.",
        advice="Look at the endpoint's base_url: who repeats a key may also keep it.",
    )
