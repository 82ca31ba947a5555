"""Summaries: a message of the history that stands for earlier ones.

1. Of the summaries that are on, the newest counts. It takes the place of the messages it stands
   for; the other summaries are not sent.
2. Pinned messages among those, calls with their results, and a system message that begins the
   history stay, before the summary.
3. If all summaries are off, the history is what it was before them, to the byte.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tui_chat.context.history_costs import units_of
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, Summary


@dataclass(frozen=True, slots=True)
class SummarizedHistory:
    """A history as it is sent."""

    history: tuple[Message, ...]
    """The given object if there are no summaries."""
    summary: Message | None = None
    """The summary that is sent."""
    replaced: int = 0
    """How many messages it takes the place of, earlier summaries aside."""


def summary_of(message: Message) -> Summary | None:
    """Return what a message is the summary of; None if it is none."""
    semantics = message.semantics
    return None if semantics is NO_MESSAGE_SEMANTICS else semantics.summary


@recent_memo()
def summarize(history: tuple[Message, ...]) -> SummarizedHistory:
    """Return a history with the newest enabled summary in place of what it stands for."""
    found = [index for index, message in enumerate(history) if summary_of(message) is not None]
    if not found:
        return SummarizedHistory(history)
    enabled = [index for index in found if (s := summary_of(history[index])) and s.enabled]
    if not enabled:
        return SummarizedHistory(tuple(m for m in history if summary_of(m) is None))
    newest = enabled[-1]
    summary = history[newest]
    stands_for = summary.semantics.summary
    assert stands_for is not None
    end = max(newest - max(stands_for.kept, 0), 0)
    before, after = history[:end], history[end:]
    kept = set[int]()
    units = (*units_of(before), len(before))
    for start, stop in pairwise(units):
        is_opening = start == 0 and before[0].role == "system"
        if is_opening or any(message.pinned for message in before[start:stop]):
            kept.update(range(start, stop))
    stay = [m for index, m in enumerate(before) if index in kept and summary_of(m) is None]
    rest = [m for m in after if summary_of(m) is None]
    gone = sum(summary_of(m) is None for m in before) - len(stay)
    # Truncation never drops it: it would take all that it stands for with it.
    sent = replace(summary, pinned=True)
    return SummarizedHistory((*stay, sent, *rest), sent, gone)
