"""What a reply cost and how quickly it came: tokens as reported, US dollars, seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_chat.models.model_facts import Prices

BYTES_PER_TOKEN = 4
"""About, in every vocabulary and language; where a provider reports, its figure is taken."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input: int | None = None
    """All input, cached parts included."""
    output: int | None = None
    """All output, reasoning included."""
    cached: int | None = None
    """Input served from a prompt cache."""
    cache_write: int | None = None
    """Input written to a prompt cache."""
    reasoning: int | None = None
    """Output spent on reasoning."""
    input_apart: int = field(default=0, compare=False)
    """Of `input`, what the provider counts beside its own figure: Anthropic's cache."""
    output_apart: int = field(default=0, compare=False)
    """Of `output`, what the provider counts beside its own figure: Gemini's thoughts."""


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Timing:
    """A reply's pace so far, or as it ended."""

    elapsed: float | None = None
    """Seconds since the request left; None where nobody looked at the clock."""
    first: float | None = None
    """Seconds until the first word, or thought, or call; None before it, or where unknown."""
    tokens: int | None = None
    """Output, reasoning included; None where unknown."""
    exact: bool = False
    """True if `tokens` was reported by the provider; else it is estimated."""
    cost: float | None = None
    """US dollars for input and output; None without prices or figures."""

    @property
    def per_second(self) -> float | None:
        """Output tokens a second since the first of them; None before there is a pace."""
        if not self.tokens or self.elapsed is None:
            return None
        seconds = self.elapsed - (self.first or 0.0)
        return self.tokens / seconds if seconds > 0 else None


NO_TIMING = Timing()


def cost_of(usage: Usage, prices: Prices | None) -> float | None:
    """Return what a reply cost in US dollars; None where price or figure is unknown.

    Cached input costs its own price where there is one, else the full one; so does input that
    was written to a cache.
    """
    if prices is None or usage.input is None or usage.output is None:
        return None
    if prices.input is None or prices.output is None:
        return None
    cached, written = usage.cached or 0, usage.cache_write or 0
    plain = max(usage.input - cached - written, 0)
    total = plain * prices.input + usage.output * prices.output
    total += cached * (prices.input if prices.cached is None else prices.cached)
    total += written * (prices.input if prices.cache_write is None else prices.cache_write)
    return total / _MILLION
