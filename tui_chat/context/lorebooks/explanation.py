"""Why each entry of the active lorebooks is active in a request, or not."""

from __future__ import annotations

from dataclasses import dataclass

from tui_chat.context.inputs import Inputs, with_answered_as_draft
from tui_chat.context.lorebooks.activation import Activation
from tui_chat.context.lorebooks.book_index import book_index, entry_name
from tui_chat.tokens import Counter


@dataclass(frozen=True, slots=True)
class LoreOutcome:
    """What became of an entry."""

    book: str
    entry: str
    """Its id."""
    name: str
    """Its display name."""
    active: bool
    sentence: str
    """The key that activated it and where, or the rule that held it back."""


def explain_lorebooks(inputs: Inputs, count: Counter) -> tuple[LoreOutcome, ...]:
    """Return the outcome of every entry, book by book, in the order of the books.

    Pure, like building the request. For a table over a whole conversation call it with each
    beginning of the history.
    """
    inputs = with_answered_as_draft(inputs)
    index = book_index(inputs)
    search = Activation(inputs, count, index)
    search.run()
    ranks = {id(each.keyed.entry): rank for rank, each in enumerate(index.candidates)}
    outcomes: list[LoreOutcome] = []
    for book in inputs.lorebooks:
        for entry in book.entries:
            rank = ranks.get(id(entry))
            active, sentence = (
                search.outcome(rank) if rank is not None else (False, "It is disabled.")
            )
            outcomes.append(LoreOutcome(book.name, entry.id, entry_name(entry), active, sentence))
    return tuple(outcomes)
