"""Why each entry of the active lorebooks is active in a request, or not."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from tui_chat.context.inputs import Inputs
from tui_chat.context.parameters import parameters
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.lorebook import EntryState, Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.plugins.sillytavern.lore.activation import Activation
from tui_chat.plugins.sillytavern.lore.book_index import book_index, entry_name
from tui_chat.plugins.sillytavern.lore.conditions import session_limit
from tui_chat.plugins.sillytavern.lore.description import describe_sent_place
from tui_chat.plugins.sillytavern.lore.key_search import OTHERS
from tui_chat.plugins.sillytavern.lore.rules import searched_books
from tui_chat.tokens import Counter, counter_for


@dataclass(frozen=True, slots=True)
class LoreOutcome:
    """What became of an entry, and why."""

    book: str
    entry: str
    """Its id."""
    name: str
    """Its display name."""
    state: EntryState
    sentence: str
    """The key that activated it and where, or that it is not active."""
    message_id: str = ""
    """The message in which a key was found; empty for none or the typed draft."""
    place: str = ""
    """The place to which an active entry goes."""
    tokens: int = 0
    """What an active entry costs, as budgets of lore count it."""

    @property
    def active(self) -> bool:
        """True if it is part of the request."""
        return self.state is EntryState.ACTIVE


class LoreBudgetUse(NamedTuple):
    """A token budget, and how much of it active entries use."""

    book: str
    """Empty for the budget of the whole session."""
    used: int
    limit: int


def lore_counter(inputs: Inputs) -> Counter:
    """Return the counter by which the budgets of lore are charged in a request."""
    model = parameters(inputs).model.value
    return counter_for(model).corrected(inputs.correction)


class LoreExplanation:
    """The outcomes of one request; sentences are made when they are asked for."""

    def __init__(self, inputs: Inputs, count: Counter) -> None:
        self._inputs, self._count = inputs, count
        self._index = book_index(inputs)
        self._search = Activation(inputs, count, self._index, session_limit(inputs))
        self._search.run()
        self.entries = book_entries(searched_books(inputs))

    @cached_property
    def _ranks(self) -> dict[int, int]:
        """Ranks by the identity of entries; disabled ones have none."""
        return {id(each.keyed.entry): rank for rank, each in enumerate(self._index.candidates)}

    @cached_property
    def states(self) -> bytes:
        """The `EntryState` of each entry."""
        search, possible = self._search, set(self._search.possible())
        found: dict[int, EntryState] = {}
        for rank in possible | search.lost | search.activated.keys():
            entry = self._index.candidates[rank].keyed.entry
            found[id(entry)] = self._state(rank)
        ranks = self._ranks
        return bytes(
            found.get(id(entry), EntryState.ABSENT if id(entry) in ranks else EntryState.DISABLED)
            for _, entry in self.entries
        )

    def outcome(self, number: int) -> LoreOutcome:
        """Return the outcome of an entry by its number in `entries`."""
        book, entry = self.entries[number]
        outcome = LoreOutcome(
            book.name, entry.id, entry_name(entry), EntryState.DISABLED, "It is disabled."
        )
        rank = self._ranks.get(id(entry))
        if rank is None:
            return outcome
        search, candidate, state = self._search, self._index.candidates[rank], self._state(rank)
        cause = search.activated.get(rank) or search.newest_key(
            candidate, search.places(candidate, "recursion")
        )
        where = None if cause is None else cause.where
        message_id = where.id if isinstance(where, Message) else ""
        if state is EntryState.ACTIVE and cause is not None:
            place = describe_sent_place(entry, self._inputs.preset)
            sentence, tokens = search.why(rank, cause), search.tokens(rank)
            outcome = replace(outcome, place=place, tokens=tokens)
            return replace(outcome, state=state, sentence=sentence, message_id=message_id)
        depth = search.depth(candidate)
        messages = "message" if depth == 1 else f"{depth} messages"
        sentence = f"None of its keys occurs in the newest {messages}."
        if state is EntryState.HELD_BACK:
            key = "" if cause is None else f"{search.key_occurs(candidate, cause)}, but a"
            sentence = f"{key or 'A'} condition, its group or a budget holds it back."
        return replace(outcome, state=state, sentence=sentence, message_id=message_id)

    def budgets(self) -> tuple[LoreBudgetUse, ...]:
        """Return the budgets that limit the entries: the session's, and those of books."""
        limit, books = session_limit(self._inputs), dict[str, tuple[int, int]]()
        found: list[LoreBudgetUse] = []
        if limit is not None:
            used = sum(map(self._search.tokens, self._search.activated))
            found.append(LoreBudgetUse("", used, limit))
        for number, book in enumerate(self._search.books):
            if book.token_budget is not None and book.name not in books:
                books[book.name] = self._search.spent(number), book.token_budget
        return (*found, *(LoreBudgetUse(name, *use) for name, use in books.items()))

    def _state(self, rank: int) -> EntryState:
        search, candidate = self._search, self._index.candidates[rank]
        if rank in search.activated:
            return EntryState.ACTIVE
        if rank in search.lost or search.cause(rank, "recursion"):
            return EntryState.HELD_BACK
        places = search.places(candidate, "recursion")
        found = search.newest_key(candidate, places)
        is_near = found is not None and places[found.key][0] < OTHERS
        return EntryState.HELD_BACK if is_near else EntryState.ABSENT


def book_entries(books: tuple[Lorebook, ...]) -> tuple[tuple[Lorebook, LorebookEntry], ...]:
    """Return the entries of books, in their order."""
    return tuple((book, entry) for book in books for entry in book.entries)
