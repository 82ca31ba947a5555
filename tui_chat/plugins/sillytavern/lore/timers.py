"""The timers of lore entries after a request, which hold in the next one.

1. An active entry with `sticky` or `cooldown` begins a timer of so many messages, unless it has
   one.
2. A timer ends with its last message, and goes if messages were removed since it began. Where a
   sticky timer ends, the entry's cooldown begins; it holds also if no message was added.
3. The timers of a request are those after the replies of its history, one after the other. What is
   known of a history is taken over for the one that continues it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_chat.context.inputs import EPOCH, Inputs, parameters
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message
from tui_chat.models.settings import LoreTimer
from tui_chat.plugins.sillytavern.lore.search import LoreSearch
from tui_chat.tokens import NO_CORRECTION, Counter, counter_for


def lore_counter(inputs: Inputs) -> Counter:
    """Return the counter by which the budgets of lore are charged in a request."""
    model = parameters(inputs).values.model
    return counter_for(model).corrected(inputs.correction)


def timers_after(inputs: Inputs) -> tuple[LoreTimer, ...]:
    """Search for a request; return the timers that hold after it."""
    search = LoreSearch(inputs, lore_counter(inputs))
    length, candidates = search.length, search.index.candidates
    timers = {
        (timer.kind, timer.book, timer.entry): timer
        for timer in inputs.chat.timers
        if length < timer.end and (timer.start < length or timer.protected)
    }
    past = {
        (timer.book, timer.entry)
        for timer in inputs.chat.timers
        if timer.kind == "sticky" and timer.start < length and timer.end <= length
    }
    for rank, candidate in enumerate(candidates):
        entry, book = candidate.entry, candidate.book.name
        if candidate.timer_key in past and entry.sticky and entry.cooldown:
            end = length + entry.cooldown
            cooldown = LoreTimer(book, entry.id, "cooldown", length, end, protected=True)
            timers["cooldown", book, entry.id] = cooldown
        elif rank in search.active:
            for timer in _begun(book, entry, length):
                timers.setdefault((timer.kind, book, entry.id), timer)
    return tuple(timers.values())


def _begun(book: str, entry: LorebookEntry, length: int) -> Iterator[LoreTimer]:
    """Yield the timers that an active entry begins."""
    if entry.sticky:
        yield LoreTimer(book, entry.id, "sticky", length, length + entry.sticky)
    if entry.cooldown:
        yield LoreTimer(book, entry.id, "cooldown", length, length + entry.cooldown)


def with_lore_timers(inputs: Inputs) -> Inputs:
    """Return the inputs with the timers that hold after the replies of their history."""
    if not any(map(_is_timed, inputs.lorebooks)):
        return inputs
    timers = _timeline(inputs.history, _setup(inputs)).timers
    chat = inputs.chat
    return inputs if timers == chat.timers else replace(inputs, chat=replace(chat, timers=timers))


@dataclass(frozen=True, slots=True)
class _Timeline:
    """The timers over a history."""

    history: tuple[Message, ...]
    setup: Inputs
    changes: tuple[tuple[int, tuple[LoreTimer, ...]], ...]
    """The timers after the message at an index, wherever they changed."""

    @property
    def timers(self) -> tuple[LoreTimer, ...]:
        """The timers after the last message."""
        return self.changes[-1][1] if self.changes else ()


@recent_memo()
def _timeline(history: tuple[Message, ...], setup: Inputs) -> _Timeline:
    """Compute the timers; those of the messages that another history shares are taken over."""
    known = [each for each in _timeline.results() if each.setup == setup]
    shared = [common_prefix(history, each.history) for each in known]
    start = max(shared, default=0)
    before = known[shared.index(start)].changes if start else ()
    changes = [change for change in before if change[0] < start]
    timers = changes[-1][1] if changes else ()
    for at in range(start, len(history)):
        message, after = history[at], timers
        if message.about.lore_timers is not None:
            after = message.about.lore_timers
        elif message.role == "assistant" and at:  # an opening message is no reply
            chat = replace(setup.chat, timers=timers)
            after = timers_after(replace(setup, history=history[:at], chat=chat))
        if after != timers:
            timers = after
            changes.append((at, timers))
    return _Timeline(history, setup, tuple(changes))


def _setup(inputs: Inputs) -> Inputs:
    """Return the inputs without what differs between the requests of a conversation."""
    return replace(
        inputs,
        history=(),
        draft="",
        draft_parts=(),
        answered=None,
        now=EPOCH,
        seed=0,
        correction=NO_CORRECTION,
        chat=replace(inputs.chat, kind="normal", prompt="", timers=()),
    )


@Memo
def _is_timed(book: Lorebook) -> bool:
    return any(entry.enabled and (entry.sticky or entry.cooldown) for entry in book.entries)
