"""Exchanges: requests that are sent, and their replies as they arrive.

1. `begin` returns once both messages are on disk. The reply streams in a task of its own, whichever
   session is active; what `send` emits meanwhile goes into the state and out as events.
2. An exchange ends in two steps: `_finish` takes it out of the state when its task has ended, and
   `_settle` reads the branch again and publishes `ReplySettled`.
3. What follows a reply by itself, its title and the commands of its tool calls, is begun by those
   who listen to `ReplySettled`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from tui_chat.compose import Composed
from tui_chat.context.generation import uses_prefill
from tui_chat.errors import ProviderError, StoredLater, StoreError, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.request_edit import edits_after
from tui_chat.models.session import Entry
from tui_chat.models.usage import Timing, cost_of, source_of_cost
from tui_chat.providers.retry import RetryPause
from tui_chat.request_recipe import dump_recipe
from tui_chat.send import ExchangeStored, FinishedReply, PartialReply, SendProgress, send
from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.calibration import TokenCalibration
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import (
    BackgroundReplyEnded,
    Failed,
    ReplyEnded,
    ReplyGrew,
    ReplyRetrying,
    ReplySettled,
    RequestOutdated,
)
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests, require_usable_role
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.state import LastSent
from tui_chat.workspace.target import Target
from tui_chat.workspace.usage import UsageReports


@dataclass(slots=True, eq=False)
class Exchange:
    """A request that was sent, while its reply arrives."""

    session_id: str
    target: Target | None
    """None for the session's own choice."""
    reply_id: str = ""
    """Empty until the reply is stored."""
    end: Entry | None = None
    """The reply as it ended."""


@dataclass(eq=False)
class Exchanges:
    """Sends requests and receives their replies."""

    core: WorkspaceCore
    _requests: Requests
    _history: RequestHistory
    _calibration: TokenCalibration
    _active: ActiveSession
    _catalog: SessionCatalog
    _usage: UsageReports

    def __post_init__(self) -> None:
        self._tasks: dict[asyncio.Task[Entry], Exchange] = {}
        """The replies that are arriving."""
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

    @reported(False)
    async def send(
        self,
        composed: Composed,
        parent_id: str | None,
        user: Message | None,
        draft: str,
        begin_with: str = "",
        stored: Callable[[], None] | None = None,
    ) -> bool:
        """Send a request; True once both messages are stored and shown. See `begin`."""
        is_new = self.core.state.session is None or parent_id is None
        if not await self.begin(composed, parent_id, user, draft, begin_with, stored):
            return False
        await self.show_begun(is_new)
        return True

    async def show_begun(self, is_new: bool) -> None:
        """Show the replies that have begun in the active session, which may begin with them."""
        await self._refresh(self.core.state.session_id)
        self.core.update(begun_replies=frozenset())
        if is_new and self.core.state.session is not None:
            await self._active.confirm_created(self.core.state.session)

    async def begin(
        self,
        composed: Composed,
        parent_id: str | None,
        user: Message | None,
        draft: str,
        begin_with: str = "",
        stored: Callable[[], None] | None = None,
        target: Target | None = None,
    ) -> str:
        """Send a request and start receiving its reply. Return the reply's id once both messages
        are on disk; empty, with `Failed` published, if they could not be stored. Raises StoreError.

        `parent_id` is the message that `user` (if any) and the reply follow; `draft` names the
        session if this creates it; the reply begins with `begin_with`. Raises InputError for a role
        that was disabled or deleted.
        """
        core = self.core
        require_usable_role(composed.errors)
        sent_edits = composed.edited.applied if composed.edited is not None else ()
        if user is not None and sent_edits and not user.id:  # they belong to it, and need its id
            user = replace(user, id=core.new_id())
        answered = user.id if user is not None else parent_id or ""
        change_edits = partial(
            edits_after,
            sent=sent_edits,
            answered=answered,
            is_one_of_several=target is not None,
        )
        edits = change_edits(core.state.edits)
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        parts = user.parts if user is not None else ()
        session_id, new = core.state.session_id, None
        if core.state.session is None:
            new = self._active.new_session(draft, parts)
        exchange = Exchange(session_id, target)

        def emit(progress: SendProgress) -> None:
            if isinstance(progress, ExchangeStored) and not begun.done():
                exchange.reply_id = reply_id = progress.reply.message.id
                if core.state.session is None and core.state.session_id == session_id:
                    core.update(session=progress.session)
                self._own_ids.add(reply_id)
                if target is not None:
                    self._targets[reply_id] = target
                if core.state.is_active(session_id):
                    core.update(edits=change_edits(core.state.edits))
                if stored is not None:
                    stored()
                begun.set_result(None)
            if target is None:  # the session's next request is compared with one of its own
                self._remember_accepted(session_id, composed, progress)
            if isinstance(progress, FinishedReply):
                exchange.end = progress.entry
                self._calibration.learn(composed, progress.entry.usage.input)
                self._timings[progress.entry.message.id] = progress.timing
            self._publish(session_id, progress)

        assert composed.inputs is not None  # every request that is sent has its inputs
        recipe = await self._history.recipe(
            composed.inputs,
            prefill=bool(begin_with) and uses_prefill(composed.inputs),
            is_edited=bool(sent_edits),
        )
        self._requests.reseed()
        prices = await self._usage.prices()
        task = asyncio.create_task(
            send(
                composed,
                session_id=session_id,
                parent_id=parent_id,
                user=user,
                recipe=dump_recipe(recipe),
                begin_with=begin_with,
                store=core.store_of(session_id),
                client=core.client,
                emit=emit,
                clock=core.clock,
                prices_of=prices.prices_of_request(composed, core.now()),
                edits=None if edits == core.state.edits else edits,
                new=new,
            )
        )
        self._tasks[task] = exchange
        core.update(streaming_sessions=self._streaming_sessions)
        task.add_done_callback(lambda ended: self._finish(ended, self._tasks.pop(ended)))
        await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
        return exchange.reply_id

    @property
    def _streaming_sessions(self) -> frozenset[str]:
        return frozenset(exchange.session_id for exchange in self._tasks.values())

    def _remember_accepted(
        self, session_id: str, composed: Composed, progress: SendProgress
    ) -> None:
        """Keep a request of the active session as its last one once its endpoint accepted it."""
        match progress:
            case PartialReply(entry_id=entry_id, reply=reply):
                is_continued = bool(reply.begun) and len(reply.content) <= reply.begun
                is_accepted = not reply.is_empty and not is_continued
            case FinishedReply(entry=entry, is_accepted=is_accepted):
                entry_id = entry.message.id
            case _:
                return
        state, name = self.core.state, composed.endpoint.name
        last = state.last_sent.get(name)
        is_known = last is not None and last.entry_id == entry_id
        if is_accepted and not is_known and state.is_active(session_id):
            last_sent = {**state.last_sent, name: LastSent(entry_id, composed)}
            self.core.update(RequestOutdated(), last_sent=last_sent)

    def _publish(self, session_id: str, progress: SendProgress) -> None:
        core = self.core
        state = core.state
        match progress:
            case PartialReply():
                core.update(partials={**state.partials, progress.entry_id: progress})
                if state.is_active(session_id) and state.is_on_branch(progress.entry_id):
                    core.publish(ReplyGrew(progress))
            case RetryPause():
                if state.is_active(session_id):
                    core.publish(ReplyRetrying(progress))
            case ExchangeStored():
                reply_id = progress.reply.message.id
                core.update(begun_replies=state.begun_replies | {reply_id})
            case FinishedReply():
                core.publish(ReplyEnded(session_id, progress.entry, progress.error))
                if progress.repeats_key:
                    core.publish(Failed(_repeated_key()))

    def _finish(self, task: asyncio.Task[Entry], exchange: Exchange) -> None:
        core, end = self.core, exchange.end
        partials = dict(core.state.partials)
        partials.pop(exchange.reply_id, None)
        core.update(streaming_sessions=self._streaming_sessions, partials=partials)
        if end is not None and end.unsaved:
            if core.state.is_active(exchange.session_id):
                self._active.replace_entry(end)  # reading it may not be possible either
            sentence = f"The reply is not saved yet. {end.unsaved}"
            advice = "It is kept in memory and written as soon as that works."
            core.publish(Failed(StoredLater(sentence, advice=advice)))
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TuiChatError):
            core.publish(Failed(error))
        elif error is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a reply failed", "exception": error, "task": task}
            )
        entry = None if task.cancelled() or error is not None else task.result()
        ending = asyncio.ensure_future(self._settle(exchange, entry, ok=error is None))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _settle(self, exchange: Exchange, entry: Entry | None, *, ok: bool) -> None:
        core, session_id = self.core, exchange.session_id
        if entry is not None and entry.usage.input is not None:
            with suppress(StoreError):  # the next replies teach the same
                await self._calibration.save()
        if not core.state.is_active(session_id):
            with suppress(StoreError):  # it was deleted meanwhile
                store = core.store_of(session_id)
                session = await store.sessions.update(session_id, unread=True)
                if entry is not None and entry.status != "stopped":
                    core.publish(BackgroundReplyEnded(session.title, entry))
        await self._refresh(session_id)
        continues = ok and self._continues
        core.publish(ReplySettled(session_id, entry, continues, exchange.target))

    @reported(None)
    async def _refresh(self, session_id: str) -> None:
        if self.core.state.is_active(session_id):
            await self._active.reload_branch()
        await self._catalog.refresh()


def _repeated_key() -> ProviderError:
    return ProviderError(
        "The provider repeated a key of the endpoint; it was replaced by “[key]”.",
        advice="Look at the endpoint's base_url: who repeats a key may also keep it.",
    )
