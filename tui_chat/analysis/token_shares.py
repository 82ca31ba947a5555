"""Token shares of a request by origin, and the message that is dropped next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from tui_chat.analysis.history_parts import HistoryPart, parts_of, shared
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.text import OriginKind
from tui_chat.models.tool import server_of


@dataclass(frozen=True, slots=True)
class ShareItem:
    """The tokens of one tool or one file."""

    name: str
    tokens: int
    server: str = ""
    """The MCP server of a tool; empty for none."""


@dataclass(frozen=True, slots=True)
class Share:
    """The tokens of one kind of origin, or of one part of the history."""

    kind: OriginKind
    tokens: int
    turns: int
    """The number of turns that have it, or of tools."""
    part: HistoryPart | None = None
    """The part of the history; None for every other kind."""
    items: tuple[ShareItem, ...] = ()
    """The tools or files that make it up, the largest first."""

    @property
    def servers(self) -> dict[str, tuple[ShareItem, ...]]:
        """The items of each MCP server, the largest server first; those of none are under ""."""
        items_by_server: dict[str, tuple[ShareItem, ...]] = {}
        for item in self.items:
            items_by_server[item.server] = (*items_by_server.get(item.server, ()), item)
        return dict(sorted(items_by_server.items(), key=lambda each: -_sum(each[1])))


def _sum(items: Iterable[ShareItem]) -> int:
    return sum(item.tokens for item in items)


@dataclass(frozen=True, slots=True)
class Shares:
    """All shares of a request. Figures in tokens."""

    shares: tuple[Share, ...]
    """In the order of `OriginKind` and `HistoryPart`; kinds that take nothing are left out."""
    framing: int
    """The tokens that frame the request: the total less all shares."""
    reserve: int
    """Kept free for the reply; 0 where no limit is known."""
    free: int | None
    """Left over; negative when over the limit; None where no limit is known."""
    limit: int | None
    next_out: Turn | None
    """The oldest message of the history that is sent and not pinned: it falls out first. None in a
    captured request, of which nothing is left out here."""

    @property
    def used(self) -> int:
        """The tokens of the request."""
        return sum(share.tokens for share in self.shares) + self.framing


_Key: TypeAlias = "tuple[OriginKind, HistoryPart | None, str]"
"""A kind, the part of the history, and the name of a file."""


class ShareCalculator:
    """Computes the shares of successive envelopes; costs what changed since the previous one."""

    def __init__(self) -> None:
        self._turns: tuple[Turn, ...] = ()
        self._tokens: tuple[int, ...] = ()
        self._sums: dict[_Key, tuple[int, int]] = {}
        """Tokens and turns of each kind, part and file."""

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
        budget = envelope.budget
        shares = tuple(self._shares(budget.tools if budget else ()))
        counted = sum(share.tokens for share in shares)
        return Shares(
            shares,
            framing=max(budget.total - counted, 0) if budget else 0,
            reserve=budget.reserve if budget and budget.limit is not None else 0,
            free=budget.free if budget else None,
            limit=budget.limit if budget else None,
            next_out=None
            if envelope.semantics.source is not None
            else next((turn for turn in turns if _may_go(turn, pinned)), None),
        )

    def _shares(self, tools: Sequence[tuple[str, int]]) -> Iterator[Share]:
        sums: dict[tuple[OriginKind, HistoryPart | None], list[tuple[str, int, int]]] = {}
        for (kind, part, name), (tokens, turns) in self._sums.items():
            sums.setdefault((kind, part), []).append((name, tokens, turns))
        for kind in OriginKind:
            if kind is OriginKind.TOOL and tools:
                items = (ShareItem(name, tokens, server_of(name)) for name, tokens in tools)
                largest = tuple(sorted(items, key=lambda item: -item.tokens))
                yield Share(kind, _sum(largest), len(tools), None, largest)
            for part in (None, *HistoryPart):
                if counts := sums.get((kind, part)):
                    files = [ShareItem(name, tokens) for name, tokens, _ in counts if name]
                    files.sort(key=lambda item: -item.tokens)
                    tokens = sum(count for _, count, _ in counts)
                    turns = sum(count for _, _, count in counts)
                    yield Share(kind, tokens, turns, part, tuple(files))

    def _add(self, turns: tuple[Turn, ...], tokens: tuple[int, ...], times: int) -> None:
        for turn, count in zip(turns, tokens, strict=False):
            if turn.origin.kind is not OriginKind.HISTORY:
                self._add_sum((turn.origin.kind, None, ""), times * count, times)
                continue
            for part, name, share in shared(parts_of(turn), count):
                self._add_sum((OriginKind.HISTORY, part, name), times * share, times)

    def _add_sum(self, key: _Key, tokens: int, turns: int) -> None:
        had = self._sums.get(key, _NONE)
        now = had[0] + tokens, had[1] + turns
        self._sums[key] = now
        if not now[1]:
            del self._sums[key]


_NONE = (0, 0)


def _may_go(turn: Turn, pinned: Collection[str]) -> bool:
    return (
        turn.placement.kind == "history" and turn.role != "system" and turn.origin.id not in pinned
    )
