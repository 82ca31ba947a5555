"""Requests that are held until the user decides about them in an app; see `held_table`.

1. A pattern chooses model calls by protocol, model, path or program, or is a text of the body.
   Whatever fits none passes at once.
2. Nothing waits for ever. A held request is sent as it came when its time is up or the database
   cannot be used, is gone when its client leaves, and is refused when the proxy ends.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from tui_chat.errors import InputError, StoreError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.tap import held_table
from tui_chat.plugins.tap.calls import Call, json_object, names_fit
from tui_chat.plugins.tap.exchange import Hold, HoldEnd, RecordedExchange
from tui_chat.plugins.tap.held_request import edited_body
from tui_chat.plugins.tap.recorder import OpenCall, Recorder
from tui_chat.store.database import Database

MOST_HELD = 64
"""Requests that are held at once; further ones pass."""
_POLL_SECONDS = 0.25
_OLD_KINDS = ("path", "model", "client", "body")


def read_pattern(text: str) -> str:
    """Return the text of a pattern, without the kind that older versions asked for. Raises
    InputError.
    """
    kind, colon, rest = text.partition(":")
    pattern = rest if colon and kind.strip().lower() in _OLD_KINDS else text
    if not pattern.strip():
        raise InputError(
            f"--pause: “{text}” has no text to look for.",
            advice="Write it as claude-*, /v1/messages, or a text of the request.",
        )
    return pattern


def fits(call: Call, pattern: str) -> bool:
    """Return True if a pattern fits a name of a call, or is a text of its body."""
    body = json.dumps(json_object(call.body), ensure_ascii=False)
    return names_fit(call, pattern) or pattern.casefold() in body.casefold()


@dataclass(frozen=True, slots=True)
class HoldDecision:
    """What is done with a held request."""

    end: HoldEnd
    content: bytes = b""
    """The edited body."""


PASSES = HoldDecision("sent")


class HeldRequests:
    """The patterns, and the requests that are held."""

    def __init__(
        self,
        patterns: Sequence[str],
        seconds: float,
        recorder: Recorder,
        database: Database,
    ) -> None:
        """`seconds` is the time limit."""
        self._patterns = patterns
        self._seconds = seconds
        self._recorder = recorder
        self._database = database
        self._count = 0
        self._closed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def hold(self, exchange: RecordedExchange) -> HoldDecision:
        """Hold an exchange if it fits, and return what is decided."""
        if self._closed.is_set() or self._count >= MOST_HELD or not exchange.request.is_whole:
            return PASSES
        call = await self._recorder.read(exchange)
        if call is None or not await asyncio.to_thread(self._fits, call):
            return PASSES
        begun = await self._recorder.begin_held(call)
        if begun is None or begun.stored is None:
            return PASSES
        exchange.hold = Hold(monotonic())
        self._count += 1
        self._idle.clear()
        try:
            decision = await self._decision(begun, begun.stored.entry_id, exchange.hold)
        except asyncio.CancelledError:
            exchange.hold.end = "client disconnected"
            raise
        finally:
            exchange.hold.seconds = monotonic() - exchange.hold.since
            self._count -= 1
            if not self._count:
                self._idle.set()
        exchange.hold.end = decision.end
        return decision

    def _fits(self, call: Call) -> bool:
        return any(fits(call, pattern) for pattern in self._patterns)

    async def _decision(self, begun: OpenCall, message_id: str, hold: Hold) -> HoldDecision:
        """Wait for a decision in the table."""
        until = hold.since + self._seconds
        try:
            await held_table.add(self._database, _waiting(begun, message_id, self._seconds))
            while (rest := until - monotonic()) > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closed.wait(), min(_POLL_SECONDS, rest))
                    return HoldDecision("ended")
                decision, content = await held_table.read_decision(self._database, message_id)
                fault = ""
                if decision not in ("", "editing"):
                    try:
                        return await asyncio.to_thread(_read_decision, begun, decision, content)
                    except InputError as error:
                        fault = str(error)
                if decision:  # the user works on it: the time limit starts again
                    until = monotonic() + self._seconds
                    limit = time.time() + self._seconds
                    await held_table.wait_on(self._database, message_id, fault, limit)
            return HoldDecision("expired")
        except StoreError:
            return PASSES
        finally:
            with suppress(StoreError):
                await held_table.remove(self._database, message_id)

    async def close(self, seconds: float) -> None:
        """Refuse what is held, for so many seconds at most, and hold no more."""
        self._closed.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)


def _waiting(begun: OpenCall, message_id: str, seconds: float) -> held_table.WaitingRequest:
    """Return what apps are told about a held request."""
    now, call = time.time(), begun.call
    session_id = begun.stored.session_id if begun.stored is not None else ""
    return held_table.WaitingRequest(
        message_id,
        session_id,
        call.program.name,
        call.model,
        now,
        now + seconds,
    )


def _read_decision(begun: OpenCall, decision: str, content: str) -> HoldDecision:
    """Return a decision of an app. Raises InputError for a text that is not a request."""
    match decision:
        case "edited":
            body = edited_body(begun.call, content)
            return PASSES if body is None else HoldDecision("edited", body)
        case "dropped":
            return HoldDecision(decision)
        case _:
            return PASSES
