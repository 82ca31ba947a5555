"""Talking: messages on their way out, and replies on their way in.

1. Replies stream in tasks of their own, one a session at most, whichever session is shown.
2. A second message waits until the first one's reply has ended; who sends sooner is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Concatenate, ParamSpec

from tui_chat.compose import Composed, compose
from tui_chat.errors import InputError, ProviderError, StoreError, TuiChatError
from tui_chat.models.message import Message, Part
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.models.timing import Timing, cost_of
from tui_chat.providers import RetryPause
from tui_chat.recipe import as_json
from tui_chat.send import ExchangeStored, FinishedReply, PartialReply, SendProgress, send
from tui_chat.workspace.calls import waiting
from tui_chat.workspace.changes import ReplyElsewhere, ReplyGrew, ReplyWaits, Trouble
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.past import Past, replayed
from tui_chat.workspace.state import LastSent, State

_Arguments = ParamSpec("_Arguments")


def _holding_session_lock(
    method: Callable[Concatenate[Replies, _Arguments], Awaitable[bool]],
) -> Callable[Concatenate[Replies, _Arguments], Coroutine[None, None, bool]]:
    """Run a method once the active branch is read, while no session is switched and no other
    message is stored.
    """

    @wraps(method)
    async def run(self: Replies, *args: _Arguments.args, **options: _Arguments.kwargs) -> bool:
        opening = self.opening
        while True:
            await opening.whole()
            await self.search_lore()
            async with opening.session_lock:
                if opening.is_whole:
                    return await method(self, *args, **options)

    return run


class Replies:
    """Sends, and sees replies through."""

    def __init__(
        self,
        state: State,
        outside: Outside,
        composing: Composing,
        opening: Opening,
        past: Past,
    ) -> None:
        self._state = state
        self._outside = outside
        self._composing = composing
        self.opening = opening
        self._past = past
        self._ours: set[str] = set()
        """Ids of the replies that this program asked for."""
        self._running: dict[str, asyncio.Task[Entry]] = {}
        self._partial: dict[str, PartialReply] = {}
        self.search_lore = composing.search_lore
        self._new: set[str] = set()
        """The reply that has begun and is not yet read with its branch."""
        self._timings: dict[str, Timing] = {}
        """Of the replies that ended since the program started."""
        self._ending: asyncio.Future[None] | None = None
        """What is done after the reply that ended last."""
        self.then: Callable[[str], Awaitable[None]] | None = None
        """What to do when a reply has ended in a session, and is shown if the session is."""

    @property
    def running(self) -> frozenset[str]:
        """The ids of the sessions in which a reply is arriving."""
        return frozenset(self._running)

    def timing(self, entry: Entry) -> Timing:
        """Return how quickly a reply came and what it cost, as far as that is known."""
        known = self._timings.get(entry.message.id)
        if known is not None:
            return known
        try:
            endpoint = self._state.config.endpoint_named(entry.endpoint)
        except InputError:
            prices = None
        else:
            prices = endpoint.facts_of(entry.model).prices
        tokens, cost = entry.usage.output, cost_of(entry.usage, prices)
        return Timing(entry.seconds, entry.first, tokens, exact=tokens is not None, cost=cost)

    @property
    def is_streaming(self) -> bool:
        """Whether a reply is arriving in the shown session."""
        session = self._state.session
        return session is not None and session.session_id in self._running

    @property
    def partial(self) -> PartialReply | None:
        """What has arrived of the reply that is arriving in the shown session."""
        grown = self._partial.get(self._state.session_id, self._state.followed)
        if grown is None or not self._sees(self._state.session_id, grown.entry_id):
            return None
        return grown

    @_holding_session_lock
    async def submit(
        self,
        draft: str,
        parts: tuple[Part, ...],
        session_id: str,
        stored: Callable[[], None] | None = None,
    ) -> bool:
        """Send a draft to the session that it was typed for; see `Desk.submit`."""
        if session_id != self._state.session_id:
            return False
        if not self.may_send() or await self._was_changed_elsewhere():
            return False
        draft = clean(draft)
        composed = self._composing.composed(draft, parts=parts)
        entries = self._state.entries
        parent = entries[-1].message.id if entries else None
        message = Message("user", draft, parts=parts)
        return await self._exchange(composed, parent, message, draft, stored=stored)

    @_holding_session_lock
    async def retry(self, entry_id: str) -> bool:
        """Ask again for a reply, or for one to a message of another role; see `Desk.retry`."""
        if not self.may_send():
            return False
        entries = self._state.entries
        index = next((i for i, entry in enumerate(entries) if entry.message.id == entry_id), None)
        if index is None:
            return False
        if entries[index].message.role != "assistant":
            while index + 1 < len(entries) and entries[index + 1].message.role == "tool":
                index += 1  # all that tools answered goes with it
            return await self._go_on(entries[index].message.id)
        composed = self._composing.again(entries[:index])
        return await self._exchange(composed, entries[index].parent_id, None, "")

    @_holding_session_lock
    async def replay(self, entry_id: str, endpoint: str, model: str) -> bool:
        """Send the request of a reply to another endpoint; see `Desk.replay`."""
        with self._outside.telling():
            entry = next((e for e in self._state.entries if e.message.id == entry_id), None)
            if entry is None or not self.may_send():
                return False
            sent = await self._past.request(entry_id)
            if sent.composed is None or sent.composed.inputs is None:
                raise InputError(f"This request cannot be sent again. {sent.why}")
            there = self._state.config.endpoint_named(endpoint)
            inputs = replayed(sent.composed.inputs, there, model)
            composed = compose(inputs)
            begun = inputs.history[-1].content if sent.continued and inputs.history else ""
            if begun:
                _check_prefill(composed)
            return await self._exchange(composed, entry.parent_id, None, "", begin_with=begun)
        return False

    @_holding_session_lock
    async def continue_reply(self, entry_id: str) -> bool:
        """Have the model go on with a reply; see `Desk.continue_reply`."""
        with self._outside.telling():
            entries = self._state.entries
            # System messages may be added behind the last reply; it is the last one all the same.
            length = len(entries)
            while length and entries[length - 1].message.role == "system":
                length -= 1
            length = length or len(entries)
            if entry_id not in (entry.message.id for entry in entries[length - 1 :]):
                raise InputError(
                    "Only the last reply can be continued.",
                    advice="To continue an earlier one, fork the session at it.",
                )
            last = entries[length - 1]
            if last.message.role != "assistant":
                return await self._go_on(entries[-1].message.id)
            entries = entries[:length]
            text = last.message.content.rstrip()
            if not text or last.message.tool_calls:
                raise InputError("There is no text of a reply to go on from.")
            if not self.may_send():
                return False
            composed = self._composing.again(entries, prefill=True)
            _check_prefill(composed)
            return await self._exchange(composed, last.parent_id, None, "", begin_with=text)
        return False

    @_holding_session_lock
    async def go_on(self, entry_id: str) -> bool:
        """Ask for the reply that follows a message; False if it is not on the active branch."""
        return await self._go_on(entry_id)

    async def _go_on(self, entry_id: str) -> bool:
        entries = self._state.entries
        index = next((i for i, entry in enumerate(entries) if entry.message.id == entry_id), None)
        if index is None or not self.may_send():
            return False
        before = entries[: index + 1]
        with self._outside.telling():
            if waiting(before)[1]:
                words = "A tool call still waits for its answer."
                raise InputError(words, advice="In the conversation, a answers it and x runs it.")
            composed = self._composing.again(before)
            return await self._exchange(composed, before[-1].message.id, None, "")
        return False

    async def stop(self, session_id: str) -> None:
        """Stop the reply that is arriving in a session; what came is kept."""
        task = self._running.get(session_id)
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def stop_all(self) -> None:
        """Stop all replies, each kept as far as it came."""
        for session_id in tuple(self._running):
            await self.stop(session_id)

    async def _was_changed_elsewhere(self) -> bool:
        """Whether another window went on with this session; it is shown as it is now then."""
        state = self._state
        with self._outside.telling():
            if state.session is None:
                return False
            stored = await self._outside.store.sessions.get(state.session.session_id)
            seen = state.entries[-1].message.id if state.entries else None
            if stored is None or stored.head_id == seen:
                return False
            await self.opening.reload()
            self._outside.tell(Trouble(_changed_elsewhere()))
        return True

    def may_send(self) -> bool:
        """Whether something can be sent in the shown session now; told where it cannot."""
        if self.is_streaming:
            self._outside.tell(Trouble(InputError("A reply is still arriving. Esc stops it.")))
            return False
        if self._arrives_elsewhere():
            self._outside.tell(Trouble(_arriving_elsewhere()))
            return False
        return True

    def _arrives_elsewhere(self) -> bool:
        """Whether another program receives the reply at the end of the shown branch. One of ours
        that has ended is about to be read again, or could not be.
        """
        last = self._state.entries[-1] if self._state.entries else None
        if last is None or last.status != "streaming":
            return False
        return last.message.id not in self._ours

    async def _exchange(
        self,
        composed: Composed,
        parent_id: str | None,
        user: Message | None,
        draft: str,
        begin_with: str = "",
        stored: Callable[[], None] | None = None,
    ) -> bool:
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._outside.telling():
            session = self._state.session or await self.opening.begin(draft)
            session_id = session.session_id
            end: Entry | None = None

            def emit(progress: SendProgress) -> None:
                nonlocal end
                if isinstance(progress, ExchangeStored) and not begun.done():
                    reply_id = progress.reply.message.id
                    self._ours.add(reply_id)
                    if stored is not None:
                        stored()
                    self._state.sent[composed.endpoint.name] = LastSent(reply_id, composed)
                    begun.set_result(None)
                if isinstance(progress, FinishedReply):
                    end = progress.entry
                    self._composing.learn(composed, progress.entry.usage.input)
                    self._timings[progress.entry.message.id] = progress.timing
                self._follow(session_id, progress)

            assert composed.inputs is not None  # what is sent was composed from some
            recipe = as_json(await self._past.remember(composed.inputs, prefill=bool(begin_with)))
            self._composing.throw_dice()
            task = asyncio.create_task(
                send(
                    composed,
                    session_id=session_id,
                    parent_id=parent_id,
                    user=user,
                    recipe=recipe,
                    begin_with=begin_with,
                    store=self._outside.store,
                    client=self._outside.client,
                    emit=emit,
                    clock=self._outside.clock,
                )
            )
            self._running[session_id] = task
            task.add_done_callback(lambda done: self._done(session_id, done, end))
            await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                return False
            await self._refresh(session_id)
            self._new.clear()
            if parent_id is None:
                await self.opening.has_begun(session)
            return True
        return False

    def _sees(self, session_id: str, entry_id: str) -> bool:
        """Whether a growing reply is on the shown branch: it is its end then, or will be."""
        entries = self._state.entries
        at_end = bool(entries) and entries[-1].message.id == entry_id
        return (at_end or entry_id in self._new) and self._state.shows(session_id)

    def _follow(self, session_id: str, progress: SendProgress) -> None:
        match progress:
            case PartialReply():
                self._partial[session_id] = progress
                if self._sees(session_id, progress.entry_id):
                    self._outside.tell(ReplyGrew(progress))
            case RetryPause():
                if self._state.shows(session_id):
                    self._outside.tell(ReplyWaits(progress))
            case ExchangeStored():
                self._new.add(progress.reply.message.id)
            case FinishedReply():
                if progress.repeats_key:
                    self._outside.tell(Trouble(_repeated_key()))

    def _done(self, session_id: str, task: asyncio.Task[Entry], end: Entry | None) -> None:
        self._running.pop(session_id, None)
        self._partial.pop(session_id, None)
        if end is not None and end.unsaved:
            if self._state.shows(session_id):
                self.opening.replace(end)  # should it not be possible to read it, either
            words = f"The reply is not saved yet. {end.unsaved}"
            advice = "It is kept in memory and written as soon as that works."
            self._outside.tell(Trouble(StoreError(words, advice=advice)))
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TuiChatError):
            self._outside.tell(Trouble(error))
        elif error is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a reply failed", "exception": error, "task": task}
            )
        entry = None if task.cancelled() or error is not None else task.result()
        self._ending = asyncio.ensure_future(self._ended(session_id, entry, ok=error is None))

    async def _ended(self, session_id: str, entry: Entry | None, *, ok: bool) -> None:
        if entry is not None and entry.usage.input is not None:
            with suppress(StoreError):  # nothing is lost but what can be learned again
                await self._composing.keep_learned()
        if not self._state.shows(session_id):
            with suppress(StoreError):  # it was deleted meanwhile
                session = await self._outside.store.sessions.update(session_id, unread=True)
                if entry is not None and entry.status != "stopped":
                    self._outside.tell(ReplyElsewhere(session.title, entry))
        await self._refresh(session_id)
        if ok and self.then is not None:
            await self.then(session_id)

    async def _refresh(self, session_id: str) -> None:
        with self._outside.telling():
            if self._state.shows(session_id):
                await self.opening.reload()
            await self.opening.list_sessions()


def _check_prefill(composed: Composed) -> None:
    """Raise InputError where a model would not continue the reply that a request ends with."""
    if not composed.endpoint.facts_of(composed.model).prefill:
        words = f"It is not known of {composed.model or 'this model'} that it goes on."
        advice = "Where it does, set `prefill = true` among the endpoint's facts."
        raise InputError(words, advice=advice)
    turns = composed.envelope.turns
    if not turns or turns[-1].role != "assistant":
        raise InputError("The preset puts something behind the history, so no reply can.")


def _repeated_key() -> ProviderError:
    return ProviderError(
        "The provider repeated the endpoint's key; “[key]” stands in its place.",
        advice="Look at the endpoint's base_url: who repeats a key may also keep it.",
    )


def _arriving_elsewhere() -> InputError:
    return InputError(
        "A reply is still arriving here, in another window.",
        advice="Wait for its end, or stop it there.",
    )


def _changed_elsewhere() -> InputError:
    return InputError(
        "Another window went on with this conversation.",
        advice="It is shown as it is now. Read it, and send again.",
    )
