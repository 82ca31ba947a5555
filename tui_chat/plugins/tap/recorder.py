"""The recorder: follows exchanges beside the proxy, explains them, and stores them.

Nothing here delays a byte: the proxy only tells that an exchange began. Parsing and counting run in
a thread, and writing waits for nobody but itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.tap.calls import Call, RecordedReplyReader, names_fit, read_call
from tui_chat.plugins.tap.comparison import compare
from tui_chat.plugins.tap.conversations import Conversations, PlacedCall
from tui_chat.plugins.tap.credentials import Credentials
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.plugins.tap.recorded_call import PricesOfCall, RecordedCall, explain
from tui_chat.plugins.tap.sessions import SessionWriter, StoredCall

_LOG = logging.getLogger(__name__)
FLUSH_SECONDS = 0.25
"""Seconds between two steps of following a reply: reading what came, and storing it."""
PATIENCE_SECONDS = 0.5
"""Seconds for which a request is read only if its response has begun."""
_SMALL = 64 * 1024
"""Bytes of a response that are read on the event loop; more are read in a thread."""
MOST_FOLLOWED = 128
"""Exchanges that are followed at once; further ones pass and are counted."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call whose request was read and whose response was not yet."""

    call: Call
    placed: PlacedCall
    stored: StoredCall | None
    """Where its reply is stored; None if it is not."""


class Recorder:
    """Follows all exchanges of a proxy."""

    def __init__(
        self,
        *,
        on_call: Callable[[RecordedCall], None],
        on_other: Callable[[RecordedExchange], None],
        prices_of: PricesOfCall,
        writer: SessionWriter | None = None,
        only: tuple[str, ...] = (),
        command: tuple[str, ...] = (),
    ) -> None:
        """`on_call` is called in a thread with each model call that has ended, `on_other` with all
        other exchanges. `only` are patterns; calls that fit none of them pass unrecorded.
        `command` is the one that the tap was started with.
        """
        self._command = command
        self._on_call = on_call
        self._on_other = on_other
        self._prices_of = prices_of
        self._writer = writer
        self._only = only
        self._conversations = Conversations()
        self._tasks: set[asyncio.Task[None]] = set()
        self._beginning = asyncio.Lock()
        """Held while a call is read and placed, so that calls are placed one after the other."""
        self._reporting = asyncio.Lock()
        """Held while a call is reported, so that reports do not mix."""
        self._begun: dict[int, tuple[RecordedExchange, asyncio.Event]] = {}
        """The exchanges of calls by their numbers, and what is set when their reply is stored."""
        self._held: dict[int, OpenCall] = {}
        """Calls that began before their exchanges go on, by the numbers of these."""
        self.calls = 0
        """Calls that were recorded."""
        self.dropped = 0
        """Exchanges that passed unrecorded because too many were followed."""

    def follow(self, exchange: RecordedExchange) -> None:
        """Follow an exchange that goes on."""
        if len(self._tasks) >= MOST_FOLLOWED:
            self.dropped += 1
            exchange.free()
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
            exchange.free()
            exchange.credentials = Credentials()  # the proxy keeps no key

    async def _record(self, exchange: RecordedExchange) -> None:
        begun = self._held.pop(exchange.number, None)
        call = begun.call if begun is not None else None
        if begun is None and exchange.outcome != "refused":
            with suppress(TimeoutError):  # reading takes the interpreter from the proxy
                await asyncio.wait_for(exchange.changed.wait(), PATIENCE_SECONDS)
            async with self._beginning:
                call = await self.read(exchange)
                begun = await self._begin(call) if call is not None else None
        elif begun is not None and exchange.hold is not None and exchange.hold.sent is not None:
            begun = await self._edited(begun)
        if begun is not None:
            await self._record_call(begun)
            return
        await exchange.wait_for_end()
        if call is None:
            self._on_other(exchange)

    # --- the request ------------------------------------------------------------------------

    async def read(self, exchange: RecordedExchange) -> Call | None:
        """Return the model call of an exchange; None for any other."""
        return await asyncio.to_thread(read_call, exchange, self._command)

    async def _begin(self, call: Call) -> OpenCall | None:
        """Place a call, and store its request; None if it is not to be recorded."""
        if self._only and not any(names_fit(call, pattern) for pattern in self._only):
            return None
        for exchange, stored in tuple(self._begun.values()):
            if exchange.ended is not None:  # the call may follow its reply
                await stored.wait()
        placed = self._conversations.place(call)
        self._begun[placed.exchange] = call.exchange, asyncio.Event()
        writer = self._writer
        return OpenCall(call, placed, await writer.begin(placed, call) if writer else None)

    async def begin_held(self, call: Call) -> OpenCall | None:
        """Begin a call whose exchange is followed later; None if it is not to be recorded."""
        async with self._beginning:
            begun = await self._begin(call)
        if begun is not None:
            self._held[call.exchange.number] = begun
        return begun

    async def _edited(self, begun: OpenCall) -> OpenCall:
        """Return a call as the user edited it, and store its request."""
        sent = await self.read(begun.call.exchange)
        if sent is None:
            return begun
        begun.placed.call = sent
        if begun.stored is not None and self._writer is not None:
            await self._writer.replace_request(begun.stored, sent)
        return replace(begun, call=sent)

    # --- the reply --------------------------------------------------------------------------

    async def _record_call(self, begun: OpenCall) -> None:
        placed, exchange = begun.placed, begun.call.exchange
        try:
            comparing = asyncio.create_task(asyncio.to_thread(compare, placed))
            reader = await self._read_reply(begun)
            recorded = explain(begun.call, placed, await comparing, reader, self._prices_of)
            self._conversations.remember_response(placed, recorded.reply.id, recorded.message)
            if begun.stored is not None and self._writer is not None:
                recorded = replace(recorded, session_id=begun.stored.session_id)
                await self._writer.finish(recorded, begun.stored)
            async with self._reporting:
                await asyncio.to_thread(self._on_call, recorded)
            self.calls += 1
        finally:
            self._begun.pop(exchange.number)[1].set()

    async def _read_reply(self, begun: OpenCall) -> RecordedReplyReader | None:
        """Read the reply until it ends, and store it meanwhile; None if there is none."""
        exchange, call = begun.call.exchange, begun.call
        while not exchange.status and exchange.ended is None:
            await exchange.change()
        if not exchange.status:
            return None
        reader, done = RecordedReplyReader(call), 0
        while True:
            is_last = exchange.ended is not None
            pieces = exchange.response.chunks[done:]
            times = exchange.arrivals[done : done + len(pieces)]
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
            if pieces and begun.stored is not None and self._writer is not None:
                await self._writer.flush(begun.stored, reader.reply.message(call.protocol))
            if exchange.ended is None:
                await exchange.change(FLUSH_SECONDS)
