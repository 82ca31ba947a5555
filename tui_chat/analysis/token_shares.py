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
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.memo import Memo
from tui_chat.models.text import OriginKind
from tui_chat.models.tool import server_of
from tui_chat.models.turn import Turn


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


_Kind: TypeAlias = "tuple[OriginKind, HistoryPart | None]"
"""A kind of origin, and the part of the history if it is that."""


def token_shares(envelope: ChatEnvelope, pinned: Collection[str] = ()) -> Shares:
    """Return the shares of an envelope. A turn belongs to the kind of its origin as a whole.
    `pinned` are the ids of the messages that stay whatever they cost.
    """
    budget = envelope.budget
    shares = tuple(_shares(envelope))
    counted = sum(share.tokens for share in shares)
    may_drop = () if envelope.source is not None else envelope.turns
    return Shares(
        shares,
        framing=max(budget.total - counted, 0) if budget else 0,
        reserve=budget.reserve if budget and budget.limit is not None else 0,
        free=budget.free if budget else None,
        limit=budget.limit if budget else None,
        next_out=next((turn for turn in may_drop if _may_go(turn, pinned)), None),
        exchanges=tuple(_exchanges(envelope)),
    )


def _shares(envelope: ChatEnvelope) -> Iterator[Share]:
    budget, items = envelope.budget, _named_items(envelope)
    for kind in OriginKind:
        if kind is OriginKind.TOOL and budget is not None and budget.tools:
            yield _tool_share(envelope.turns, budget.tools)
        for part in (None, *HistoryPart):
            if of_part := items.get((kind, part)):
                named = [item for item in of_part if item.name]
                turns = sum(item.count for item in of_part)
                yield Share(kind, _sum(of_part), turns, part, _largest_first(named))
    if budget is not None and budget.edits:
        yield Share(OriginKind.EDIT, budget.edits, 0)


def _named_items(envelope: ChatEnvelope) -> dict[_Kind, list[ShareItem]]:
    """Return what each kind is made of; what has no name is one item without."""
    counts: dict[tuple[_Kind, str], tuple[int, int]] = {}
    tool_of_call: dict[str, str] = {}
    for turn, tokens in zip(envelope.turns, _tokens_of(envelope), strict=True):
        for call in turn.tool_calls:
            tool_of_call[call.id] = call.name
        tool = turn.tool_name or tool_of_call.get(turn.tool_call_id, "")
        for key, share in _divided(turn, tokens, tool if turn.role == "tool" else ""):
            sum_before, turns_before = counts.get(key, (0, 0))
            counts[key] = sum_before + share, turns_before + 1
    items: dict[_Kind, list[ShareItem]] = {}
    for (kind, name), (tokens, turns) in counts.items():
        items.setdefault(kind, []).append(ShareItem(name, tokens, "", turns))
    return items


@Memo
def _divided(turn: Turn, tokens: int, tool: str) -> tuple[tuple[tuple[_Kind, str], int], ...]:
    """Return the tokens of a turn by kind and name. `tool` is the one whose result it is."""
    kind = turn.origin.kind
    if kind is not OriginKind.HISTORY:
        name = turn.origin.name if kind is OriginKind.LORE else ""
        return ((((kind, None), name), tokens),)
    return tuple(
        (((kind, part), tool if part is HistoryPart.RESULT else name), share)
        for part, name, share in shared(parts_of(turn), tokens)
    )


def _tool_share(turns: Sequence[Turn], tools: Sequence[tuple[str, int]]) -> Share:
    """Return the share of the definitions of tools."""
    calls = Counter(call.name for turn in turns for call in turn.tool_calls)
    items = [ShareItem(name, tokens, server_of(name), calls[name]) for name, tokens in tools]
    return Share(OriginKind.TOOL, _sum(items), len(items), None, _largest_first(items))


def _largest_first(items: Iterable[ShareItem]) -> tuple[ShareItem, ...]:
    return tuple(sorted(items, key=lambda item: -item.tokens))


def _exchanges(envelope: ChatEnvelope) -> Iterator[ExchangeTokens]:
    """Yield the exchanges of the conversation, oldest first."""
    first, tokens = -1, 0
    for index, (turn, count) in enumerate(zip(envelope.turns, _tokens_of(envelope), strict=True)):
        if turn.origin.kind not in _CONVERSATION:
            continue
        if turn.role == "user":
            if first >= 0:
                yield ExchangeTokens(first, tokens)
            first, tokens = index, 0
        tokens += count
    if first >= 0:
        yield ExchangeTokens(first, tokens)


def _tokens_of(envelope: ChatEnvelope) -> tuple[int, ...]:
    """Return the tokens of each turn: 0 in an envelope whose turns were not counted."""
    return envelope.tokens or (0,) * len(envelope.turns)


_CONVERSATION = (OriginKind.HISTORY, OriginKind.DRAFT)


def largest_turns(envelope: ChatEnvelope, count: int) -> list[tuple[Turn, int]]:
    """Return the turns that take the most tokens, the largest first, with their tokens."""
    tokens = _tokens_of(envelope)
    indices = nlargest(count, range(len(tokens)), key=tokens.__getitem__)
    return [(envelope.turns[index], tokens[index]) for index in indices]


def _may_go(turn: Turn, pinned: Collection[str]) -> bool:
    return (
        turn.placement.kind == "history" and turn.role != "system" and turn.origin.id not in pinned
    )
