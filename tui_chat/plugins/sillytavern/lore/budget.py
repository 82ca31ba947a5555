"""The token budgets of lore: that of a session, and those of books.

1. The session's is SillyTavern's: the texts of a round and the searched texts of earlier rounds
   must stay below it. The first entry that does not ends the search, but for those that ignore it.
2. A book's own: the first entry that exceeds it ends that book.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tui_chat.context.inputs import Inputs, context_limit, parameters, reply_reserve
from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import GLUE, Text
from tui_chat.plugins.sillytavern.lore.index import Candidate, entry_name, entry_origin
from tui_chat.plugins.sillytavern.lore.rules import search_rules
from tui_chat.tokens import Counter

_FRAMING = 6
"""Tokens that the count of a text on its own adds."""
_BETWEEN = 4
"""More than the tokens that a line break and the joint of two texts add."""
_SPECIAL = 8
"""More than the tokens that a vocabulary puts around two texts."""


@lru_cache(maxsize=4096)
def _tokens(count: Counter, text: str) -> int:
    return count.count(text)


@lru_cache(maxsize=4096)
def entry_tokens(count: Counter, content: str) -> int:
    """Return the tokens of an entry with this content, as the budgets of books count it."""
    return count.alone(Text.of(content, GLUE))


class LoreBudget:
    """What the entries of one request cost."""

    def __init__(self, count: Counter, limit: int | None) -> None:
        """`limit` is what all entries must cost less than together; None for no limit."""
        self._count = count
        self._limit = limit
        self._round = ""
        """The contents of this round."""
        self._searched = ""
        """The contents of earlier rounds that are searched, those of the latest round first."""
        self._next_searched = ""
        self._most = 0
        """At least the tokens of all these texts."""
        self.spent: dict[str, int] = {}
        """Tokens by the names of books with a budget."""
        self._left_out: dict[str, list[Candidate]] = {}
        """Entries that exceeded their book's budget. A book in here adds no more."""
        self._beyond: list[Candidate] = []
        """Entries that exceeded the session's budget."""

    @property
    def overflowed(self) -> bool:
        """True if the session's budget is used up."""
        return bool(self._beyond)

    def begin_round(self) -> None:
        """Begin a round of activation."""
        self._searched = self._next_searched + self._searched
        self._round = self._next_searched = ""

    def charge(self, candidate: Candidate, content: str) -> bool:
        """Charge an entry with its expanded content; return False if it does not fit."""
        entry, book = candidate.entry, candidate.book
        if self._limit is not None and not self._charge_session(candidate, content, self._limit):
            return False
        if book.token_budget is None or entry.ignore_budget:
            return True
        spent = self.spent.get(book.name, 0) + entry_tokens(self._count, entry.content)
        if book.name in self._left_out or spent > book.token_budget:
            self._left_out.setdefault(book.name, []).append(candidate)
            return False
        self.spent[book.name] = spent
        return True

    def _charge_session(self, candidate: Candidate, content: str, limit: int) -> bool:
        entry = candidate.entry
        if self._beyond and not entry.ignore_budget:
            self._refuse(candidate)
            return False
        self._round += content + "\n"
        self._most += _tokens(self._count, content) + _BETWEEN
        if not entry.ignore_budget and self._reaches(limit):
            self._refuse(candidate)
            return False
        if not entry.prevent_recursion:
            self._next_searched += content + "\n"
        return True

    def _refuse(self, candidate: Candidate) -> None:
        if not any(each is candidate for each in self._beyond):
            self._beyond.append(candidate)

    def _reaches(self, limit: int) -> bool:
        """True if the texts reach a limit: counted together only if they do apart."""
        if self._most + _SPECIAL + 2 * _FRAMING < limit:
            return False
        texts = [text for text in (self._searched, self._round) if text]
        return limit <= sum(self._count.count(text) + _FRAMING for text in texts)

    def notes(self) -> Iterator[Note]:
        """Yield notes about the entries that were left out."""
        for name, candidates in self._left_out.items():
            spent, budget = self.spent.get(name, 0), candidates[0].book.token_budget
            yield _left_out(
                f"The lorebook “{name}” uses {spent:,} of its {budget:,} tokens", candidates
            )
        if self._beyond:
            yield _left_out(f"Lore entries may use {self._limit:,} tokens", self._beyond)


def _left_out(words: str, candidates: Sequence[Candidate]) -> Note:
    names = ", ".join(f"“{entry_name(candidate.entry)}”" for candidate in candidates)
    origin = entry_origin(candidates[0].book.name, candidates[0].entry)
    return Note(Level.WARNING, "lore-left-out", f"{words}; left out: {names}.", origin)


def session_limit(inputs: Inputs) -> int | None:
    """Return the tokens that all entries may cost together; None for no limit."""
    rules = search_rules(inputs)
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
