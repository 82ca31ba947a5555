"""Token shares of a request by origin, and the message that is dropped next."""

from __future__ import annotations

from collections.abc import Collection

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.text import OriginKind


@dataclass(frozen=True, slots=True)
class Share:
    """The tokens of one kind of origin."""

    kind: OriginKind
    tokens: int
    turns: int
    """How many turns have it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """All shares of a request. Figures in tokens."""

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


class ShareCalculator:
    """Computes the shares of successive envelopes; costs what changed since the previous one."""

    def __init__(self) -> None:
        self._turns: tuple[Turn, ...] = ()
        self._tokens: tuple[int, ...] = ()
        self._sums: dict[OriginKind, tuple[int, int]] = {}
        """Tokens and turns of each kind."""

    def __call__(self, envelope: ChatEnvelope, pinned: Collection[str] = ()) -> Shares:
        """Account for an envelope. A turn belongs to the kind of its origin as a whole. `pinned`
        are the ids of the messages that stay whatever they cost.
        """
        turns, tokens = envelope.turns, envelope.tokens
        same = common_prefix(self._turns, turns)
        if tokens[:same] != self._tokens[:same]:  # another model counts otherwise
            self._turns, self._tokens, self._sums, same = (), (), {}, 0
        self._add(self._turns[same:], self._tokens[same:], -1)
        self._add(turns[same:], tokens[same:], 1)
        self._turns, self._tokens = turns, tokens
        sums = self._sums
        shares = tuple(Share(kind, *sums[kind]) for kind in OriginKind if sums.get(kind, _NONE)[1])
        budget = envelope.budget
        counted = sum(share.tokens for share in shares)
        return Shares(
            shares,
            framing=max(budget.total - counted, 0) if budget else 0,
            reserve=budget.reserve if budget and budget.limit is not None else 0,
            free=budget.free if budget else None,
            limit=budget.limit if budget else None,
            next_out=next((turn for turn in turns if _may_go(turn, pinned)), None),
        )

    def _add(self, turns: tuple[Turn, ...], tokens: tuple[int, ...], times: int) -> None:
        for turn, count in zip(turns, tokens, strict=False):
            had = self._sums.get(turn.origin.kind, _NONE)
            self._sums[turn.origin.kind] = had[0] + times * count, had[1] + times


_NONE = (0, 0)


def _may_go(turn: Turn, pinned: Collection[str]) -> bool:
    return (
        turn.placement.kind == "history" and turn.role != "system" and turn.origin.id not in pinned
    )
