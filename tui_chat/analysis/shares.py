"""Where the tokens of a request go, by origin, and what falls out next."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection
from dataclasses import dataclass

from tui_chat.model.envelope import ChatEnvelope, Turn
from tui_chat.model.text import OriginKind


@dataclass(frozen=True, slots=True)
class Share:
    """What one kind of origin takes, in tokens."""

    kind: OriginKind
    tokens: int
    turns: int
    """How many turns it is."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The whole account. Figures in tokens."""

    shares: tuple[Share, ...]
    """In the order of `OriginKind`; kinds that take nothing are left out."""
    framing: int
    """Tool definitions and what frames the request."""
    reserve: int
    """Kept free for the reply; 0 where no limit is known."""
    free: int | None
    """Left over; negative when over the limit; None where no limit is known."""
    limit: int | None
    next_out: Turn | None
    """The oldest message of the history that is sent and not pinned: it falls out first."""

    @property
    def used(self) -> int:
        """What the request takes."""
        return sum(share.tokens for share in self.shares) + self.framing


def shares_of(envelope: ChatEnvelope, pinned: Collection[str] = ()) -> Shares:
    """Account for an envelope. A turn belongs to the kind of its origin as a whole. `pinned` are
    the ids of the messages that stay whatever they cost.
    """
    tokens: Tally[OriginKind] = Tally()
    turns: Tally[OriginKind] = Tally()
    for turn, count in zip(envelope.turns, envelope.tokens, strict=False):
        kind = turn.origin.kind
        tokens[kind] += count
        turns[kind] += 1
    shares = tuple(Share(kind, tokens[kind], turns[kind]) for kind in OriginKind if turns[kind])
    budget = envelope.budget
    counted = sum(tokens.values())
    return Shares(
        shares,
        framing=max(budget.total - counted, 0) if budget else 0,
        reserve=budget.reserve if budget and budget.limit is not None else 0,
        free=budget.free if budget else None,
        limit=budget.limit if budget else None,
        next_out=next((turn for turn in envelope.turns if _may_go(turn, pinned)), None),
    )


def _may_go(turn: Turn, pinned: Collection[str]) -> bool:
    return (
        turn.placement.kind == "history" and turn.role != "system" and turn.origin.id not in pinned
    )
