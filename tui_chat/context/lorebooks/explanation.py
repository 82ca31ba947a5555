"""Why each entry of the active lorebooks is active in a request, or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.activation import Activation
from tui_chat.context.lorebooks.book_index import RankedEntry, book_index, entry_name
from tui_chat.context.lorebooks.conditions import session_limit
from tui_chat.context.lorebooks.description import LOGIC_WORDS, describe_sent_place
from tui_chat.context.parameters import parameters
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.lorebook import EntryState, Lorebook, LorebookEntry
from tui_chat.models.message import Message
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
    """The key that activated it and where, or the rule that held it back."""
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
        self.entries = book_entries(inputs.searched_lorebooks)

    @cached_property
    def _ranks(self) -> dict[int, int]:
        """Ranks by the identity of entries; disabled ones have none."""
        return {id(each.keyed.entry): rank for rank, each in enumerate(self._index.candidates)}

    @cached_property
    def states(self) -> bytes:
        """The `EntryState` of each entry."""
        search, possible = self._search, self._search.possible()
        found: dict[int, EntryState] = {}
        for rank in possible | search.lost.keys() | search.activated.keys():
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
        rank = self._ranks.get(id(entry))
        if rank is None:
            state, sentence, message_id = EntryState.DISABLED, "It is disabled.", ""
        else:
            state, sentence = self._state(rank), self._sentence(rank)
            text = self._place(self._index.candidates[rank])
            message_id = text.id if text is not None else ""
        outcome = LoreOutcome(book.name, entry.id, entry_name(entry), state, sentence, message_id)
        if rank is None or state is not EntryState.ACTIVE:
            return outcome
        place = describe_sent_place(entry, self._inputs.preset)
        return replace(outcome, place=place, tokens=self._search.tokens(rank))

    def budgets(self) -> tuple[LoreBudgetUse, ...]:
        """Return the budgets that limit the entries: the session's, and those of books."""
        limit, books = session_limit(self._inputs), dict[str, tuple[int, int]]()
        found: list[LoreBudgetUse] = []
        if limit is not None:
            used = sum(map(self._search.tokens, self._search.activated))
            found.append(LoreBudgetUse("", used, limit))
        for number, book in enumerate(self._inputs.searched_lorebooks):
            if book.token_budget is not None and book.name not in books:
                books[book.name] = self._search.spent(number), book.token_budget
        return (*found, *(LoreBudgetUse(name, *use) for name, use in books.items()))

    def _state(self, rank: int) -> EntryState:
        search = self._search
        if rank in search.activated:
            return EntryState.ACTIVE
        if rank in search.lost or search.cause(rank, "recursion"):
            return EntryState.HELD_BACK
        found = self._found_keys(self._index.candidates[rank])
        return EntryState.HELD_BACK if found else EntryState.ABSENT

    def _found_keys(self, candidate: RankedEntry) -> Sequence[int]:
        """Return the primary keys of an entry that occur in the messages searched for them."""
        depth = self._search.depth(candidate)
        in_texts = self._search.in_texts(candidate)
        return [key for key in candidate.keyed.keys if in_texts.get(key, depth) < depth]

    def _place(self, candidate: RankedEntry) -> Message | None:
        """Return the newest message with a key of an entry; None for none or the typed draft."""
        in_texts = self._search.in_texts(candidate)
        places = [in_texts[key] for key in self._found_keys(candidate)]
        return self._search.newest[min(places)] if places else None

    def _why(self, rank: int) -> str:
        """Return why an entry would be active but for what holds it back; empty for no reason."""
        cause = self._search.cause(rank, "recursion")
        return "" if cause is None else self._search.why(rank, cause)

    def _sentence(self, rank: int) -> str:
        search = self._search
        if rank in search.activated:
            return search.why(rank, search.activated[rank])
        candidate = self._index.candidates[rank]
        if held_back := search.conditions.held_back(candidate):
            return _although(held_back, self._why(rank))
        if rank in search.lost:
            rule, cause = search.lost[rank]
            return _although(rule, search.why(rank, cause))
        keyed = candidate.keyed
        if keyed.entry.constant or search.conditions.is_sticky(candidate):
            return (
                "It waits until the content of other entries is searched; the search ended before."
            )
        if not keyed.keys:
            return "It has no keys and is not always active."
        depth = search.depth(candidate)
        if depth <= 0:
            return "Its scan depth is 0, so nothing is searched for its keys."
        found, why = self._found_keys(candidate), self._why(rank)
        if not found and why:
            return _although(search.not_by_content(rank), why)
        if not found:
            messages = "message" if depth == 1 else f"{depth} messages"
            return f"None of its keys occurs in the newest {messages}."
        in_texts = search.in_texts(candidate)
        newest = min(found, key=in_texts.__getitem__)
        occurs = search.key_occurs(candidate, newest, search.newest[in_texts[newest]])
        if keyed.entry.delay_until_recursion:
            return f"{occurs}, but only the content of other entries activates it."
        if why:
            rule = search.not_by_content(rank)
            return (
                f"{occurs}, but its condition is met by the content of other entries only. {rule}"
            )
        secondary = [search.key_words(candidate, key) for key in keyed.secondary]
        words = ", ".join((*secondary, *(f"“{' ' * is_blank}”" for is_blank in keyed.blanks)))
        condition = LOGIC_WORDS[keyed.entry.secondary_logic]
        also = search.secondary_places(candidate, "recursion").items()
        there = "".join(f"; {search.key_occurs(candidate, *each)}" for each in also)
        return f"{occurs}, but its condition is not met: {condition} {words}{there}."


def book_entries(books: tuple[Lorebook, ...]) -> tuple[tuple[Lorebook, LorebookEntry], ...]:
    """Return the entries of books, in their order."""
    return tuple((book, entry) for book in books for entry in book.entries)


def _although(rule: str, why: str) -> str:
    """Return a rule with the key that was found in spite of it; `why` is an activated entry's."""
    clause = why.partition(" because ")[2]
    return f"{rule.removesuffix('.')}, although {clause}" if clause else rule
