"""How an arriving reply gets on: how long, how fast, at what cost."""

from __future__ import annotations

from dataclasses import dataclass

from tui_chat.model.endpoint import Prices
from tui_chat.model.reply import Reply, Usage

LETTERS_PER_TOKEN = 4
"""About, until the provider has counted."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """A reply that is arriving, as the screen has seen it."""

    seconds: float
    """Since it was asked for."""
    reply: Reply | None = None
    first: float | None = None
    """Seconds until its first word; None while there is none."""
    prices: Prices | None = None

    @property
    def tokens(self) -> tuple[int, bool]:
        """Tokens that came, and whether the provider counted them."""
        reply = self.reply
        if reply is None:
            return 0, False
        if reply.usage.output:
            return reply.usage.output, True
        letters = len(reply.content) + sum(len(block.text) for block in reply.reasoning)
        letters += sum(len(call.arguments) for call in reply.calls)
        return letters // LETTERS_PER_TOKEN, False

    @property
    def rate(self) -> float | None:
        """Tokens a second since the first word; None where that says nothing yet."""
        if self.first is None or self.seconds - self.first < 0.5:
            return None
        return self.tokens[0] / (self.seconds - self.first)

    @property
    def facts(self) -> list[str]:
        """What there is to say, the most telling last."""
        made: list[str] = []
        tokens, counted = self.tokens
        about = "" if counted else "≈ "
        if self.prices and self.reply:
            usage = self.reply.usage if counted else Usage(self.reply.usage.input, tokens)
            cost = cost_of(usage, self.prices)
            if cost:
                made.append(about + dollars(cost))
        if self.first is not None:
            made.append(f"first word {self.first:.1f} s")
        if self.rate and self.rate >= 1:
            made.append(f"{about}{self.rate:,.0f} tokens/s")
        return made


def cost_of(usage: Usage, prices: Prices) -> float | None:
    """Return what a request cost in US dollars; None where a price or count is not known."""
    if usage.output is None or prices.output is None:
        return None
    cost = usage.output * prices.output
    if usage.input is not None and prices.input is not None:
        cached, written = usage.cached or 0, usage.cache_write or 0
        cost += max(usage.input - cached - written, 0) * prices.input
        cost += cached * (prices.input if prices.cached is None else prices.cached)
        cost += written * (prices.input if prices.cache_write is None else prices.cache_write)
    return cost / MILLION


def dollars(cost: float) -> str:
    """Write a sum with as many digits as tell something."""
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}" if cost >= 0.0001 else "<$0.0001"
