"""How a reply gets on: how long, how fast, at what cost."""

from __future__ import annotations

from dataclasses import dataclass

from tui_chat.models.reply import Reply
from tui_chat.models.timing import NO_TIMING, Timing

Fact = tuple[int, str]
"""Something to say, with its weight: the lightest goes first where there is no room."""


@dataclass(frozen=True, slots=True)
class Live:
    """A reply that is arriving, as the screen knows it."""

    seconds: float
    """Since it was asked for."""
    reply: Reply | None = None
    timing: Timing = NO_TIMING


def pace(timing: Timing, *, live: bool) -> list[Fact]:
    """Return what is known of a reply's pace and cost."""
    facts: list[Fact] = []
    about = "" if timing.exact else "≈ "
    if timing.cost:
        facts.append((4, about + dollars(timing.cost)))
    if timing.first is not None and live:
        facts.append((2, f"first word {timing.first:.1f} s"))
    if words := speed(timing):
        facts.append((3 if live else 1, words))
    return facts


def speed(timing: Timing) -> str:
    """Return how many tokens come in a second, in words; nothing where that says nothing.

    The rate is that of the network, or of a buffer, and not of the model where all came at once:
    it takes half a second of words, or a whole one where nobody saw the first.
    """
    rate = timing.per_second
    seconds = (timing.elapsed or 0.0) - (timing.first or 0.0)
    if not rate or rate < 1 or seconds < (1 if timing.first is None else 0.5):
        return ""
    return f"{'' if timing.exact else '≈ '}{rate:,.0f} tokens/s"


def dollars(cost: float) -> str:
    """Write a sum with as many digits as tell something."""
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}" if cost >= 0.0001 else "<$0.0001"
