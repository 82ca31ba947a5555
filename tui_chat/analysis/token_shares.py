"""The contents of the context window: token shares by origin, the growth of each exchange, the
largest turns, and the message that is dropped next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TypeAlias

from tui_chat.analysis.history_parts import HistoryPart, parts_of, shared
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.text import OriginKind
from tui_chat.models.tool import server_of


@dataclass(frozen=True, slots=True)
class ShareItem:
    """The tokens of one tool, file, lore entry, or of all results of one tool."""

    name: str
    tokens: int
    server: str = ""
    """The MCP server of a tool; empty for none."""
    count: int = 1
    """The number of turns that it is in; of a tool, its calls in this request."""


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
    """What it is made of, the largest first, where that has names."""

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
class ExchangeTokens:
    """A user message of the conversation and what follows it, up to the next one."""

    first: int
    """The index of its first turn in the envelope."""
    tokens: int
    """Without what the preset and lorebooks put between its messages."""


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
    exchanges: tuple[ExchangeTokens, ...] = ()
    """The growth of the conversation, oldest first."""

    @property
    def used(self) -> int:
        """The tokens of the request."""
        return sum(share.tokens for share in self.shares) + self.framing


_Key: TypeAlias = "tuple[OriginKind, HistoryPart | None, str]"
"""A kind, the part of the history, and the name of a file, tool or lore entry."""


class ShareCalculator:
    """Computes the shares of successive envelopes; costs what changed since the previous one."""

    def __init__(self) -> None:
        self._turns: tuple[Turn, ...] = ()
        self._tokens: tuple[int, ...] = ()
        self._tools: list[str] = []
        """For each turn the name of the tool whose result it is; empty for none."""
        self._tool_of_call: dict[str, str] = {}
        """The name of the tool by the id of its newest call."""
        self._sums: dict[_Key, tuple[int, int]] = {}
        """Tokens and turns of each kind, part and name."""
        self._calls = Counter[str]()
        """The calls of each tool."""
        self._exchanges: list[ExchangeTokens] = []

    def __call__(self, envelope: ChatEnvelope, pinned: Collection[str] = ()) -> Shares:
        """Account for an envelope. A turn belongs to the kind of its origin as a whole. `pinned`
        are the ids of the messages that stay whatever they cost.
        """
        turns, tokens = envelope.turns, _tokens_of(envelope)
        same = common_prefix(self._turns, turns)
        if tokens[:same] != self._tokens[:same]:  # another model counts otherwise
            self._turns, self._tokens, self._tools, same = (), (), [], 0
            self._sums, self._calls, self._exchanges = {}, Counter[str](), []
        for index in range(same, len(self._turns)):
            self._add(self._turns[index], self._tokens[index], self._tools[index], -1)
        del self._tools[same:]
        for index in range(same, len(turns)):
            turn = turns[index]
            self._tool_of_call.update((call.id, call.name) for call in turn.tool_calls)
            called = self._tool_of_call.get(turn.tool_call_id, "") if turn.role == "tool" else ""
            self._tools.append(turn.name or called if turn.role == "tool" else "")
            self._add(turn, tokens[index], self._tools[index], 1)
        self._turns, self._tokens = turns, tokens
        self._extend_exchanges(same)
        budget = envelope.budget
        shares = tuple(self._shares(budget.tools if budget else ()))
        if budget is not None and budget.edits:
            shares = (*shares, Share(OriginKind.EDIT, budget.edits, 0))
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
            exchanges=tuple(self._exchanges),
        )

    def _shares(self, tools: Sequence[tuple[str, int]]) -> Iterator[Share]:
        sums: dict[tuple[OriginKind, HistoryPart | None], list[tuple[str, int, int]]] = {}
        for (kind, part, name), (tokens, turns) in self._sums.items():
            sums.setdefault((kind, part), []).append((name, tokens, turns))
        for kind in OriginKind:
            if kind is OriginKind.TOOL and tools:
                items = (
                    ShareItem(name, tokens, server_of(name), self._calls[name])
                    for name, tokens in tools
                )
                largest = tuple(sorted(items, key=lambda item: -item.tokens))
                yield Share(kind, _sum(largest), len(tools), None, largest)
            for part in (None, *HistoryPart):
                if counts := sums.get((kind, part)):
                    named = [ShareItem(name, tokens, "", n) for name, tokens, n in counts if name]
                    named.sort(key=lambda item: -item.tokens)
                    tokens = sum(count for _, count, _ in counts)
                    turns = sum(count for _, _, count in counts)
                    yield Share(kind, tokens, turns, part, tuple(named))

    def _add(self, turn: Turn, tokens: int, tool: str, times: int) -> None:
        for call in turn.tool_calls:
            self._calls[call.name] += times
        kind = turn.origin.kind
        if kind is not OriginKind.HISTORY:
            name = turn.origin.name if kind is OriginKind.LORE else ""
            self._add_sum((kind, None, name), times * tokens, times)
            return
        for part, name, share in shared(parts_of(turn), tokens):
            if part is HistoryPart.RESULT:
                name = tool
            self._add_sum((kind, part, name), times * share, times)

    def _add_sum(self, key: _Key, tokens: int, turns: int) -> None:
        had = self._sums.get(key, _NONE)
        now = had[0] + tokens, had[1] + turns
        self._sums[key] = now
        if not now[1]:
            del self._sums[key]

    def _extend_exchanges(self, same: int) -> None:
        """Follow the turns from `same` on; the earlier ones have not changed."""
        exchanges = self._exchanges
        while exchanges and exchanges[-1].first >= same:
            exchanges.pop()
        start = exchanges.pop().first if exchanges else 0
        first = tokens = -1
        for index in range(start, len(self._turns)):
            turn = self._turns[index]
            if turn.origin.kind not in _CONVERSATION:
                continue
            if turn.role == "user":
                if first >= 0:
                    exchanges.append(ExchangeTokens(first, tokens))
                first, tokens = index, 0
            tokens += self._tokens[index]
        if first >= 0:
            exchanges.append(ExchangeTokens(first, tokens))


def _tokens_of(envelope: ChatEnvelope) -> tuple[int, ...]:
    """Return the tokens of each turn: 0 in an envelope whose turns were not counted."""
    return envelope.tokens or (0,) * len(envelope.turns)


_CONVERSATION = (OriginKind.HISTORY, OriginKind.DRAFT)


def largest_turns(envelope: ChatEnvelope, count: int) -> list[tuple[Turn, int]]:
    """Return the turns that take the most tokens, the largest first, with their tokens."""
    tokens = _tokens_of(envelope)
    indices = nlargest(count, range(len(tokens)), key=tokens.__getitem__)
    return [(envelope.turns[index], tokens[index]) for index in indices]


_NONE = (0, 0)


def _may_go(turn: Turn, pinned: Collection[str]) -> bool:
    return (
        turn.placement.kind == "history" and turn.role != "system" and turn.origin.id not in pinned
    )
