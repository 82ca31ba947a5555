"""What holds an entry back besides its keys: filters and timing; and what it is searched for in.

1. An entry may be limited to kinds of generation, to roles by name, and to roles by tag.
2. `delay`: not before there are so many messages. `sticky`: active for so many messages once it
   was; `cooldown`: paused for so many messages after that. The session keeps both as timers; one
   that began with as many messages as there are now does not hold, since messages were removed,
   unless it is protected. A cooldown follows when a sticky entry ends.
3. Sources are texts besides the conversation that are searched for an entry's keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import draw_number
from tui_chat.context.parameters import context_limit, parameters, reply_reserve
from tui_chat.context.resolved_message import NO_EXPANSIONS, text_of
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import Lorebook, LorebookEntry, MatchSource
from tui_chat.models.settings import LoreTimer
from tui_chat.plugins.sillytavern.lore.book_index import (
    RankedEntry,
    entry_name,
    entry_origin,
    resolve_entry,
)
from tui_chat.plugins.sillytavern.lore.rules import search_rules
from tui_chat.tokens import Counter

_FRAMING = 6
"""Tokens that the count of a text on its own adds."""
_BETWEEN = 4
"""More than the tokens that a line break and the joint of two texts add."""
_SPECIAL = 8
"""More than the tokens that a vocabulary puts around two texts."""


def is_drawn(candidate: RankedEntry, seed: str) -> bool:
    """True if an entry's probability lets it be active: the same for a seed."""
    chance, entry = candidate.keyed.entry.probability, candidate.keyed.entry
    if chance >= 100:
        return True
    draw = draw_number(seed, "lore", candidate.book.name, entry.id)
    return draw % 1_000_000 < chance * 10_000


class Conditions:
    """What holds the entries of one request back."""

    def __init__(self, inputs: Inputs, length: int) -> None:
        self._inputs = inputs
        self._kind = inputs.chat.kind
        self._length = length
        """Messages of the conversation, the draft included."""
        role = inputs.active_role
        self._name = "" if role is None else role.name
        self._card = None if role is None else role.character
        self._tags = self._card.tags if self._card is not None else ()
        timers = inputs.chat.timers
        self._sticky = {(t.book, t.entry): t for t in timers if t.kind == "sticky"}
        self._cooldown = {(t.book, t.entry): t for t in timers if t.kind == "cooldown"}

    def hold_back(self, candidate: RankedEntry) -> bool:
        """True if a filter or the timing holds an entry back."""
        entry = candidate.keyed.entry
        if entry.triggers and self._kind not in entry.triggers:
            return True
        if entry.characters and (self._name in entry.characters) is entry.characters_excluded:
            return True
        has_tag = not set(self._tags).isdisjoint(entry.character_tags)
        if entry.character_tags and has_tag is entry.characters_excluded:
            return True
        return self._length < entry.delay or self._is_in_cooldown(candidate)

    def _is_in_cooldown(self, candidate: RankedEntry) -> bool:
        entry, key = candidate.keyed.entry, (candidate.book.name, candidate.keyed.entry.id)
        if not (entry.cooldown and (self._cooldown or self._sticky)):
            return False
        if entry.sticky and self._has_ended(self._sticky.get(key)):
            return True
        timer = self._cooldown.get(key)
        return timer is not None and self._is_running(timer) and not self.is_sticky(candidate)

    def is_sticky(self, candidate: RankedEntry) -> bool:
        """True if an entry stays active from an earlier request."""
        if not (self._sticky and candidate.keyed.entry.sticky):
            return False
        timer = self._sticky.get((candidate.book.name, candidate.keyed.entry.id))
        return timer is not None and self._is_running(timer)

    def end_of_sticky(self, candidate: RankedEntry) -> int:
        """Return the number of messages until which a sticky entry stays active."""
        return self._sticky[candidate.book.name, candidate.keyed.entry.id].end

    def _is_running(self, timer: LoreTimer) -> bool:
        return self._length < timer.end and (timer.start < self._length or timer.protected)

    def _has_ended(self, timer: LoreTimer | None) -> bool:
        return timer is not None and timer.start < self._length and self._length >= timer.end

    def source_texts(self, entry: LorebookEntry) -> Iterator[tuple[str, str]]:
        """Yield the texts in which an entry's keys are searched for: their names, their content."""
        for source in entry.sources:
            yield source.replace("_", " "), self._source(source)

    def _source(self, source: MatchSource) -> str:
        card = self._card
        if source == "persona":
            return self._inputs.profile.content if self._inputs.profile is not None else ""
        if card is None:
            return ""
        match source:
            case "depth_prompt":
                return card.depth_prompt.content if card.depth_prompt is not None else ""
            case _:
                return getattr(card, source)


def remaining(
    found: Mapping[int, LorebookEntry],
    active: Sequence[LorebookEntry],
    sticky: set[int],
    scoring: bool,
    score: Callable[[int], int],
    seed: str,
) -> list[int]:
    """Return the ranks that remain of `found`, entries by rank in the order of their importance.

    `active` are the entries of earlier rounds, `sticky` the ranks that stay active; `score` counts
    the matching keys of a rank.
    """
    kept = list(found)
    if not any(entry.groups for entry in found.values()):
        return kept

    def remove(ranks: Iterable[int]) -> None:
        for rank in ranks:
            if rank in kept:
                kept.remove(rank)
            elif kept:  # one that was removed already takes the last one with it
                kept.pop()

    groups: dict[str, list[int]] = {}
    for rank, entry in found.items():
        for group in entry.groups:
            groups.setdefault(group, []).append(rank)
    taken = {entry.groups[0] for entry in active if len(entry.groups) == 1}
    with_sticky = {name for name, ranks in groups.items() if not sticky.isdisjoint(ranks)}
    for name, ranks in groups.items():
        if name in with_sticky:
            remove(rank for rank in ranks if rank not in sticky)
    for name, ranks in groups.items():
        if name not in with_sticky and any(scoring or found[rank].group_scoring for rank in ranks):
            lower = _with_lower_score(ranks, found, scoring, score)
            remove(lower)
            groups[name] = [rank for rank in ranks if rank not in lower]
    for name, ranks in groups.items():
        if name in with_sticky:
            continue
        winner = None if name in taken else _winner(name, ranks, found, seed)
        remove(rank for rank in ranks if rank != winner)
    return kept


def _with_lower_score(
    ranks: Sequence[int],
    found: Mapping[int, LorebookEntry],
    scoring: bool,
    score: Callable[[int], int],
) -> list[int]:
    """Return the ranks that do not have the highest score, of those that are scored."""
    scores = {rank: score(rank) for rank in ranks}
    most = max(scores.values())
    return [
        rank
        for rank in ranks
        if scores[rank] < most and (scoring if (own := found[rank].group_scoring) is None else own)
    ]


def _winner(
    name: str, ranks: Sequence[int], found: Mapping[int, LorebookEntry], seed: str
) -> int | None:
    if len(ranks) < 2:
        return next(iter(ranks), None)
    overriding = [rank for rank in ranks if found[rank].group_override]
    if overriding:
        return max(overriding, key=lambda rank: found[rank].order)
    weights = [found[rank].group_weight for rank in ranks]
    place = draw_number(seed, "lore group", name) % max(sum(weights), 1)
    for rank, weight in zip(ranks, weights, strict=True):
        if place < weight:
            return rank
        place -= weight
    return ranks[-1]


@lru_cache(maxsize=4096)
def _tokens(count: Counter, text: str) -> int:
    return count.count(text)


class LoreBudget:
    """What the entries of one request cost."""

    def __init__(self, books: Sequence[Lorebook], count: Counter, limit: int | None) -> None:
        """`limit` is what all entries must cost less than together; None for no limit."""
        self._books = books
        self._count = count
        self._limit = limit
        self._round = ""
        """The contents of this round."""
        self._searched = ""
        """The contents of earlier rounds that are searched, those of the latest round first."""
        self._next_searched = ""
        self._most = 0
        """At least the tokens of all these texts."""
        self._spent: dict[int, int] = {}
        """Tokens, by book."""
        self._left_out: dict[int, list[RankedEntry]] = {}
        """Entries that exceeded their book's budget. A book in here adds no more."""
        self._beyond: dict[int, RankedEntry] = {}
        """Entries that exceeded the session's budget, by their identity."""

    @property
    def overflowed(self) -> bool:
        """True if the session's budget is used up."""
        return bool(self._beyond)

    def begin_round(self) -> None:
        """Begin a round of activation."""
        self._searched = self._next_searched + self._searched
        self._round = self._next_searched = ""

    def charge(self, candidate: RankedEntry, content: str) -> bool:
        """Charge an entry with its expanded content; return False if it does not fit."""
        entry = candidate.keyed.entry
        if self._limit is not None and not self._charge_session(candidate, content, self._limit):
            return False
        budget, number = candidate.book.token_budget, candidate.number
        if budget is None or entry.ignore_budget:
            return True
        spent = self.spent(number) + self.cost(candidate)
        if number in self._left_out or spent > budget:
            self._left_out.setdefault(number, []).append(candidate)
            return False
        self._spent[number] = spent
        return True

    def cost(self, candidate: RankedEntry) -> int:
        """Return the tokens of an entry."""
        line = resolve_entry(candidate.indexed, candidate.keyed.entry, "")
        return self._count.alone(text_of(line, NO_EXPANSIONS))

    def spent(self, number: int) -> int:
        """Return the tokens that the entries of a book were charged."""
        return self._spent.get(number, 0)

    def _charge_session(self, candidate: RankedEntry, content: str, limit: int) -> bool:
        entry = candidate.keyed.entry
        if self._beyond and not entry.ignore_budget:
            self._beyond[id(entry)] = candidate
            return False
        self._round += content + "\n"
        self._most += _tokens(self._count, content) + _BETWEEN
        if not entry.ignore_budget and self._reaches(limit):
            self._beyond[id(entry)] = candidate
            return False
        if not entry.prevent_recursion:
            self._next_searched += content + "\n"
        return True

    def _reaches(self, limit: int) -> bool:
        """True if the texts reach a limit: counted together only if they do apart."""
        if self._most + _SPECIAL + 2 * _FRAMING < limit:
            return False
        texts = [text for text in (self._searched, self._round) if text]
        return limit <= sum(self._count.count(text) + _FRAMING for text in texts)

    def notes(self) -> Iterator[Note]:
        """Yield notes about the entries that were left out."""
        for number, candidates in self._left_out.items():
            book = self._books[number]
            words = f"The lorebook “{book.name}” uses {self.spent(number):,} of its "
            yield _left_out(f"{words}{book.token_budget:,} tokens", candidates)
        if self._beyond:
            yield _left_out(
                f"Lore entries may use {self._limit:,} tokens", [*self._beyond.values()]
            )


def _left_out(words: str, candidates: Sequence[RankedEntry]) -> Note:
    names = ", ".join(f"“{entry_name(candidate.keyed.entry)}”" for candidate in candidates)
    origin = entry_origin(candidates[0].book.name, candidates[0].keyed.entry)
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
