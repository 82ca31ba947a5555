"""The budget view: what fills the context window, what is free, and what is dropped next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tui_chat.analysis.history_parts import HistoryPart
from tui_chat.analysis.token_shares import (
    ExchangeTokens,
    Share,
    Shares,
    largest_turns,
    token_shares,
)
from tui_chat.models.envelope import Budget, ChatEnvelope
from tui_chat.models.message import Part as MessagePart
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.row_wrapping import counted
from tui_chat.ui.inspector.row_wrapping import shares as divided
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    Piece,
    RowsView,
    ViewRows,
    first_words,
    line,
    spread,
    text_part,
)
from tui_chat.ui.inspector.views import InspectorState

_NAMES = {
    OriginKind.SYSTEM: "system prompt",
    OriginKind.PRESET: "preset",
    OriginKind.PROFILE: "profile",
    OriginKind.LORE: "lore",
    OriginKind.HISTORY: "history",
    OriginKind.DRAFT: "draft",
    OriginKind.MACRO: "macros",
    OriginKind.SETTING: "settings",
    OriginKind.TOOL: "tools",
    OriginKind.EDIT: "edits by hand",
    OriginKind.GLUE: "framing",
}
_UNITS = {OriginKind.TOOL: "tool", HistoryPart.FILE: "file"}
"""The unit of a count that is not of messages."""
_KINDS: dict[str, str] = {"image": "picture"}
_LABEL = 16
_LARGEST = 5
"""Turns that are listed as the largest."""
_LEAST_EXCHANGES = 3
"""Exchanges from which on their growth is worth a line."""
_HEIGHTS = "▁▂▃▄▅▆▇█"


class BudgetView(RowsView):
    """Shows the token budget of a request."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shares: Shares | None = None
        self._budget: Budget | None = None
        self._envelope: ChatEnvelope | None = None
        self._unsent: tuple[MessagePart, ...] = ()
        """The pictures and files that the protocol leaves out."""

    def show_state(self, state: InspectorState) -> None:
        if state.composed is not None:
            envelope = state.composed.envelope
            notes = state.composed.notes
            self._unsent = tuple(note.unsent for note in notes if note.unsent is not None)
            self._shares, self._budget = token_shares(envelope, state.pinned), envelope.budget
            self._envelope = envelope
            self.rebuild()

    def forget(self) -> None:
        super().forget()
        self._shares = self._budget = self._envelope = None
        self._unsent = ()

    def build(self, width: int) -> ViewRows:
        shares, budget, envelope = self._shares, self._budget, self._envelope
        if shares is None or envelope is None:
            return ViewRows()
        about = "" if budget is None or budget.exact else "~"
        parts: list[Part] = [_total(shares, about), *_bar(shares, width), BLANK]
        whole = shares.limit or max(shares.used, 1)
        for share in shares.shares:
            is_edit = share.kind is OriginKind.EDIT  # they may take tokens away
            unit = _UNITS.get(share.part or share.kind, "message")
            detail = "" if is_edit else counted(share.turns, unit)
            name = _name(share, shares)
            parts.append(_amount(name, share.tokens, whole, detail, share.kind.value, width))
        if shares.framing:
            parts.append(_amount("framing", shares.framing, whole, "", "glue", width))
        if shares.limit is not None:
            free = shares.free or 0
            parts += [
                BLANK,
                _amount("for the reply", shares.reserve, whole, "kept free", "setting", width),
                _amount(
                    "free" if free >= 0 else "over the limit",
                    abs(free),
                    whole,
                    "",
                    "good" if free >= 0 else "error",
                    width,
                ),
            ]
        for share in shares.shares:
            if share.items:
                parts += [BLANK, *_items(share, width)]
        parts += [*_growth(shares.exchanges, width), *_largest(envelope, whole, width), BLANK]
        parts += self._what_next(shares, envelope, width)
        if budget is not None:
            how = budget.how or f"counted with {budget.counter}"
            parts += [
                BLANK,
                text_part(f"{how[0].upper()}{how[1:]}.", width, "", "muted"),
            ]
        return ViewRows(parts)

    def _what_next(self, shares: Shares, envelope: ChatEnvelope, width: int) -> list[Part]:
        parts: list[Part] = []
        dropped, muted = len(envelope.dropped), len(envelope.muted)
        if dropped and self._budget is not None:
            words = f"{dropped:,} messages are left out: {self._budget.dropped:,} tokens"
            parts.append(line((words, "warning")))
        if self._budget is not None and self._budget.muted:
            what = f"{counted(muted, 'message')} muted" if muted else "Muted parts"
            parts.append(line((f"{what}: {self._budget.muted:,} tokens not sent", "muted")))
        for kind, count in Counter(
            _KINDS.get(part.kind, part.kind) for part in self._unsent
        ).items():
            words = f"{counted(count, kind)} not sent: 0 tokens"
            parts.append(line((words, "warning")))
        turn = shares.next_out
        if turn is None or shares.limit is None:
            what = "No other message" if muted else "No message" if self._unsent else "Nothing"
            words = (
                f"{what} is left out: the context limit is unknown." if shares.limit is None else ""
            )
            return [*parts, line((words, "muted"))] if words else parts
        words = first_words(turn.text.plain, width)
        parts.append(line(("Next to be left out", "heading")))
        parts.append(
            line(("▎", "history"), (f"{turn.role:<10}", "strong"), (words, ""), origin=turn.origin)
        )
        return parts


def _name(share: Share, shares: Shares) -> str:
    """Return the name of a share: the history is one where it has no other part."""
    parts = [each for each in shares.shares if each.part is not None]
    if share.part is None or (share.part is HistoryPart.CONVERSATION and len(parts) == 1):
        return _NAMES[share.kind]
    return share.part.value


def _growth(exchanges: tuple[ExchangeTokens, ...], width: int) -> Iterator[Part]:
    """Yield the tokens that the newest exchanges brought, as a row of bars."""
    if len(exchanges) < _LEAST_EXCHANGES:
        return
    average = sum(each.tokens for each in exchanges) // len(exchanges)
    right = f"{counted(average, 'token')} per turn on average; last turn: {exchanges[-1].tokens:,}"
    yield BLANK
    yield line(*spread(width, (("Growth", "heading"),), right))
    newest = [each.tokens for each in exchanges[-width:]]
    highest = max(*newest, 1)
    yield line(("".join(_HEIGHTS[tokens * 7 // highest] for tokens in newest), "history"))


def _largest(envelope: ChatEnvelope, whole: int, width: int) -> Iterator[Part]:
    if len(envelope.turns) <= _LARGEST:
        return
    yield BLANK
    yield line(("Largest messages", "heading"))
    for turn, tokens in largest_turns(envelope, _LARGEST):
        right = f"{tokens:,} {tokens / whole:>6.1%}"
        words = first_words(turn.text.plain, max(width - len(right) - 13, 0))
        left = (("▎", turn.origin.kind.value), (f"{turn.role:<10}", "strong"), (words, ""))
        yield line(*spread(width, left, right), origin=turn.origin)


def _items(share: Share, width: int) -> Iterator[Part]:
    """Yield the tools, by their servers, or the other items of a share, the largest first."""
    style, is_tools = share.kind.value, share.kind is OriginKind.TOOL
    heading = _ITEMS[share.part or share.kind]
    total = counted(share.tokens, "token")
    yield line(*spread(width, ((heading, "heading"),), total))
    for server, items in share.servers.items():
        if server:
            count = counted(len(items), "tool")
            cost = sum(item.tokens for item in items)
            left = (("▎", style), (f"{one_line(server)}  ", "strong"), (count, "muted"))
            yield line(*spread(width, left, f"{cost:,}"))
        for item in items:
            origin = Origin(OriginKind.TOOL, item.name) if is_tools else None
            name = "  " * bool(server) + one_line(item.name)
            detail = _calls(item.count) if is_tools else _messages(item.count)
            left = (("▎", style), (name, ""), (detail, "muted"))
            yield line(*spread(width, left, f"{item.tokens:,}"), origin=origin)


_ITEMS = {
    OriginKind.TOOL: "Tools",
    OriginKind.LORE: "Lore entries",
    HistoryPart.FILE: "Files",
    HistoryPart.RESULT: "Results of tools",
}


def _calls(count: int) -> str:
    return f"  {counted(count, 'call')}" if count else "  never called"


def _messages(count: int) -> str:
    return f"  in {count:,} messages" if count > 1 else ""


def _total(shares: Shares, about: str) -> Part:
    used = (f"{about}{shares.used:,}", "strong")
    if shares.limit is None:
        return line(used, (" tokens, context limit unknown", "muted"))
    return line(used, (f" of {shares.limit:,} tokens", "muted"))


def _bar(shares: Shares, width: int) -> list[Part]:
    """Draw the whole budget as one bar as wide as the pane."""
    amounts: list[tuple[str, int, str]] = [
        ("█", max(share.tokens, 0), share.kind.value) for share in shares.shares
    ]
    amounts.append(("█", shares.framing, "glue"))
    if shares.limit is not None:
        amounts += [("░", max(shares.free or 0, 0), "bar"), ("▒", shares.reserve, "setting")]
    cells = divided([amount for _, amount, _ in amounts], width)
    pieces: list[Piece] = [
        (sign * count, name) for (sign, _, name), count in zip(amounts, cells, strict=True) if count
    ]
    return [line(*pieces)]


def _amount(name: str, tokens: int, whole: int, detail: str, style: str, width: int) -> Part:
    """Draw a kind of origin: name, tokens, share and bar."""
    share = tokens / whole if whole else 0.0
    figures = f"{tokens:>9,} {share:>6.1%} "
    room = max(width - _LABEL - len(figures) - 2, 0)
    long = min(max(round(room * share), 1 if tokens > 0 else 0), room)
    hint = f"{name}: {counted(tokens, 'token')}" + (f", {detail}" if detail else "")
    return line(
        ("■ ", style),
        (f"{name:<{_LABEL - 2}}", ""),
        (figures, "strong"),
        ("━" * long, style),
        (f" {detail}" if detail and len(detail) < room - long else "", "muted"),
        hint=hint,
    )
