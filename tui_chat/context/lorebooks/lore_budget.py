"""The tokens of lore entries: each book's budget, and the session's.

The session's budget counts the texts of a round together, and of earlier rounds those whose content
is searched, as SillyTavern does: an entry with which they reach the budget is left out, and after
it all others but those that ignore the budget.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.book_index import (
    RankedEntry,
    entry_name,
    entry_origin,
    resolve_entry,
)
from tui_chat.context.parameters import context_limit, parameters, reply_reserve
from tui_chat.context.resolved_message import NO_EXPANSIONS, text_of
from tui_chat.models.envelope import Level, Note
from tui_chat.tokens import Counter

_FRAMING = 6
"""Tokens that SillyTavern's count of a text adds."""


class LoreBudget:
    """What the entries of one request cost."""

    def __init__(self, inputs: Inputs, count: Counter) -> None:
        self._inputs = inputs
        self._count = count
        self._limit = _session_limit(inputs)
        self._round = ""
        """The contents of this round."""
        self._searched = ""
        """The contents of earlier rounds that are searched."""
        self._next_searched: list[str] = []
        self._spent: dict[int, int] = {}
        """Tokens, by book."""
        self._left_out: dict[int, list[RankedEntry]] = {}
        """Entries that exceeded their book's budget. A book in here adds no more."""
        self._beyond: list[RankedEntry] = []
        """Entries that exceeded the session's budget."""

    @property
    def overflowed(self) -> bool:
        """True if the session's budget is used up."""
        return bool(self._beyond)

    def begin_round(self) -> None:
        """Begin a round of activation."""
        if self._next_searched:
            self._searched = "\n".join(self._next_searched) + "\n" + self._searched
        self._round, self._next_searched = "", []

    def charge(self, candidate: RankedEntry, content: str) -> bool:
        """Charge an entry with its expanded content; return False if it does not fit."""
        entry = candidate.keyed.entry
        if not self._charge_session(candidate, content):
            return False
        budget, number = candidate.book.token_budget, candidate.number
        if budget is None or entry.ignore_budget:
            return True
        line = resolve_entry(candidate.indexed, entry, "")
        cost = self._count.alone(text_of(line, NO_EXPANSIONS))
        spent = self._spent.get(number, 0) + cost
        if number in self._left_out or spent > budget:
            self._left_out.setdefault(number, []).append(candidate)
            return False
        self._spent[number] = spent
        return True

    def _charge_session(self, candidate: RankedEntry, content: str) -> bool:
        if self._limit is None:
            return True
        entry = candidate.keyed.entry
        if self._beyond and not entry.ignore_budget:
            self._beyond.append(candidate)
            return False
        self._round += f"{content}\n"
        if not entry.ignore_budget:
            tokens = self._tokens(self._searched) + self._tokens(self._round)
            if tokens >= self._limit:
                self._beyond.append(candidate)
                return False
        if not entry.prevent_recursion:
            self._next_searched.append(content)
        return True

    def _tokens(self, text: str) -> int:
        return self._count.count(text) + _FRAMING if text else 0

    def notes(self) -> Iterator[Note]:
        """Yield notes about the entries that were left out."""
        for number, candidates in self._left_out.items():
            book = self._inputs.lorebooks[number]
            names = ", ".join(f"“{entry_name(c.keyed.entry)}”" for c in candidates)
            sentence = (
                f"The lorebook “{book.name}” uses {self._spent.get(number, 0):,} of its "
                f"{book.token_budget:,} tokens; left out: {names}."
            )
            origin = entry_origin(book.name, candidates[0].keyed.entry)
            yield Note(Level.WARNING, "lore-left-out", sentence, origin)
        if self._beyond:
            first = self._beyond[0]
            names = ", ".join(f"“{entry_name(c.keyed.entry)}”" for c in self._beyond)
            sentence = f"Lore entries may use {self._limit:,} tokens; left out: {names}."
            origin = entry_origin(first.book.name, first.keyed.entry)
            yield Note(Level.WARNING, "lore-left-out", sentence, origin)


def _session_limit(inputs: Inputs) -> int | None:
    """Return the tokens that all entries may cost together; None for no limit."""
    rules = inputs.lore_rules
    limit = rules.token_budget
    if rules.budget_percent is not None:
        asked = parameters(inputs)
        context = context_limit(inputs, asked)
        if context is not None:
            room = context - reply_reserve(inputs, asked, context)
            limit = max(int(rules.budget_percent * room / 100 + 0.5), 1)
            if rules.budget_cap:
                limit = min(limit, rules.budget_cap)
    return limit
