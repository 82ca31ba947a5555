"""A model call that has ended, explained: what it was, what came back, what it cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from tui_chat.compose import calibrate
from tui_chat.errors import ProviderError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import Message
from tui_chat.models.reply import Reply
from tui_chat.models.usage import CacheLoss
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
        if self.exchange.outcome in ("complete", "open", "answered"):
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
        requested = exchange.requested or exchange.began
        return None if exchange.ended is None else max(0.0, exchange.ended - requested)

    @property
    def first_token(self) -> float | None:
        """Seconds from the end of the request to the first text, reasoning or call."""
        requested = self.exchange.requested
        first = self.reader.first if self.reader is not None else None
        return None if first is None or requested is None else max(0.0, first - requested)


def calibrate_call(
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
