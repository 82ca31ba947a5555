"""request -> stream -> store -> emit: the only impure step of a turn.

1. The user's message, an empty reply marked `streaming` and the request are on disk before
   the request leaves.
2. A passing trouble is told as `Waiting` and the request sent again, as the endpoint has it;
   never once a reply has begun.
3. What arrives is folded into a reply, told to `emit`, and written at least every
   `FLUSH_SECONDS`, whether or not more arrives.
4. However it ends, the reply's entry says so: `complete`, `stopped` (we were cancelled),
   `failed` (with the provider's words and what to do), and what came is kept.
5. `emit` is called from this task, in order, and must be quick; it must not raise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from tui_chat.compose import Composed
from tui_chat.errors import RecordGone, Refused, ReplyCut, TooLarge, TuiChatError, Unreachable
from tui_chat.models.message import Message
from tui_chat.models.reply import Reply, Rope, StreamEvent, TextDelta, advance
from tui_chat.models.request import RequestRecord
from tui_chat.models.session import Entry
from tui_chat.models.timing import BYTES_PER_TOKEN, NO_TIMING, Timing, cost_of, weight
from tui_chat.protocols.common.tool_names import restore_names
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers import Incoming, Outgoing, Pause, Tape, Transport, begin

if TYPE_CHECKING:
    from tui_chat.store import Ending, Store

_LOG = logging.getLogger(__name__)

FLUSH_SECONDS = 0.15
"""A reply's text is on disk at most this long, and two writes, after it arrived: one that was on
its way just then, and its own. So it is 250 ms while a write takes less than 50.
"""
LONGEST_PAUSE = 5.0
"""Seconds between two attempts to store a growing reply where they fail, at most."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The exchange is on disk; the request leaves now."""

    user: Entry | None
    """What the user said; None for another try at the same message."""
    reply: Entry


@dataclass(frozen=True, slots=True)
class Waiting:
    """The provider could not answer, and another try follows by itself."""

    seconds: float
    """How long from now."""
    attempt: int
    """The number of the try that follows: 2 for the first one again."""
    why: Refused | Unreachable
    """What became of the try before."""


@dataclass(frozen=True, slots=True)
class Grown:
    """More of the reply has arrived."""

    entry_id: str
    reply: Reply
    timing: Timing = NO_TIMING
    unsaved: str = ""
    """Why the last attempt to store it failed, as a sentence; empty if it did not."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The reply is whole, or as whole as it gets, and on disk; or in memory, if its entry says
    that it is `unsaved`.
    """

    entry: Entry
    timing: Timing = NO_TIMING
    repeats_key: bool = False
    """Whether the provider repeated the key of the request; it is hidden in the entry."""


Progress: TypeAlias = Begun | Waiting | Grown | Ended


def outgoing(composed: Composed) -> Outgoing:
    """Return the request of a composition: the very bytes the inspector shows."""
    return Outgoing(
        method=composed.method,
        url=composed.url,
        headers=composed.headers,
        body=composed.payload.body,
        key=composed.endpoint.key,
        key_header=composed.key_header,
        proxy=composed.endpoint.proxy,
        timeouts=composed.endpoint.timeouts,
        retries=composed.endpoint.retries,
    )


async def send(
    composed: Composed,
    *,
    session_id: str,
    parent_id: str | None,
    user: Message | None,
    recipe: Mapping[str, Any],
    store: Store,
    transport: Transport,
    emit: Callable[[Progress], None],
    clock: Callable[[], float] = monotonic,
    begin_with: str = "",
) -> Entry:
    """Send a request and see it through; returns the reply's entry as it ended.

    `parent_id` is the last message of the branch the exchange continues. Cancel the task to
    stop the reply; the entry is then written as `stopped` before the cancellation goes on.
    `clock` gives seconds from any start, and never goes back. `begin_with` is text that the
    request ends with as the beginning of the reply: the stored reply begins with it, too.
    Raises StoreError where the exchange could not be written; nothing was sent then.
    """
    beginning = asyncio.ensure_future(
        store.begin_exchange(
            session_id,
            parent_id=parent_id,
            user=user,
            model=composed.model,
            endpoint=composed.endpoint.name,
            request=RequestRecord(
                protocol=composed.protocol,
                endpoint=composed.endpoint.name,
                method=composed.method,
                url=composed.url,
                sha256=composed.payload.sha256,
                recipe=recipe,
                body=composed.payload.body,
            ),
        )
    )
    was_stopped = False
    try:
        exchange = await asyncio.shield(beginning)
    except asyncio.CancelledError:
        # What the store has begun it also commits, and a reply that is stored has to end.
        exchange, was_stopped = await beginning, True
    emit(Begun(exchange.user, exchange.reply))
    tape = Tape(clock)
    growing = _Growing(composed, exchange.reply, store, emit, clock, begin_with, tape)
    flushing = asyncio.create_task(growing.keep_flushed())
    try:
        if was_stopped:
            raise asyncio.CancelledError
        await receive(composed, transport, growing.grow, growing.wait, begin_with, tape)
    except asyncio.CancelledError:
        await growing.finish(flushing, "stopped")
        raise
    except TuiChatError as error:
        return await growing.finish(flushing, "failed", error)
    except Exception:
        await growing.finish(flushing, "failed", _OURS)
        raise
    return await growing.finish(flushing, "complete")


_OURS = TuiChatError(
    "The program failed while it read the reply.",
    advice="What came is kept. Please report it; the log has the details.",
)


async def receive(
    composed: Composed,
    transport: Transport,
    grown: Callable[[Reply, int], None],
    waiting: Callable[[Pause], None],
    begin_with: str = "",
    tape: Tape | None = None,
) -> None:
    """Send a request and tell `grown` of the reply each time there is more of it, and how many
    bytes of text that is.

    `waiting` is told of every pause before another try; `tape` hears the response. Stores nothing.
    Raises TuiChatError.
    """
    wire = protocol_of(composed.protocol)

    async def refusal(response: Incoming) -> Refused:
        listened(response)
        return await _refusal(composed, response)

    def listened(response: Incoming) -> None:
        if tape is not None:
            tape.listen(response)

    async with begin(transport, outgoing(composed), refusal, waiting) as response:
        listened(response)
        if not response.is_stream:
            body = await response.body()

            def read() -> Reply:
                found = wire.read(response.without_key(body))
                if (text := response.key_mask.cover(found.text)) != found.text:
                    found = replace(found, content=Rope().add(text))
                return found

            reply = await _unhurried(len(body), read)
            if begin_with:
                whole = advance(_begun(begin_with), TextDelta(reply.text))
                reply = replace(reply, content=whole.content, pieces=whole.pieces)
            grown(reply, 0)
            _check(reply)
            return
        parser, mask = wire.parser(), response.key_mask
        reply = _begun(begin_with)
        is_abandoned = False
        """True if the reply was stopped while another thread parses, with the mask."""

        def parse(name: str, data: str) -> list[StreamEvent]:
            return list(mask.follow(parser.feed(name, mask.hide(data))))

        def fold(event: StreamEvent) -> None:
            nonlocal reply
            reply = advance(reply, event)
            grown(reply, weight(event))
            _check(reply)

        try:
            async for name, data in response.events():
                try:
                    events = await _unhurried(len(data), parse, name, data)
                except asyncio.CancelledError:
                    is_abandoned = True
                    raise
                for number, event in enumerate(events, 1):
                    fold(event)
                    if number % _TOGETHER == 0:
                        await asyncio.sleep(0)
            for event in mask.follow(parser.close()):
                fold(event)
        finally:
            if not is_abandoned:
                for event in mask.close():
                    reply = advance(reply, event)
                    grown(reply, weight(event))


_QUICK = 64 * 1024
"""Characters or bytes that are parsed on the event loop; more of them are parsed beside it."""
_TOGETHER = 100
"""Events of one chunk that are taken before the event loop gets its turn."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def _unhurried(size: int, parse: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Parse something of this size, on another thread where that could be felt on this one."""
    if size <= _QUICK:
        return parse(*args, **kwargs)
    return await asyncio.to_thread(parse, *args, **kwargs)


def _check(reply: Reply) -> None:
    """Raise TooLarge where the reply has passed one of its ceilings."""
    if reply.excess:
        raise TooLarge(
            reply.excess,
            advice="Send again, with a lower limit for the reply if the provider honours one.",
        )


def _begun(text: str) -> Reply:
    return advance(Reply(), TextDelta(text)) if text else Reply()


async def _refusal(composed: Composed, response: Incoming) -> Refused:
    body, is_whole = b"", True
    with suppress(ReplyCut):
        body, is_whole = await response.beginning()
    body = response.without_key(body)
    refused = protocol_of(composed.protocol).refusal(response.status, body)
    if not is_whole:
        refused.args = (f"{refused} (Of the error's text only the first 64 KB were read.)",)
    if response.retry_after is not None:
        refused.retry_after = response.retry_after
    return refused


class _Growing:
    """A reply on its way: in memory, on the screen and on disk."""

    def __init__(
        self,
        composed: Composed,
        entry: Entry,
        store: Store,
        emit: Callable[[Progress], None],
        clock: Callable[[], float],
        begin_with: str,
        tape: Tape,
    ) -> None:
        self._tape = tape
        self._composed = composed
        self._entry = entry
        self._store = store
        self._emit = emit
        self._reply = _begun(begin_with)
        self._clock = clock
        self._began = clock()
        self._first: float | None = None
        self._bytes = 0
        self._prices = composed.endpoint.facts_of(composed.model).prices
        self._changed = asyncio.Event()
        self._unsaved = ""
        """Why the last flush failed."""

    def grow(self, reply: Reply, more: int) -> None:
        self._reply = reply
        self._bytes += more
        if self._first is None and not reply.is_empty:
            self._first = self._clock() - self._began
        self._changed.set()
        self._tell_growth()

    def _tell_growth(self) -> None:
        entry_id = self._entry.message.id
        self._emit(Grown(entry_id, self._reply, self._timing(), self._unsaved))

    def _timing(self) -> Timing:
        """Return the pace so far. What the provider says of output counts once it has finished:
        before that it is a beginning.
        """
        usage, budget = self._reply.usage, self._composed.envelope.budget
        exact = self._reply.finish is not None and usage.output is not None
        tokens = usage.output if exact else -(-self._bytes // BYTES_PER_TOKEN) or None
        asked = usage.input if usage.input is not None or budget is None else budget.total
        cost = cost_of(replace(usage, input=asked, output=tokens), self._prices)
        return Timing(self._clock() - self._began, self._first, tokens, exact, cost)

    def wait(self, pause: Pause) -> None:
        self._emit(Waiting(pause.seconds, pause.attempt, pause.why))

    async def keep_flushed(self) -> None:
        """Write what has changed, for as long as the reply grows.

        A full disk must not end a reply that can still be read on the screen: the flush is tried
        again, less and less often, also if nothing more arrives.
        """
        pause = FLUSH_SECONDS
        while True:
            await self._changed.wait()
            await asyncio.sleep(pause)
            self._changed.clear()
            fault = ""
            try:
                await self._store.flush_reply(self._entry.message.id, self._message())
            except RecordGone:
                return  # its session was deleted; the end of the reply says so
            except TuiChatError as error:
                fault = str(error)
                self._changed.set()
            pause = min(2 * pause, LONGEST_PAUSE) if fault else FLUSH_SECONDS
            if fault != self._unsaved:
                self._unsaved = fault
                self._tell_growth()

    async def finish(
        self, flushing: asyncio.Task[None], status: Ending, error: TuiChatError | None = None
    ) -> Entry:
        timing = self._timing()
        flushing.cancel()
        await asyncio.wait((flushing,))
        if not flushing.cancelled() and (fault := flushing.exception()) is not None:
            _LOG.error("a reply could not be flushed", exc_info=fault)
        finishing = asyncio.ensure_future(
            self._store.finish_reply(
                self._entry.message.id,
                message=self._message(),
                status=status,
                error=str(error) if error else "",
                advice=error.advice if error else "",
                usage=self._reply.usage,
                finish=self._reply.finish.raw if self._reply.finish else "",
                seconds=timing.elapsed,
                first=timing.first,
                received=self._tape.received(),
            )
        )
        entry = await asyncio.shield(finishing)
        self._emit(Ended(entry, timing, self._tape.repeats_key))
        return entry

    def _message(self) -> Message:
        message = self._reply.message(
            self._composed.protocol,
            id=self._entry.message.id,
            timestamp=self._entry.message.timestamp,
        )
        return restore_names(message, self._composed.encoded.aliases)
