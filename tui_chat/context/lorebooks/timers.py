"""The timers of lore entries after a request, which hold in the next one.

1. An active entry with `sticky` or `cooldown` begins a timer of so many messages, unless it has
   one.
2. A timer ends with its last message, and goes if messages were removed since it began. Where a
   sticky timer ends, the entry's cooldown begins; it holds also if no message was added.

These are SillyTavern's timed effects.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.activation import Activation
from tui_chat.context.lorebooks.book_index import RankedEntry, book_index
from tui_chat.models.lore_rules import LoreTimer
from tui_chat.tokens import Counter


def next_timers(inputs: Inputs, count: Counter) -> tuple[LoreTimer, ...]:
    """Return the timers that hold after a request with these inputs. Pure."""
    length = len(inputs.history) + inputs.has_draft
    index = book_index(inputs)
    search = Activation(inputs, count, index)
    search.run()
    timers = {
        (timer.kind, timer.book, timer.entry): timer
        for timer in inputs.chat.timers
        if length < timer.end and (timer.start < length or timer.protected)
    }
    ended = {
        (timer.book, timer.entry)
        for timer in inputs.chat.timers
        if timer.kind == "sticky" and timer.start < length and timer.end <= length
    }
    for rank, candidate in enumerate(index.candidates):
        for timer in _begun(candidate, rank in search.activated, length, ended):
            timers.setdefault((timer.kind, timer.book, timer.entry), timer)
    return tuple(timers.values())


def _begun(
    candidate: RankedEntry, active: bool, length: int, ended: set[tuple[str, str]]
) -> Iterator[LoreTimer]:
    """Yield the timers that a request begins for an entry."""
    entry, book = candidate.keyed.entry, candidate.book.name
    if entry.cooldown and (book, entry.id) in ended:
        end = length + entry.cooldown
        yield LoreTimer(book, entry.id, "cooldown", length, end, protected=True)
    elif active:
        if entry.sticky:
            yield LoreTimer(book, entry.id, "sticky", length, length + entry.sticky)
        if entry.cooldown:
            yield LoreTimer(book, entry.id, "cooldown", length, length + entry.cooldown)
