"""The budget view: what fills the context window, what is free, and what is dropped next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tui_chat.analysis.token_shares import (
    HistoryPart,
    Share,
    Shares,
    largest_turns,
    token_shares,
)
from tui_chat.compose import Composed
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.row_wrapping import counted
from tui_chat.ui.inspector.row_wrapping import shares as divided
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    Piece,
    RowsView,
    first_words,
    line,
    spread,
    text_rows,
)

_NAMES = {
    OriginKind.SYSTEM: "system prompt",
    OriginKind.MACRO: "macros",
    OriginKind.SETTING: "settings",
    OriginKind.TOOL: "tools",
    OriginKind.EDIT: "edits by hand",
    OriginKind.GLUE: "framing",
}
"""The names of kinds of origin that have another one here."""
_UNITS = {OriginKind.TOOL: "tool", HistoryPart.FILE: "file"}
"""The unit of a count that is not of messages."""
_LABEL = 16
_LARGEST = 5
"""Turns that are listed as the largest."""


class BudgetView(RowsView):
    """Shows the token budget of a request."""

    def build(self, width: int) -> Iterator[Part]:
        if (composed := self.state.composed) is None:
            return
        envelope = composed.envelope
        shares, budget = token_shares(envelope, self.state.pinned), envelope.budget
        about = "" if budget is None or budget.exact else "~"
        whole = shares.limit or max(shares.used, 1)
        of = ", context limit unknown" if shares.limit is None else f" of {shares.limit:,}"
        words = f" tokens{of}" if shares.limit is None else f"{of} tokens"
        yield line((f"{about}{shares.used:,}", "strong"), (words, "muted"))
        yield _bar(shares, width)
        yield BLANK
        for share in shares.shares:
            unit = _UNITS.get(share.part or share.kind, "message")
            # Edits may take tokens away, so they count no messages.
            detail = "" if share.kind is OriginKind.EDIT else counted(share.turns, unit)
            style, name = share.kind.value, _name(share, shares)
            yield _amount(name, share.tokens, whole, detail, style, width)
        if shares.framing:
            yield _amount("framing", shares.framing, whole, "", "glue", width)
        if shares.limit is not None:
            free = shares.free or 0
            name, style = ("free", "good") if free >= 0 else ("over the limit", "error")
            yield BLANK
            yield _amount("for the reply", shares.reserve, whole, "kept free", "setting", width)
            yield _amount(name, abs(free), whole, "", style, width)
        yield from _largest(envelope, whole, width)
        yield BLANK
        yield from _unsent(composed, shares, width)
        if budget is not None:
            how = budget.how or f"counted with {budget.counter}"
            yield BLANK
            yield text_rows(f"{how[0].upper()}{how[1:]}.", width, "", "muted")


def _name(share: Share, shares: Shares) -> str:
    """Return the name of a share: the history is one where it has no other part."""
    parts = [each for each in shares.shares if each.part is not None]
    if share.part is None or (share.part is HistoryPart.CONVERSATION and len(parts) == 1):
        return _NAMES.get(share.kind, share.kind.value)
    return share.part.value


def _bar(shares: Shares, width: int) -> Part:
    """Return the whole budget as one bar as wide as the pane."""
    amounts = [("█", max(share.tokens, 0), share.kind.value) for share in shares.shares]
    amounts.append(("█", shares.framing, "glue"))
    if shares.limit is not None:
        amounts += [("░", max(shares.free or 0, 0), "bar"), ("▒", shares.reserve, "setting")]
    cells = divided([amount for _, amount, _ in amounts], width)
    return line(*((sign * n, style) for (sign, _, style), n in zip(amounts, cells, strict=True)))


def _amount(name: str, tokens: int, whole: int, detail: str, style: str, width: int) -> Part:
    """Return a row with name, tokens, share and bar."""
    share = tokens / whole if whole else 0.0
    figures = f"{tokens:>9,} {share:>6.1%} "
    room = max(width - _LABEL - len(figures) - 2, 0)
    long = min(max(round(room * share), 1 if tokens > 0 else 0), room)
    return line(
        ("■ ", style),
        (f"{name:<{_LABEL - 2}}", ""),
        (figures, "strong"),
        ("━" * long, style),
        (f" {detail}" if detail and len(detail) < room - long else "", "muted"),
        hint=f"{name}: {counted(tokens, 'token')}" + (f", {detail}" if detail else ""),
    )


def _largest(envelope: ChatEnvelope, whole: int, width: int) -> Iterator[Part]:
    if len(envelope.turns) <= _LARGEST:
        return
    yield BLANK
    yield line(("Largest messages", "heading"))
    for turn, tokens in largest_turns(envelope, _LARGEST):
        words, style = first_words(turn.text.plain, width), turn.origin.kind.value
        left = (("▎", style), (f"{turn.role:<10}", "strong"), (words, ""))
        yield line(spread(width, left, f"{tokens:,} {tokens / whole:>6.1%}"), origin=turn.origin)


def _unsent(composed: Composed, shares: Shares, width: int) -> Iterator[Part]:
    """Yield what is not sent, and what is left out next."""
    envelope, budget = composed.envelope, composed.envelope.budget
    dropped, muted = len(envelope.dropped), len(envelope.muted)
    unsent = [note.unsent.media for note in composed.notes if note.unsent is not None]
    if dropped and budget is not None:
        words = f"{counted(dropped, 'message')} left out: {budget.dropped:,} tokens"
        yield line((words, "warning"))
    if budget is not None and budget.muted:
        what = f"{counted(muted, 'message')} muted" if muted else "Muted parts"
        yield line((f"{what}: {budget.muted:,} tokens not sent", "muted"))
    for kind, count in Counter(unsent).items():
        name = "picture" if kind == "image" else kind
        yield line((f"{counted(count, name)} not sent: 0 tokens", "warning"))
    if shares.limit is None:
        words = "The context limit is unknown: nothing is left out to fit."
        yield text_rows(words, width, "", "muted")
    elif (turn := shares.next_out) is not None:
        pieces: tuple[Piece, ...] = (("▎", "history"), (f"{turn.role:<10}", "strong"))
        yield line(("Next to be left out", "heading"))
        yield line(*pieces, (first_words(turn.text.plain, width), ""), origin=turn.origin)
