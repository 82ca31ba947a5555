"""The entries of lorebooks over the turns of a conversation: what was active when, and why.

1. Rows are the entries of all books, columns the replies of the branch, oldest first, and last the
   request itself. Past turns are computed with the present books, role and settings.
2. A turn is computed when it is wanted. The next table of the same conversation takes over what is
   known, so that a keystroke costs the last column, and a reply one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tui_chat.compose import Composed
from tui_chat.context.inputs import Inputs
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.lorebook import EntryState
from tui_chat.models.message import Message
from tui_chat.models.text import Origin
from tui_chat.plugins.sillytavern.lore.book_index import entry_name, entry_origin
from tui_chat.plugins.sillytavern.lore.explanation import (
    LoreBudgetUse,
    LoreExplanation,
    LoreOutcome,
    book_entries,
    lore_counter,
)
from tui_chat.plugins.sillytavern.lore.rules import searched_books
from tui_chat.plugins.sillytavern.lore.timers import TurnInputs, conversation_setup, reply_places

_SENTENCES_KEPT = 4
"""Turns whose search is kept for sentences."""


@dataclass(frozen=True, slots=True)
class LoreColumn:
    """A turn of a table."""

    number: int
    """From 1."""
    question: Message | None
    """The last message before the reply; None for the typed draft, or if there is none."""
    reply: Message | None
    """None for the request itself."""


class LoreTable:
    """The state of each entry in each turn."""

    def __init__(self, inputs: Inputs, before: LoreTable | None = None) -> None:
        """`before` is an earlier table, of this conversation or another."""
        self.inputs = inputs
        self.entries = book_entries(searched_books(inputs))
        """Each with its book."""
        self._setup = conversation_setup(inputs)
        self._places = reply_places(inputs.history)
        self._turns = TurnInputs(inputs)
        self._states: dict[int, bytes] = {}
        self._searches: dict[int, LoreExplanation] = {}
        self._next = len(self._places)
        """All turns above it are known."""
        if before is not None and before._setup == self._setup:
            shared = common_prefix(inputs.history, before.inputs.history)
            self._states = {
                turn: states
                for turn, states in before._states.items()
                if turn < len(before._places)
                and before._places[turn] <= shared
                and turn < len(self._places)
            }

    @property
    def turns(self) -> int:
        """The number of columns; the last one is the request itself."""
        return len(self._places) + 1

    @property
    def missing(self) -> int:
        """The number of columns that are not computed yet."""
        return self.turns - len(self._states)

    def column(self, turn: int) -> LoreColumn:
        """Return what is known of a turn besides lore."""
        history, is_past = self.inputs.history, turn < len(self._places)
        length = self._places[turn] if is_past else len(history)
        typed = not is_past and bool(self.inputs.draft or self.inputs.draft_parts)
        question = history[length - 1] if length and not typed else None
        return LoreColumn(turn + 1, question, history[length] if is_past else None)

    def name(self, entry: int) -> str:
        """Return the display name of an entry."""
        return entry_name(self.entries[entry][1])

    def origin(self, entry: int) -> Origin:
        """Return the origin of the content of an entry."""
        book, lore_entry = self.entries[entry]
        return entry_origin(book.name, lore_entry)

    def states(self, turn: int) -> bytes | None:
        """Return the `EntryState` of each entry; None if it is not computed yet."""
        return self._states.get(turn)

    def compute(self, turn: int) -> bytes:
        """Return the `EntryState` of each entry in a turn."""
        if turn not in self._states:
            self._states[turn] = self._search(turn).states
        return self._states[turn]

    def compute_next(self) -> bool:
        """Compute the newest turn that is not known; return False if all are known."""
        while self._next in self._states:
            self._next -= 1
        if self._next >= 0:
            self.compute(self._next)
        return self._next >= 0

    def outcome(self, turn: int, entry: int) -> LoreOutcome:
        """Return what became of an entry in a turn, with a sentence."""
        return self._explained(turn).outcome(entry)

    def budgets(self, turn: int) -> tuple[LoreBudgetUse, ...]:
        """Return what the entries of a turn use of each budget."""
        return self._explained(turn).budgets()

    def _explained(self, turn: int) -> LoreExplanation:
        if turn not in self._searches:
            if len(self._searches) >= _SENTENCES_KEPT:
                del self._searches[next(iter(self._searches))]
            self._searches[turn] = self._search(turn)
        return self._searches[turn]

    def _search(self, turn: int) -> LoreExplanation:
        inputs = self._turns[turn] if turn < len(self._places) else self.inputs
        return LoreExplanation(inputs, lore_counter(inputs))

    def with_state(self, turn: int, state: EntryState) -> Iterator[int]:
        """Yield the entries that have a state in a turn."""
        for entry, entry_state in enumerate(self.compute(turn)):
            if entry_state == state:
                yield entry

    def change(self, turn: int, entry: int, step: int) -> int | None:
        """Return the nearest computed turn before (-1) or after (1) with another state, or None."""
        was, turn = self.compute(turn)[entry], turn + step
        while 0 <= turn < self.turns and (states := self._states.get(turn)) is not None:
            if states[entry] != was:
                return turn
            turn += step
        return None


def lore_json(composed: Composed) -> dict[str, Any]:
    """Return `{"entries", "turns"}`: the outcome of each lore entry, and each turn's entries."""
    if composed.inputs is None:
        return {"entries": [], "turns": []}
    table = LoreTable(composed.inputs)
    newest = table.turns - 1
    outcomes = [table.outcome(newest, number) for number in range(len(table.entries))]
    names = [{"book": outcome.book, "entry": outcome.entry} for outcome in outcomes]

    def turn_json(turn: int) -> dict[str, Any]:
        reply = table.column(turn).reply
        return {
            "reply": reply.id if reply is not None else None,
            "active": [names[entry] for entry in table.with_state(turn, EntryState.ACTIVE)],
            "held_back": [names[entry] for entry in table.with_state(turn, EntryState.HELD_BACK)],
        }

    return {
        "entries": [
            {
                **name,
                "name": outcome.name,
                "state": outcome.state.name.lower(),
                "sentence": outcome.sentence,
                "message": outcome.message_id or None,
            }
            for name, outcome in zip(names, outcomes, strict=True)
        ],
        "turns": [turn_json(turn) for turn in range(table.turns)],
    }
