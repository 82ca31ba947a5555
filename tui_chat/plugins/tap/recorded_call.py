"""A model call that has ended, explained: what it was, what came back, what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from tui_chat.analysis.cache_forecast import cache_loss
from tui_chat.compose import calibrate
from tui_chat.errors import ProviderError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.prices import STANDARD_TIERS, Prices
from tui_chat.models.reply import Reply
from tui_chat.models.session import UNPRICED
from tui_chat.models.usage import CacheLoss, Usage, cost_of, source_of_cost
from tui_chat.plugins.tap.calls import Call, RecordedReplyReader
from tui_chat.plugins.tap.comparison import CallComparison
from tui_chat.plugins.tap.conversations import PlacedCall
from tui_chat.plugins.tap.exchange import RecordedExchange
from tui_chat.store.replies import Ending


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call, its reply, and what it changed of the call before it."""

    placed: PlacedCall
    call: Call
    comparison: CallComparison | None
    reader: RecordedReplyReader | None
    """None if there was no response."""
    cost: Decimal | None = None
    priced: str = ""
    """Whose prices the cost is from."""
    session_id: str = ""
    """The id of the session that it is stored in; empty if it is not stored."""
    loss: CacheLoss | None = None
    """Its loss of the prompt cache; None if nothing is known to be lost."""

    @property
    def exchange(self) -> RecordedExchange:
        """The exchange that passed."""
        return self.call.exchange

    @property
    def reply(self) -> Reply:
        """The reply as far as it came."""
        return self.reader.reply if self.reader is not None else Reply()

    @property
    def message(self) -> Message:
        """The reply as a message."""
        return self.reply.message(self.call.protocol)

    @property
    def error(self) -> ProviderError | None:
        """The error in the response, or the reason why it cannot be read."""
        return self.reader.error if self.reader is not None else None

    @property
    def failure(self) -> str:
        """The reason why it failed, as a sentence; empty if it ended well."""
        if self.exchange.outcome in ("complete", "open"):
            return str(self.error or "")
        return self.exchange.fault or str(self.error or "")

    @property
    def status(self) -> Ending:
        """The status of the stored reply."""
        if self.exchange.outcome in ("client disconnected", "ended"):
            return "stopped"
        return "failed" if self.failure else "complete"

    @property
    def seconds(self) -> float | None:
        """Seconds from the end of the request to that of the response; None before it."""
        exchange = self.exchange
        return None if exchange.ended is None else max(0.0, exchange.ended - exchange.requested)

    @property
    def first_token(self) -> float | None:
        """Seconds from the end of the request to the first text, reasoning or call."""
        requested = self.exchange.requested
        first = self.reader.first if self.reader is not None else None
        return None if first is None else max(0.0, first - requested)


PricesOfCall = Callable[[Call, str], Prices | None]
"""Returns the prices of a call at a service tier, or at the one that it asks for."""


def explain(
    call: Call,
    placed: PlacedCall,
    comparison: CallComparison | None,
    reader: RecordedReplyReader | None,
    prices_of: PricesOfCall = lambda call, tier: None,
) -> RecordedCall:
    """Return a call that has ended with its cost and its loss of the prompt cache."""
    recorded = RecordedCall(placed, call, comparison, reader)
    usage, is_read = recorded.reply.usage, reader is not None and reader.error is None
    call, comparison = _calibrated(call, comparison, usage.input)
    prices = prices_of(call, usage.tier)
    media = {part.media for turn in call.turns for part in turn.parts}
    media |= {f"output {part.media}" for part in recorded.reply.parts}
    cost = cost_of(usage, prices, media)
    priced = source_of_cost(usage, prices, cost)
    if not priced and (prices or usage.tier.lower() not in STANDARD_TIERS):
        priced = UNPRICED
    loss = _loss(placed, call, comparison, usage, prices) if is_read else None
    placed.ended, placed.usage = call.exchange.ended, usage if is_read else None
    return RecordedCall(placed, call, comparison, reader, cost, priced, loss=loss)


def _loss(
    placed: PlacedCall,
    call: Call,
    comparison: CallComparison | None,
    usage: Usage,
    prices: Prices | None,
) -> CacheLoss | None:
    """Return what a call lost of the prompt cache; None if nothing is known to be lost."""
    before = placed.previous.usage if placed.previous is not None else None
    if comparison is None or before is None:
        return None
    return cache_loss(comparison.forecast, call.protocol, before, usage, prices, comparison.idle)


def _calibrated(
    call: Call, comparison: CallComparison | None, reported: int | None
) -> tuple[Call, CallComparison | None]:
    """Return a call and its comparison with the tokens that its reply reported."""
    if call.composed is None:
        return call, comparison
    composed = calibrate(call.composed, reported)
    budget = composed.envelope.budget
    if comparison is not None and budget is not None:
        comparison = comparison.calibrated(budget.total)
    return replace(call, composed=composed), comparison
