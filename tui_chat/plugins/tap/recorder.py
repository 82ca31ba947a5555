"""The recorder: follows exchanges beside the proxy, explains them, and stores them.

Nothing here delays a byte: the proxy only tells that an exchange began. Parsing and counting run in
a thread, and writing waits for nobody but itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from time import monotonic
from typing import Any, TypeAlias

from tui_chat.analysis.cache_loss import cache_loss
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.prices import STANDARD_TIERS, Prices
from tui_chat.models.reply import Reply
from tui_chat.models.session import UNPRICED
from tui_chat.models.usage import Usage, cost_of, source_of_cost
from tui_chat.plugins.tap.calls import Call, RecordedReplyReader, read_call
from tui_chat.plugins.tap.comparison import CallComparison, compare
from tui_chat.plugins.tap.conversations import Conversations, PlacedCall
from tui_chat.plugins.tap.credentials import Credentials
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.recorded_call import RecordedCall, calibrate_call
from tui_chat.plugins.tap.sessions import SessionWriter, StoredCall

_LOG = logging.getLogger(__name__)
FLUSH_SECONDS = 0.25
"""Seconds between two steps of following a reply: reading what came, and storing it."""
PATIENCE_SECONDS = 0.5
"""Seconds after which records are processed although bytes pass, or a response has not begun."""
QUIET_SECONDS = 0.02
"""Seconds without a byte after which processing records does not delay the proxy."""
_SMALL = 64 * 1024
"""Bytes of a response that are read on the event loop; more are read in a thread."""
MOST_FOLLOWED = 256
"""Exchanges that are followed at once; further ones pass and are counted."""


PricesOfCall = Callable[[Call, str], Prices | None]
"""Returns the prices of a call at a service tier, or at the one that it asks for."""

HeldCall: TypeAlias = tuple[Call, PlacedCall, StoredCall | None]
"""A call that was held, its place, and where it is stored."""


MOST_REMEMBERED = 5_000
"""Calls whose end and usage are remembered, for the next call of their conversations."""


def _forget_oldest(calls: dict[int, Any]) -> None:
    while len(calls) > MOST_REMEMBERED:
        del calls[next(iter(calls))]


class Recorder:
    """Follows all exchanges of a proxy."""

    def __init__(
        self,
        *,
        on_call: Callable[[RecordedCall], None],
        on_other: Callable[[RecordedExchange], None],
        prices_of: PricesOfCall,
        writer: SessionWriter | None = None,
        protocol: Protocol | None = None,
        only: tuple[str, ...] = (),
        command: tuple[str, ...] = (),
        on_held: Callable[[RecordedExchange, StoredCall], Awaitable[None]] | None = None,
    ) -> None:
        """`on_call` is called in a thread with each model call that has ended, `on_other` with all
        other exchanges. `only` are patterns; calls whose protocol, model and path fit none of them
        pass unrecorded. `command` is the one that the tap was started with. `on_held` is awaited
        with a held call that is stored while it waits, and returns when it waits no longer.
        """
        self._on_held = on_held
        self._command = command
        self._on_call = on_call
        self._on_other = on_other
        self._prices_of = prices_of
        self._writer = writer
        self._protocol = protocol
        self._only = only
        self._conversations = Conversations()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading = asyncio.Lock()
        """Held while a request is read, so that calls are placed in the order of their arrival."""
        self._stored: dict[int, tuple[RecordedExchange, asyncio.Event]] = {}
        """The exchanges of calls by their numbers, and what is set when their reply is stored."""
        self._reporting = asyncio.Lock()
        """Held while a call is reported, so that reports do not mix."""
        self._ends: dict[int, float] = {}
        """The times at which the exchanges of calls ended, by their numbers."""
        self._usages: dict[int, Usage] = {}
        """The usage of calls that succeeded, by the numbers of their exchanges."""
        self.calls = 0
        """Calls that were recorded."""
        self.dropped = 0
        """Exchanges that passed unrecorded because too many were followed."""

    def follow(self, exchange: RecordedExchange) -> None:
        """Follow an exchange that has begun."""
        if len(self._tasks) >= MOST_FOLLOWED:
            self.dropped += 1
            exchange.request.limit = exchange.response.limit = -1
            return
        task = asyncio.ensure_future(self._follow(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self, seconds: float) -> None:
        """Wait until all exchanges are reported, for so many seconds at most."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)

    async def finish(self, seconds: float) -> None:
        """Wait like `wait`, then leave the rest."""
        await self.wait(seconds)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, exchange: RecordedExchange) -> None:
        try:
            await self._record(exchange)
        except Exception as error:  # a defect of ours must not end the proxy
            self.dropped += 1
            _LOG.error("exchange %d was not recorded: %s", exchange.number, type(error).__name__)
        finally:
            exchange.request.free()
            exchange.response.free()
            exchange.credentials = Credentials()  # the proxy keeps no key

    async def _record(self, exchange: RecordedExchange) -> None:
        held = await self._held_call(exchange)
        while exchange.requested is None and exchange.ended is None:
            await _change(exchange)
        call = placed = None
        if held is not None:
            call, placed, stored = held
            if exchange.hold is not None and exchange.hold.sent is not None:
                sent = await asyncio.to_thread(read_call, exchange, self._protocol, self._command)
                placed.call = call = sent or call
                if stored is not None and self._writer is not None:
                    await self._writer.replace_request(stored, call)
        elif exchange.requested is not None:
            async with self._reading:
                await self._let_pass(exchange)
                call = await asyncio.to_thread(read_call, exchange, self._protocol, self._command)
                if call is not None and self._is_wanted(call):
                    if self._conversations.is_response_missing(call):
                        await self._wait_for_ended()
                    placed = self._conversations.place(call)
        if call is None or placed is None:
            while exchange.ended is None:
                exchange.response.limit = -1
                exchange.response.free()
                await _change(exchange)
            if call is None:
                self._on_other(exchange)
            return
        done = asyncio.Event()
        self._stored[exchange.number] = exchange, done
        try:
            await self._record_call(exchange, call, placed, held)
        finally:
            done.set()
            self._stored.pop(exchange.number)

    async def _held_call(self, exchange: RecordedExchange) -> HeldCall | None:
        """Return a call that was held and stored, once it waits no longer; None for any other."""
        if self._on_held is None or self._writer is None:
            return None
        while exchange.hold is None and exchange.requested is None and exchange.ended is None:
            await _change(exchange)
        if exchange.hold is None or exchange.hold.end:
            return None
        async with self._reading:
            call = await asyncio.to_thread(read_call, exchange, self._protocol, self._command)
            if call is None or not self._is_wanted(call):
                return None
            placed = self._conversations.place(call)
        await self._wait_for_previous(placed)
        stored = await self._writer.begin(placed, call)
        if stored is not None:
            await self._on_held(exchange, stored)
        return call, placed, stored

    async def _let_pass(self, exchange: RecordedExchange) -> None:
        """Wait until the response has begun and no exchange's bytes pass, but not for long:
        reading takes the interpreter from the proxy for milliseconds.
        """
        begun = exchange.requested if exchange.requested is not None else monotonic()
        end = begun + PATIENCE_SECONDS
        while exchange.first_byte is None and exchange.ended is None:
            exchange.changed.clear()
            try:
                await asyncio.wait_for(exchange.changed.wait(), max(0.0, end - monotonic()))
            except TimeoutError:
                break
        exchange.changed.set()
        held = exchange.response.held
        while True:
            rest = min(end, held.passed + QUIET_SECONDS) - monotonic()
            if rest <= 0:
                return
            await asyncio.sleep(rest)

    def _is_wanted(self, call: Call) -> bool:
        names = (call.protocol.value, call.model, call.exchange.path)
        return not self._only or any(
            fnmatchcase(name, pattern) for name in names for pattern in self._only
        )

    async def _record_call(
        self, exchange: RecordedExchange, call: Call, placed: PlacedCall, held: HeldCall | None
    ) -> None:
        await self._wait_for_previous(placed)
        before = self._ends.get(placed.previous.exchange) if placed.previous is not None else None
        idle = max(0.0, exchange.began - before) if before is not None else 0.0
        prices = self._prices_of(call, "")
        await self._let_pass(exchange)
        comparing = asyncio.create_task(asyncio.to_thread(compare, placed, prices, idle))
        if held is not None:
            stored = held[2]
        else:
            stored = await self._writer.begin(placed, call) if self._writer is not None else None
        reader = await self._read_reply(exchange, call, stored)
        assert exchange.ended is not None
        self._ends[exchange.number] = exchange.ended
        _forget_oldest(self._ends)
        comparison = await comparing
        recorded = self._recorded(placed, call, comparison, reader, stored)
        reply = recorded.reply
        if reply.id:
            message = reply.message(call.protocol)
            self._conversations.remember_response(placed, reply.id, message)
        if stored is not None and self._writer is not None:
            await self._writer.finish(recorded, stored)
        async with self._reporting:
            await asyncio.to_thread(self._on_call, recorded)
        self.calls += 1

    async def _wait_for_previous(self, placed: PlacedCall) -> None:
        """Wait until the reply that a request follows is stored, unless it still arrives."""
        stored = self._stored.get(placed.previous.exchange) if placed.previous else None
        if stored is not None and stored[0].ended is not None:
            await stored[1].wait()

    async def _wait_for_ended(self) -> None:
        """Wait until all replies that have ended are stored."""
        for exchange, stored in tuple(self._stored.values()):
            if exchange.ended is not None:
                await stored.wait()

    async def _read_reply(
        self, exchange: RecordedExchange, call: Call, stored: StoredCall | None
    ) -> RecordedReplyReader | None:
        """Read the reply until it ends, and store it meanwhile."""
        while not exchange.status and exchange.ended is None:
            await _change(exchange)
        if not exchange.status:
            return None
        reader, done = RecordedReplyReader(call), 0
        while True:
            is_last = exchange.ended is not None
            pieces = exchange.response.chunks[done:]
            times = [arrived for arrived, _ in exchange.arrivals[done : done + len(pieces)]]
            done += len(pieces)
            if sum(map(len, pieces)) <= _SMALL:
                reader.feed(pieces, times)
            else:
                await asyncio.to_thread(reader.feed, pieces, times)
            if is_last:
                if not exchange.response.is_whole:
                    size = exchange.response.size
                    reader.fault = f"The response of {size:,} bytes is larger than the limit."
                await asyncio.to_thread(reader.close, exchange.ended or 0.0)
                return reader
            if pieces and stored is not None and self._writer is not None:
                await self._writer.flush(stored, reader.reply.message(call.protocol))
            if exchange.ended is None:
                await _change(exchange, FLUSH_SECONDS)

    def _recorded(
        self,
        placed: PlacedCall,
        call: Call,
        comparison: CallComparison | None,
        reader: RecordedReplyReader | None,
        stored: StoredCall | None,
    ) -> RecordedCall:
        error = reader.error if reader is not None else None
        reply = reader.reply if reader is not None else Reply()
        call, comparison = calibrate_call(call, comparison, reply.usage.input)
        prices = self._prices_of(call, reply.usage.tier)
        media = {p.kind for t in _turns(call) for p in t.parts}
        media |= {f"output {part.kind}" for part in reply.parts}
        cost = cost_of(reply.usage, prices, media)
        priced = source_of_cost(reply.usage, prices, cost)
        loss = None
        before = self._usages.get(comparison.previous) if comparison is not None else None
        if comparison is not None and before is not None and error is None:
            loss = cache_loss(
                *(comparison.forecast, call.protocol, before, reply.usage, prices),
                comparison.idle,
            )
        if error is None and reader is not None:
            self._usages[call.exchange.number] = reply.usage
            _forget_oldest(self._usages)
        if not priced and (prices or reply.usage.tier.lower() not in STANDARD_TIERS):
            priced = UNPRICED
        return RecordedCall(
            placed,
            call,
            comparison,
            reader,
            cost,
            priced,
            stored.session_id if stored is not None else "",
            loss,
        )


def _turns(call: Call) -> tuple[Turn, ...]:
    return call.composed.envelope.turns if call.composed is not None else ()


async def _change(exchange: RecordedExchange, pause: float = 0.0) -> None:
    """Wait until something was added to an exchange, and then so many seconds, or for its end."""
    await exchange.changed.wait()
    exchange.changed.clear()
    end = asyncio.get_running_loop().time() + pause
    while exchange.ended is None and (rest := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.wait_for(exchange.changed.wait(), rest)
        except TimeoutError:
            return
        exchange.changed.clear()
