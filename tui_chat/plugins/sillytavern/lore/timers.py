"""The timers of lore entries after a request, which hold in the next one.

1. An active entry with `sticky` or `cooldown` begins a timer of so many messages, unless it has
   one.
2. A timer ends with its last message, and goes if messages were removed since it began. Where a
   sticky timer ends, the entry's cooldown begins; it holds also if no message was added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_chat.context.inputs import EPOCH, Inputs
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message
from tui_chat.models.settings import LoreTimer
from tui_chat.plugins.sillytavern.lore.activation import Activation
from tui_chat.plugins.sillytavern.lore.book_index import book_index
from tui_chat.plugins.sillytavern.lore.conditions import session_limit
from tui_chat.plugins.sillytavern.lore.explanation import lore_counter
from tui_chat.tokens import NO_CORRECTION

NO_TIMERS: tuple[LoreTimer, ...] = ()


def timers_after(inputs: Inputs, search: Activation) -> tuple[LoreTimer, ...]:
    """Run the search of a request; return the timers that hold after it."""
    search.run()
    length, index = search.length, search.index
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
    ended = {
        rank
        for rank, candidate in enumerate(index.candidates if past else ())
        if (candidate.book.name, candidate.keyed.entry.id) in past
    }
    for rank in sorted(ended | search.activated.keys()):
        entry, book = index.candidates[rank].keyed.entry, index.candidates[rank].book.name
        if rank in ended and entry.sticky and entry.cooldown:
            end = length + entry.cooldown
            cooldown = LoreTimer(book, entry.id, "cooldown", length, end, protected=True)
            timers["cooldown", book, entry.id] = cooldown
        elif rank in search.activated:
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
    history = inputs.history
    timers = _timeline(history, conversation_setup(inputs)).at(len(history))
    chat = inputs.chat
    return inputs if timers == chat.timers else replace(inputs, chat=replace(chat, timers=timers))


class TurnInputs(Sequence[Inputs]):
    """The inputs of the replies of a history."""

    def __init__(self, inputs: Inputs) -> None:
        self._setup = conversation_setup(inputs)
        self._history = inputs.history
        self._lengths = reply_places(inputs.history)
        timed = any(map(_is_timed, inputs.lorebooks))
        self._timeline = _timeline(self._history, self._setup) if timed else None

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, index: int) -> Inputs:  # type: ignore[override]
        length = self._lengths[index]
        timers = NO_TIMERS if self._timeline is None else self._timeline.at(length)
        return _at(self._setup, self._history[:length], timers)


@recent_memo()
def reply_places(history: tuple[Message, ...]) -> tuple[int, ...]:
    """Return the indexes of the replies; an opening message of the assistant is none."""
    return tuple(at for at, message in enumerate(history) if at and message.role == "assistant")


@dataclass(frozen=True, slots=True)
class _Timeline:
    """The timers over a history."""

    history: tuple[Message, ...]
    setup: Inputs
    changes: tuple[tuple[int, tuple[LoreTimer, ...]], ...]
    """The timers after the message at an index, wherever they changed."""

    def at(self, length: int) -> tuple[LoreTimer, ...]:
        """Return the timers that hold in a request with so many messages before the draft."""
        found = (timers for after, timers in reversed(self.changes) if after < length)
        return next(found, NO_TIMERS)


@recent_memo()
def _timeline(history: tuple[Message, ...], setup: Inputs) -> _Timeline:
    """Compute the timers; those of the messages that another history shares are taken over."""
    known = [each for each in _timeline.results() if each.setup == setup]
    shared = [common_prefix(history, each.history) for each in known]
    start = max(shared, default=0)
    changes: list[tuple[int, tuple[LoreTimer, ...]]] = []
    if start:
        before = known[shared.index(start)]
        changes = [change for change in before.changes if change[0] < start]
    timers = changes[-1][1] if changes else NO_TIMERS
    index, count, limit = book_index(setup), lore_counter(setup), session_limit(setup)
    for at in range(start, len(history)):
        message, after = history[at], timers
        if message.semantics.lore_timers is not None:
            after = message.semantics.lore_timers
        elif message.role == "assistant" and at:
            request = _at(setup, history[:at], timers)
            after = timers_after(request, Activation(request, count, index, limit))
        if after != timers:
            timers = after
            changes.append((at, timers))
    return _Timeline(history, setup, tuple(changes))


def conversation_setup(inputs: Inputs) -> Inputs:
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
        chat=replace(inputs.chat, kind="normal", prompt="", timers=NO_TIMERS),
    )


def _at(setup: Inputs, history: tuple[Message, ...], timers: tuple[LoreTimer, ...]) -> Inputs:
    return replace(setup, history=history, chat=replace(setup.chat, timers=timers))


@Memo
def _is_timed(book: Lorebook) -> bool:
    return any(entry.enabled and (entry.sticky or entry.cooldown) for entry in book.entries)
