"""request -> stream -> store -> emit: the only impure step of a turn.

1. The user's message, an empty `streaming` reply and the request are on disk before the request
   leaves: `send` waits for that.
2. After a temporary failure a `RetryPause` is emitted and the request is sent again, as the
   endpoint's `retries` allow, but never after a reply has begun.
3. Stream events are folded into a reply, which is emitted, and written at least every
   `FLUSH_SECONDS` while it changes.
4. The reply's entry has the status of its end: `complete`, `stopped` (cancelled) or `failed` (with
   the provider's message and advice), and the text that arrived.
5. `emit` is called from this task, in order. It must be fast and must not raise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from tui_chat.compose import Composed
from tui_chat.errors import RecordGone, Refused, ReplyCut, StoreError, TooLarge, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.prices import STANDARD_TIERS, Prices
from tui_chat.models.reply import (
    Reply,
    Rope,
    StreamEvent,
    TextDelta,
    advance,
    text_bytes,
    with_call_ids,
)
from tui_chat.models.session import (
    UNPRICED,
    EndChanges,
    Entry,
    NewExchange,
    RequestRecord,
    SessionSummary,
    StoredEnd,
)
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.models.usage import BYTES_PER_TOKEN, NO_TIMING, Timing, Usage, cost_of, source_of_cost
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.common.tools import restore_names
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.client import HttpClient, IncomingResponse, OutgoingRequest
from tui_chat.providers.failures import errors_without_key
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.providers.response_recorder import ResponseRecorder
from tui_chat.providers.retry import RetryPause, open_with_retries

if TYPE_CHECKING:
    from tui_chat.store import Ending, Store

_LOG = logging.getLogger(__name__)

FLUSH_SECONDS = 0.15
"""Text is on disk this long plus two writes after it arrived, at most: a running write and its own.
That is 250 ms if a write takes less than 50 ms.
"""
PARTIAL_SECONDS = 1 / 60
"""Between two partial replies that are emitted: what comes faster is not seen (see the benchmark
`whole_app`: half of a token's cost)."""
MAX_FLUSH_PAUSE = 5.0
"""Maximum seconds between two attempts to store a growing reply while they fail."""


@dataclass(frozen=True, slots=True)
class PartialReply:
    """The reply as far as it has arrived."""

    entry_id: str
    reply: Reply
    timing: Timing = NO_TIMING
    unsaved: str = ""
    """The sentence of the last failed attempt to store it; empty if it did not fail."""


@dataclass(frozen=True, slots=True)
class FinishedReply:
    """The reply has ended and is on disk, unless its entry is marked `unsaved`."""

    entry: Entry
    timing: Timing = NO_TIMING
    error: TuiChatError | None = None
    """The error that ended it; None if it did not fail."""
    repeats_key: bool = False
    """True if the provider repeated the key of the request; it is masked in the entry."""
    is_accepted: bool = False
    """True if the provider answered with a status of success."""
    summary: SessionSummary | None = None
    """The session as the list shows it now; None if the end is not stored."""
    save: Callable[[], Awaitable[StoredEnd]] | None = None
    """Stores the end again; None if it is stored. Raises StoreError."""


SendProgress: TypeAlias = RetryPause | PartialReply | FinishedReply


def outgoing_request(composed: Composed) -> OutgoingRequest:
    """Return the request to send: exactly the bytes that the inspector shows."""
    return OutgoingRequest(
        method=composed.method,
        url=composed.url,
        headers=composed.headers,
        secrets=composed.endpoint.secret_values,
        body=composed.payload.body,
        key=composed.endpoint.key,
        key_owner=composed.endpoint.name,
        key_header=composed.key_header,
        proxy=composed.endpoint.proxy,
        timeouts=composed.endpoint.timeouts,
        retries=composed.endpoint.retries,
    )


def new_exchange(
    composed: Composed, parent_id: str | None, user: Message | None, recipe: Mapping[str, Any]
) -> NewExchange:
    """Return the exchange to store before a request leaves."""
    record = RequestRecord(
        protocol=composed.protocol,
        endpoint=composed.endpoint.name,
        method=composed.method,
        url=composed.shown_url,
        sha256=composed.payload.sha256,
        recipe=recipe,
        body=composed.payload.body,
    )
    return NewExchange(parent_id, user, composed.model, record)


_P = ParamSpec("_P")
_T = TypeVar("_T")


async def send(
    composed: Composed,
    reply: Awaitable[Entry],
    *,
    store: Store,
    client: HttpClient,
    emit: Callable[[SendProgress], None],
    clock: Callable[[], float] = monotonic,
    begin_with: str = "",
    prices_of: Callable[[str], Prices | None] = lambda tier: None,
    changes_with: Callable[[Usage], EndChanges] = lambda usage: EndChanges(),
) -> Entry:
    """Send a request once its reply is stored, and return the reply's entry as it ended.

    `reply` returns the stored reply, empty and `streaming`; what it raises is raised, and nothing
    is sent then. `prices_of` returns the prices of the request at a service tier that the provider
    names, or at the one that it asks for if that is empty. Cancel the task to stop the reply; its
    entry is then written as `stopped` before the cancellation continues. `clock` returns monotonic
    seconds. `begin_with` is the text at the end of the request that the reply continues; the stored
    reply begins with it, too. `changes_with` returns what is stored with the end of the reply.
    """
    # What is stored has to be ended, and what has ended to be shown, however often it is cancelled.
    entry, is_stopped = await _uncancelled(reply)
    recorder = ResponseRecorder(clock)
    begun, priced = _reply_beginning(begin_with), (prices_of, changes_with)
    streaming = _StreamingReply(composed, entry, store, emit, clock, recorder, *priced, begun)
    flushing = asyncio.create_task(streaming.keep_flushed())
    status: Ending = "complete"
    error, fault = None, None
    try:
        if is_stopped:
            raise asyncio.CancelledError
        await receive(composed, client, streaming.grow, emit, begin_with, recorder)
    except asyncio.CancelledError:
        is_stopped, status = True, "stopped"
    except TuiChatError as refused:
        error, status = refused, "failed"
    except Exception as unexpected:
        fault, error, status = unexpected, _INTERNAL_ERROR, "failed"
    ended, is_cancelled = await _uncancelled(streaming.finish(flushing, status, error))
    if fault is not None:
        raise fault
    if is_stopped or is_cancelled:
        raise asyncio.CancelledError
    return ended


async def _uncancelled(work: Awaitable[_T]) -> tuple[_T, bool]:
    """Return the result of work, which goes on if this task is cancelled, and True if it was."""
    task, is_cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            is_cancelled = True
    return task.result(), is_cancelled


_INTERNAL_ERROR = TuiChatError(
    "An internal error occurred while reading the reply.",
    advice="What arrived is kept. Please report this error; the log has the details.",
)


async def receive(
    composed: Composed,
    client: HttpClient,
    on_reply: Callable[[Reply, int], None],
    on_pause: Callable[[RetryPause], None],
    begin_with: str = "",
    recorder: ResponseRecorder | None = None,
) -> None:
    """Send a request and read the reply; stores nothing.

    `on_reply` is called with the reply each time it has grown, and the number of bytes of new text.
    `on_pause` is called before every retry. `recorder` records the response. Raises TuiChatError.
    """
    protocol = protocol_of(composed.protocol)

    async def refusal(response: IncomingResponse) -> Refused:
        start_recording(response)
        return await _refusal(composed, response)

    def start_recording(response: IncomingResponse) -> None:
        if recorder is not None:
            recorder.record(response)

    async with (
        open_with_retries(client, outgoing_request(composed), refusal, on_pause) as response,
        errors_without_key(response.key_mask),
    ):
        start_recording(response)
        if not await response.holds_events():
            body = await response.read_body()

            def read() -> Reply:
                found = protocol.read_reply(response.key_mask.mask_bytes(body))
                return _without_key_in_tokens(found, response.key_mask)

            reply = await _parse_without_blocking(len(body), read)
            if begin_with:
                reply = reply.continuing(begin_with)
            on_reply(reply, 0)
            _check(reply)
            return
        parser, mask = protocol.parser(), response.key_mask
        reply = _reply_beginning(begin_with)
        is_abandoned = False
        """True if the reply was stopped while another thread parses, with the mask."""

        def parse(name: str, data: str) -> list[StreamEvent]:
            return list(mask.mask_events(parser.feed(name, mask.mask_text(data))))

        def fold(event: StreamEvent) -> None:
            nonlocal reply
            reply = advance(reply, event)
            on_reply(reply, text_bytes(event))
            _check(reply)

        try:
            async for name, data in response.events():
                try:
                    events = await _parse_without_blocking(len(data), parse, name, data)
                except asyncio.CancelledError:
                    is_abandoned = True
                    raise
                for number, event in enumerate(events, 1):
                    fold(event)
                    if number % _EVENTS_PER_TURN == 0:
                        await asyncio.sleep(0)
            for event in mask.mask_events(parser.close()):
                fold(event)
        finally:
            if not is_abandoned:
                for event in mask.close():
                    reply = advance(reply, event)
                    on_reply(reply, text_bytes(event))
                if (safe := _without_key_in_tokens(reply, mask)) is not reply:
                    reply = safe
                    on_reply(reply, 0)


def _without_key_in_tokens(reply: Reply, mask: KeyMasks) -> Reply:
    """Return the reply without its tokens if a key was repeated, in the text or in them."""
    tokens = unpack_tokens(str(reply.tokens))
    is_repeated = bool(tokens) and mask.are_spelled(token.text for token in tokens)
    return replace(reply, tokens=Rope()) if is_repeated else reply


_MAX_INLINE = 64 * 1024
"""Characters or bytes that are parsed on the event loop; larger data is parsed on a thread."""
_EVENTS_PER_TURN = 100
"""Events of one chunk that are processed before the event loop gets a turn."""


async def _parse_without_blocking(
    size: int, parse: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
) -> _T:
    """Parse data of this size, on another thread if it is large enough to block this one."""
    if size <= _MAX_INLINE:
        return parse(*args, **kwargs)
    return await asyncio.to_thread(parse, *args, **kwargs)


def _check(reply: Reply) -> None:
    """Raise TooLarge if the reply has exceeded one of its limits."""
    if reply.excess:
        raise TooLarge(
            reply.excess,
            advice="Send again with a lower maximum of output tokens.",
        )


def _reply_beginning(text: str) -> Reply:
    return advance(Reply(begun=len(text)), TextDelta(text)) if text else Reply()


async def _refusal(composed: Composed, response: IncomingResponse) -> Refused:
    body, is_whole = b"", True
    with suppress(ReplyCut):
        body, is_whole = await response.read_start()
    body = response.key_mask.mask_error_bytes(body)
    refused = response_error(response.status, body)
    if not is_whole:
        refused.args = (f"{refused} (Only the first 64 KB of the error were read.)",)
    if response.retry_after is not None:
        refused.retry_after = response.retry_after
    return refused


@dataclass(eq=False)
class _StreamingReply:
    """The reply being received: in memory, on the screen and on disk."""

    _composed: Composed
    _entry: Entry
    _store: Store
    _emit: Callable[[SendProgress], None]
    _clock: Callable[[], float]
    _recorder: ResponseRecorder
    _prices_of: Callable[[str], Prices | None]
    _changes_with: Callable[[Usage], EndChanges]
    _reply: Reply
    _first: float | None = None
    _bytes: int = 0
    _unsaved: str = ""
    """The sentence of the last failed flush; empty if it succeeded."""
    _pause: asyncio.TimerHandle | None = None
    """Runs while no partial reply is emitted."""
    _is_behind: bool = False
    """True if the reply has grown meanwhile."""

    def __post_init__(self) -> None:
        self._began = self._clock()
        turns = self._composed.envelope.turns
        self._media = frozenset(part.media for turn in turns for part in turn.parts)
        self._changed = asyncio.Event()
        if not self._reply.is_empty:  # what is continued must be in the new version from the start
            self._changed.set()

    def grow(self, reply: Reply, more: int) -> None:
        self._reply = reply
        self._bytes += more
        if self._first is None and not reply.is_empty:
            self._first = self._clock() - self._began
        self._changed.set()
        if self._pause is None:
            self._emit_partial()
        else:
            self._is_behind = True

    def _emit_partial(self) -> None:
        """Emit the reply so far, then no more of it for `PARTIAL_SECONDS`."""
        self._is_behind = False
        if self._pause is not None:
            self._pause.cancel()
        self._pause = asyncio.get_running_loop().call_later(PARTIAL_SECONDS, self._emit_rest)
        entry_id = self._entry.message.id
        self._emit(PartialReply(entry_id, self._reply, self._timing(), self._unsaved))

    def _emit_rest(self) -> None:
        self._pause = None
        if self._is_behind:
            self._emit_partial()

    def _timing(self) -> Timing:
        """Return the timing so far. The provider's count of output tokens is used once the reply
        has finished; before that it is partial.
        """
        usage, budget = self._reply.usage, self._composed.envelope.budget
        exact = self._reply.finish is not None and usage.output is not None
        tokens = usage.output if exact else -(-self._bytes // BYTES_PER_TOKEN) or None
        input_tokens = usage.input if usage.input is not None or budget is None else budget.total
        prices = self._prices_of(usage.tier)
        media = self._media | {f"output {part.media}" for part in self._reply.parts}
        counted = replace(usage, input=input_tokens, output=tokens)
        cost = cost_of(counted, prices, media)
        priced = source_of_cost(usage, prices, cost)
        if exact and not priced and (prices or usage.tier.lower() not in STANDARD_TIERS):
            priced = UNPRICED
        return Timing(self._clock() - self._began, self._first, tokens, exact, cost, priced)

    async def keep_flushed(self) -> None:
        """Store the reply whenever it has changed, until cancelled.

        A full disk must not end a reply that can still be read on the screen: the flush is retried
        at growing intervals, even if nothing more arrives.
        """
        pause = FLUSH_SECONDS
        while True:
            await self._changed.wait()
            await asyncio.sleep(pause)
            self._changed.clear()
            fault = ""
            try:
                await self._store.replies.flush(self._entry.message.id, self._message())
            except RecordGone:
                return  # its session was deleted; `finish` reports it
            except TuiChatError as error:
                fault = str(error)
                self._changed.set()
            pause = min(2 * pause, MAX_FLUSH_PAUSE) if fault else FLUSH_SECONDS
            if fault != self._unsaved:
                self._unsaved = fault
                self._emit_partial()

    async def finish(
        self, flushing: asyncio.Task[None], status: Ending, error: TuiChatError | None = None
    ) -> Entry:
        timing = self._timing()
        if self._is_behind:
            self._emit_partial()
        if self._pause is not None:
            self._pause.cancel()
        flushing.cancel()
        await asyncio.wait((flushing,))
        if not flushing.cancelled() and (fault := flushing.exception()) is not None:
            _LOG.error("a reply could not be flushed", exc_info=fault)
        received = self._recorder.received()
        end = self._reply.finish  # the provider's words for why the reply ended as it did
        words = end.detail if end and end.reason not in ("stop", "tool_calls") else ""
        facts: dict[str, Any] = {
            "message": self._message(),
            "status": status,
            "error": str(error) if error else words,
            "advice": error.advice if error else "",
            "usage": self._reply.usage,
            "finish": end.raw if end else "",
            "seconds": timing.elapsed,
            "first": timing.first,
            "cost": timing.cost if timing.exact else None,
            "priced": timing.priced if timing.exact else "",
        }
        changes, entry_id = self._changes_with(self._reply.usage), self._entry.message.id
        save = partial(
            self._store.replies.end, entry_id, **facts, received=received, changes=changes
        )
        stored, retry = await self._stored_end(save, facts)
        is_accepted = received is not None and 200 <= received.status < 300
        repeats_key = self._recorder.repeats_key
        facts_of_end = (timing, error, repeats_key, is_accepted, stored.summary, retry)
        self._emit(FinishedReply(stored.entry, *facts_of_end))
        return stored.entry

    async def _stored_end(
        self, save: Callable[[], Awaitable[StoredEnd]], facts: Mapping[str, Any]
    ) -> tuple[StoredEnd, Callable[[], Awaitable[StoredEnd]] | None]:
        """Store the end; if the file cannot be written to, return it with what stores it again."""
        try:
            return await save(), None
        except RecordGone:
            raise
        except StoreError as fault:
            entry = replace(self._entry, **facts, unsaved=str(fault))
            return StoredEnd(entry), save

    def _message(self) -> Message:
        message = self._reply.message(
            self._composed.protocol,
            id=self._entry.message.id,
            timestamp=self._entry.message.timestamp,
        )
        turns = self._composed.envelope.turns
        taken = {call.id for turn in turns for call in turn.tool_calls}
        message = restore_names(message, self._composed.encoded.aliases)
        return with_call_ids(message, taken) if message.tool_calls else message
