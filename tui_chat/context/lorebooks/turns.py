"""Lore over the turns of a conversation: the timers that hold at each, and what was active.

A turn is a reply with the messages before it; the last turn is the request itself. Timers follow
from the messages alone, as if each reply had been requested with the present books and settings:
versions, forks and deleted messages need no record of their own, and the same conversation gives
the same bytes anywhere. They agree with those that SillyTavern keeps in a chat, since it too
changes them only where a reply is requested, and forgets those of messages that were removed. The
timers that a chat was imported with are kept with its last message, and hold from there.

Draws depend on the session and the number of messages, so the past can be computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from tui_chat.context.inputs import EPOCH, Inputs
from tui_chat.context.lorebooks.activation import Activation
from tui_chat.context.lorebooks.book_index import book_index
from tui_chat.context.lorebooks.explanation import book_entries, lore_counter
from tui_chat.context.lorebooks.timers import next_timers
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.lore_rules import LoreTimer
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message
from tui_chat.tokens import NO_CORRECTION, Counter

NO_TIMERS: tuple[LoreTimer, ...] = ()


def with_lore_timers(inputs: Inputs) -> Inputs:
    """Return the inputs with the timers that hold after the replies of their history."""
    if not _are_timed(inputs.lorebooks):
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
        timed = _are_timed(inputs.lorebooks)
        self._timeline = _timeline(self._history, self._setup) if timed else None

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, index: int) -> Inputs:  # type: ignore[override]
        length = self._lengths[index]
        timers = NO_TIMERS if self._timeline is None else self._timeline.at(length)
        return _at(self._setup, self._history[:length], timers)


@recent_memo()
def reply_places(history: tuple[Message, ...]) -> tuple[int, ...]:
    """Return the indexes of the replies; a message of the assistant that opens the conversation is
    none.
    """
    return tuple(at for at, message in enumerate(history) if at and message.role == "assistant")


@dataclass(frozen=True, slots=True)
class _Timeline:
    """The timers over a history."""

    history: tuple[Message, ...]
    setup: Inputs
    timed: _TimedEntries
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
    timed = known[0].timed if known else _TimedEntries(setup)
    for at in range(start, len(history)):
        message, after = history[at], timers
        if message.semantics.lore_timers is not None:
            after = message.semantics.lore_timers
        elif message.role == "assistant" and at and (timers or timed.may_begin(history[:at])):
            request = _at(setup, history[:at], timers)
            after = next_timers(request, lore_counter(request))
        if after != timers:
            timers = after
            changes.append((at, timers))
    return _Timeline(history, setup, timed, tuple(changes))


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
        chat=replace(inputs.chat, kind="normal", quiet_prompt="", timers=NO_TIMERS),
    )


def _at(setup: Inputs, history: tuple[Message, ...], timers: tuple[LoreTimer, ...]) -> Inputs:
    return replace(setup, history=history, chat=replace(setup.chat, timers=timers))


def _are_timed(books: tuple[Lorebook, ...]) -> bool:
    return any(map(_is_timed, books))


@Memo
def _is_timed(book: Lorebook) -> bool:
    return any(entry.enabled and (entry.sticky or entry.cooldown) for entry in book.entries)


class _TimedEntries:
    """Tells where an entry with timers may become active, so that a long conversation is not
    searched for all entries: searches for those, and for entries whose content activates them.
    """

    def __init__(self, setup: Inputs) -> None:
        wanted = {
            id(entry)
            for book in setup.lorebooks
            for entry in book.entries
            if entry.enabled and (entry.sticky or entry.cooldown)
        }
        for _ in range(_MOST_STEPS):
            self._setup = _with_entries(setup, wanted)
            if not (more := _activating(self._setup, setup.lorebooks) - wanted):
                return
            wanted |= more
        self._setup = _with_entries(setup, {id(each) for _, each in book_entries(setup.lorebooks)})

    def may_begin(self, history: tuple[Message, ...]) -> bool:
        """True if one of them may be active in the request after a history."""
        request = replace(self._setup, history=history)
        search = Activation(request, _NO_COUNT, book_index(request))
        search.run()
        return bool(search.possible())


_NO_COUNT = Counter("none", True, len)
"""A counter for budgets that have no limit."""
_MOST_STEPS = 4
"""Most times that entries are added which activate others; then all are."""


def _with_entries(setup: Inputs, wanted: set[int]) -> Inputs:
    """Return inputs with some entries alone, by identity, and without what holds them back."""
    books = tuple(
        replace(
            book,
            entries=tuple(
                replace(entry, groups=(), probability=100.0)
                for entry in book.entries
                if id(entry) in wanted
            ),
            token_budget=None,
        )
        for book in setup.lorebooks
    )
    rules = replace(setup.lore_rules, token_budget=None, budget_percent=None)
    return replace(setup, lorebooks=books, settings=replace(setup.settings, lore=rules))


def _activating(setup: Inputs, books: Sequence[Lorebook]) -> set[int]:
    """Return the entries of books whose content has a key of the entries of `setup`."""
    found: set[int] = set()
    for book in book_index(setup).books:
        for entry in chain.from_iterable(each.entries for each in books):
            occurs = book.index.in_entry(entry)
            if entry.enabled and (occurs.found or occurs.undecided):
                found.add(id(entry))
    return found
