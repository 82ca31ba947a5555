"""Requests that are held until the user decides about them.

1. A pattern chooses model calls by path, model, program or a text of the body. Whatever fits none
   passes at once.
2. A request is held when all of it has arrived: what cannot be kept whole is not held.
3. Nothing waits for ever. A held request is sent as it came when its time is up, is gone when its
   client leaves, and is refused when the proxy ends.
4. Whoever decides first decides; see `HeldRequest.decide`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from time import monotonic
from typing import Any, Literal, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.content_encoding import EncodingFault, decode_body
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap.calls import MAX_DECODED, Call, json_object, read_call
from tui_chat.plugins.tap.exchange import Hold, HoldEnd, RecordedExchange
from tui_chat.plugins.tap.http_messages import RequestHead
from tui_chat.plugins.tap.programs import program_of
from tui_chat.plugins.tap.upstreams import model_in_path, protocol_of_call

MOST_HELD = 64
"""Requests that are held at once; further ones pass."""
_CLOSING_SECONDS = 1.0
"""Seconds in which held requests are refused when the proxy ends."""
_TIMEOUT_HEADERS = ("x-stainless-timeout", "x-server-timeout")
"""Headers in which SDKs say how many seconds they wait."""

PatternKind = Literal["path", "model", "client", "body", "any"]
_KINDS: Mapping[str, PatternKind] = {
    "path": "path",
    "model": "model",
    "client": "client",
    "body": "body",
}


@dataclass(frozen=True, slots=True)
class PausePattern:
    """A condition for holding a request. Letter case does not matter."""

    kind: PatternKind
    text: str
    """A pattern for the whole name if it has `*`, `?` or `[`, else a part of it. In a body it is
    always the text itself."""

    def fits(self, kind: PatternKind, name: str) -> bool:
        """Return True if a name of a kind fits."""
        if self.kind not in (kind, "any"):
            return False
        name, text = name.casefold(), self.text.casefold()
        if kind != "body" and any(mark in text for mark in "*?["):
            return fnmatchcase(name, text)
        return text in name


def read_pattern(text: str) -> PausePattern:
    """Return the pattern of `KIND:TEXT` or `TEXT`. Raises InputError."""
    start, colon, rest = text.partition(":")
    kind = _KINDS.get(start.strip().lower()) if colon else None
    pattern = PausePattern(kind or "any", rest if kind else text)
    if not pattern.text.strip():
        raise InputError(
            f"--pause: “{text}” has no text to look for.",
            advice="Write it as model:claude-*, path:/v1/messages, client:codex, or body:TEXT.",
        )
    return pattern


@dataclass(frozen=True, slots=True)
class HoldDecision:
    """What is done with a held request."""

    end: HoldEnd
    content: bytes = b""
    """The edited body, or the text of the answer in UTF-8."""


class HeldRequest:
    """A request that waits."""

    def __init__(self, call: Call, hold: Hold, seconds: float, task: asyncio.Task[Any]) -> None:
        """`seconds` is the time limit, and `task` the one that passes the request on."""
        self.call = call
        self.exchange = call.exchange
        self.hold = hold
        self.until = hold.since + seconds
        """The time at which it is sent as it came, in monotonic seconds."""
        self.task = task
        self._seconds = seconds
        self.decided: asyncio.Future[HoldDecision] = asyncio.get_running_loop().create_future()

    @property
    def number(self) -> int:
        """The number of its exchange."""
        return self.exchange.number

    @property
    def waiting(self) -> float:
        """The seconds that it has waited."""
        return monotonic() - self.hold.since

    @property
    def remaining(self) -> float:
        """The seconds until it is sent as it came."""
        return max(0.0, self.until - monotonic())

    @property
    def client_patience(self) -> float | None:
        """The seconds after which its client gives up, if the client says so."""
        for name in _TIMEOUT_HEADERS:
            with suppress(ValueError):
                if 0 < (seconds := float(self.exchange.header(name))) < 1e6:
                    return seconds
        return None

    def decide(self, decision: HoldDecision) -> bool:
        """Decide about it; return False if that has been done already."""
        if self.decided.done():
            return False
        self.decided.set_result(decision)
        return True

    def extend(self) -> None:
        """Start the time limit again: the user works on it."""
        self.until = monotonic() + self._seconds


class Pauses:
    """The patterns, and the requests that are held."""

    def __init__(
        self,
        patterns: Sequence[PausePattern] = (),
        seconds: float = 0.0,
        *,
        protocol: Protocol | None = None,
        command: Sequence[str] = (),
        on_change: Callable[[HeldRequest], object] = lambda held: None,
        on_passed: Callable[[RecordedExchange, str], object] = lambda exchange, why: None,
    ) -> None:
        """`seconds` is the time limit; `protocol` and `command` are those of `read_call`.
        `on_change` is called when a request begins to be held and when that ends, `on_passed` with
        a request that fits and cannot be held, and the reason.
        """
        self.seconds = seconds
        self.is_on = bool(patterns)
        """False if no more requests are held."""
        self.requests: dict[int, HeldRequest] = {}
        """The held requests by their numbers, oldest first."""
        self._patterns = tuple(patterns)
        self._protocol, self._command = protocol, tuple(command)
        self._on_change, self._on_passed = on_change, on_passed

    def may_hold(self, head: RequestHead) -> bool:
        """Return True if a request may be held, as far as its head tells."""
        if not self.is_on or head.method != "POST":
            return False
        return any(p.kind not in ("path", "client") for p in self._patterns) or self._fits_head(
            head.target, program_of(head.headers, self._command).name
        )

    def _fits_head(self, target: str, program: str) -> bool:
        path = target.partition("?")[0]
        return any(p.fits("path", path) or p.fits("client", program) for p in self._patterns)

    async def hold(self, exchange: RecordedExchange) -> HeldRequest | None:
        """Return the held request of a received exchange, read in a thread; None if it passes."""
        if not await asyncio.to_thread(self._fits, exchange):
            return None
        if len(self.requests) >= MOST_HELD:
            self._on_passed(exchange, f"{MOST_HELD} requests are held already")
            return None
        call = await asyncio.to_thread(read_call, exchange, self._protocol, self._command)
        task = asyncio.current_task()
        if call is None or not self.is_on or task is None:
            return None
        exchange.hold = Hold(monotonic())
        held = HeldRequest(call, exchange.hold, self.seconds, task)
        self.requests[held.number] = held
        exchange.changed.set()
        return held

    def pass_unheld(self, exchange: RecordedExchange, why: str) -> None:
        """Note that a request that may have been held passes."""
        self._on_passed(exchange, why)

    async def decision(self, held: HeldRequest, left: asyncio.Future[Any]) -> HoldDecision:
        """Return what is decided about a held request; `left` is done when its client leaves."""
        decision = HoldDecision("ended")
        self._on_change(held)
        try:
            while not held.decided.done() and not left.done():
                if (seconds := held.until - monotonic()) <= 0:
                    held.decide(HoldDecision("expired"))
                    break
                waits = {held.decided, left}
                await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            held.decide(HoldDecision("client disconnected"))
            decision = held.decided.result()
        finally:
            held.decide(decision)
            held.hold.end, held.hold.seconds = decision.end, held.waiting
            self.requests.pop(held.number, None)
            self._on_change(held)
        return decision

    def stop(self) -> None:
        """Send all held requests as they came, and hold no more."""
        self.is_on = False
        for held in tuple(self.requests.values()):
            held.decide(HoldDecision("sent"))

    async def close(self) -> None:
        """Refuse all held requests, and hold no more."""
        self.is_on = False
        tasks = [held.task for held in self.requests.values()]
        for held in tuple(self.requests.values()):
            held.decide(HoldDecision("ended"))
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)

    def _fits(self, exchange: RecordedExchange) -> bool:
        try:
            body = decode_body(exchange.request.data, exchange.encoding, MAX_DECODED)
        except EncodingFault:
            return False
        value = json_object(body)
        if value is None or not protocol_of_call(
            exchange.method, exchange.target, value, self._protocol
        ):
            return False
        program = program_of(exchange.headers, self._command).name
        if self._fits_head(exchange.target, program):
            return True
        model = value.get("model")
        model = model if isinstance(model, str) else model_in_path(exchange.target)
        if any(pattern.fits("model", model) for pattern in self._patterns):
            return True
        text = body.decode("utf-8", "replace")
        return any(
            pattern.fits("body", text) or any(pattern.fits("body", part) for part in _texts(value))
            for pattern in self._patterns
        )


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value: in the body itself characters may be escaped."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += cast("dict[str, Any]", part).values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)
