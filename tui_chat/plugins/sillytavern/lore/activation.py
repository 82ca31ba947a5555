"""Lorebook activation: a contributor that adds the entries whose keys occur in the conversation.

1. The newest messages are searched, the draft being the newest; each entry or its book says how
   many. Depth 0 searches nothing. The names of the speakers stand before the texts, and the
   session's rules may have more messages searched until enough entries are active.
2. An entry is activated if it is constant, sticky from before, or if one of its keys occurs there
   and its secondary keys meet their condition. `conditions` says what may hold it back.
3. The content of activated entries is searched in turn and may activate others, as often as their
   book allows, but at most `MAX_ROUNDS` times, and `MAX_SEARCHED_ENTRIES` entries in all, with a
   note. `prevent_recursion` and `exclude_recursion` limit this, and the search goes on level by
   level of `delay_until_recursion`. Entries that lost in their group, or did not fit into the
   budget, take part in later rounds.
4. Of the entries of one group that a round activates, one remains. Then its `probability` is drawn
   once for an entry, a session and a number of messages.
5. Entries of higher `order` get their tokens first; at equal order the earlier book, then the
   earlier entry. The first entry that exceeds its book's budget ends that book, and the first that
   exceeds the session's budget ends the search, except for entries that ignore the budget. A note
   names the entries that were left out.
6. They are sent in reverse: the most important one is last, nearest to the newest message. Of those
   of the same `order` the one that was activated last is first.
7. The placement's sentence names the key that activated an entry and where it occurs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from tui_chat.context.inputs import NOTHING_TO_ADD, Contribution, Inputs
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.plugins.sillytavern.lore.book_index import (
    BookIndex,
    RankedEntry,
    book_index,
    entry_name,
    resolve_entry,
)
from tui_chat.plugins.sillytavern.lore.conditions import (
    LoreBudget,
    is_drawn,
    remaining,
    session_limit,
)
from tui_chat.plugins.sillytavern.lore.key_search import MAX_WIDER, OTHERS, KeyPlace, KeySearch
from tui_chat.plugins.sillytavern.lore.keys import NumberedEntry
from tui_chat.plugins.sillytavern.lore.rules import goes_by_position
from tui_chat.tokens import Counter

MAX_ROUNDS = 50
MAX_SEARCHED_ENTRIES = 500


def activate_lorebooks(inputs: Inputs, count: Counter) -> Contribution:
    """Return the activated entries as messages, and those for places by the place."""
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    books_index = book_index(inputs)
    search = Activation(inputs, count, books_index, session_limit(inputs))
    search.run()
    notes = [note for book in books_index.books for note in book.notes]
    messages: list[ResolvedMessage] = []
    by_position = goes_by_position(inputs.preset)
    places: dict[str, list[ResolvedMessage]] = {}
    for entry, line in search.lines():
        if by_position and entry.position:
            is_outlet = entry.position == "outlet"
            place = f"outlet {entry.outlet}" if is_outlet else entry.position
            places.setdefault(place, []).append(line)
        elif entry.position != "outlet":
            messages.append(line)
        else:
            sentence = (
                f"The lore entry {line.called} is active and not sent: the preset "
                f"“{inputs.preset.name}” has no outlets."
            )
            notes.append(Note(Level.WARNING, "lore-not-sent", sentence, line.origin))
    return Contribution(
        tuple(messages),
        (*notes, *search.left_out_notes()),
        {place: tuple(lines) for place, lines in places.items()},
    )


class Cause(NamedTuple):
    """What activates an entry."""

    kind: Literal["constant", "sticky", "blank key", "key"]
    key: int = -1
    where: KeyPlace = None
    """Where the key occurs."""


class Activation(KeySearch):
    """The rounds in which the entries of one request are activated."""

    def __init__(
        self, inputs: Inputs, count: Counter, books_index: BookIndex, limit: int | None
    ) -> None:
        """`limit`: the session's budget, see `session_limit`."""
        super().__init__(inputs, books_index)
        self._seed = f"{inputs.session_seed} {self.length}"
        """The seed of draws: the same for all requests for one reply."""
        self._budget = LoreBudget(self.books, count, limit)
        self.activated: dict[int, Cause] = {}
        """By rank, in the order of activation."""
        self.lost: set[int] = set()
        """Ranks of entries whose keys occur and that were not activated."""
        self._done: set[int] = set()
        """Ranks whose keys matched, whether or not they were drawn and fit the budget."""
        self._searched_entries: list[LorebookEntry] = []
        """The activated entries whose content is searched."""
        self._searched_ids: set[int] = set()
        """The identities of these and of the entries that `_unsearched` counts."""
        self._unsearched = 0
        """Number of further activated entries, whose content is not searched."""
        self._hit_round_limit = False
        """True if `MAX_ROUNDS` ended the search."""

    def run(self) -> None:
        """Activate entries, round by round."""
        levels = list(self.index.levels)
        level, state, searched = levels.pop(0) if levels else 0, "first", 0
        wanted = max((book.max_recursion for book in self.books), default=0) + 1
        rounds = min(wanted, MAX_ROUNDS + 1)
        step = 0
        while step - self._wider < rounds:
            before = len(self._searched_entries)
            self.search_content(self._searched_entries[searched:], searched)
            self._round(state, level)
            step += 1
            searched = before
            has_more = len(self._searched_entries) > before
            if state == "wider" and self.has_round_text:
                has_more = True
            if has_more and self.index.recursive and not self._budget.overflowed:
                state = "recursion"
            elif self._widens():
                state = "wider"
            elif levels:
                state, level = "recursion", levels.pop(0)
            else:
                return
        self._hit_round_limit = wanted > MAX_ROUNDS + 1

    def _widens(self) -> bool:
        """Search more messages, to the next key, if too few entries are active; else False."""
        rules = self._rules
        if self._budget.overflowed or len(self.activated) >= rules.min_activations:
            return False
        depth = max((book.scan_depth for book in self.books), default=0)
        most = min(rules.min_activations_depth or self.length, self.length)
        left = min(most - depth + 1, MAX_WIDER) - self._wider
        if left <= 0:
            return False
        self._wider += min(self._steps_to_next_key(), left)
        return True

    def _steps_to_next_key(self) -> int:
        """Return how many messages more are to be searched for the next key that occurs."""
        if any(each.keyed.in_all_texts for each in self.index.candidates):
            return 1
        steps = (
            place - book.scan_depth - self._wider
            for book, first in zip(self.books, self.first_in_texts, strict=True)
            for place in first.values()
        )
        return 1 + min((step for step in steps if step >= 0), default=MAX_WIDER)

    def _round(self, state: str, level: int) -> None:
        """Activate the entries that one round finds."""
        found: dict[int, Cause] = {}
        for rank in self.possible():
            if rank in self._done:
                continue
            if self._may_activate(rank, state, level) and (cause := self.cause(rank, state)):
                found[rank] = cause
        if not found:
            return
        candidates = self.index.candidates
        sticky = {rank for rank in found if self.conditions.is_sticky(candidates[rank])}
        ranks = sorted(found, key=lambda rank: rank not in sticky)
        kept = remaining(
            {rank: candidates[rank].keyed.entry for rank in ranks},
            [candidates[rank].keyed.entry for rank in self.activated],
            sticky,
            self._rules.group_scoring,
            lambda rank: self._score(rank, state),
            self._seed,
        )
        self._budget.begin_round()
        for rank in ranks:
            candidate = candidates[rank]
            if rank not in kept:
                self.lost.add(rank)
            elif not (rank in sticky or is_drawn(candidate, self._seed)):
                self.lost.add(rank)
                self._done.add(rank)
            elif self._budget.charge(candidate, self.content(candidate.keyed.entry)):
                self._done.add(rank)
                self.lost.discard(rank)
                self.activated[rank] = found[rank]
                self._add_searched(candidate)
            else:
                self.lost.add(rank)
                self._add_searched(candidate)  # if the search goes on

    def _add_searched(self, candidate: RankedEntry) -> None:
        """Have the content of an entry searched in the following rounds."""
        entry = candidate.keyed.entry
        if entry.prevent_recursion or id(entry) in self._searched_ids:
            return
        self._searched_ids.add(id(entry))
        if len(self._searched_entries) < MAX_SEARCHED_ENTRIES:
            self._searched_entries.append(entry)
        else:
            self._unsearched += 1

    def _may_activate(self, rank: int, state: str, level: int) -> bool:
        """True if the round may activate an entry whose keys occur."""
        candidate = self.index.candidates[rank]
        entry, book = candidate.keyed.entry, candidate.book
        if self.conditions.hold_back(candidate):
            return False
        if self.conditions.is_sticky(candidate):
            return True
        if state != "recursion":
            return not entry.delay_until_recursion
        if entry.delay_until_recursion > level:
            return False
        return not (book.recursive and entry.exclude_recursion)

    def cause(self, rank: int, state: str) -> Cause | None:
        """Return what activates an entry; None if nothing does."""
        candidate = self.index.candidates[rank]
        keyed = candidate.keyed
        if keyed.entry.constant:
            return Cause("constant")
        if self.conditions.is_sticky(candidate):
            return Cause("sticky")
        places = self.places(candidate, state)
        if not _secondary_hold(keyed, places.keys()):
            return None
        newest = self.newest_key(candidate, places)
        if keyed.has_blank_key and (newest is None or places[newest.key][0] >= OTHERS):
            return Cause("blank key")
        return newest

    def newest_key(
        self, candidate: RankedEntry, places: Mapping[int, tuple[int, KeyPlace]]
    ) -> Cause | None:
        """Return the primary key that occurs in the newest of these places; None for none."""
        keys = [key for key in candidate.keyed.keys if key in places]
        if not keys:
            return None
        key = min(keys, key=lambda each: places[each][0])
        return Cause("key", key, places[key][1])

    def why(self, rank: int, cause: Cause) -> str:
        """Return what activates an entry, as a sentence."""
        candidate = self.index.candidates[rank]
        match cause.kind:
            case "constant":
                return "This lore entry is always active."
            case "sticky":
                end = self.conditions.end_of_sticky(candidate)
                return f"This lore entry stays active until there are {end:,} messages."
            case "blank key":
                return "This lore entry is active because one of its keys is blank."
            case "key":
                return f"This lore entry is active because {self.key_occurs(candidate, cause)}."

    def key_occurs(self, candidate: RankedEntry, cause: Cause) -> str:
        """Say which key occurs, and where."""
        index, where, place = candidate.indexed.index, cause.where, "the draft"
        match where:
            case Message():
                place = MessageOrigin(where).label
            case LorebookEntry():
                place = f"the lore entry “{entry_name(where)}”"
            case str():
                place = f"the {where}"
            case None:
                pass
        if self.prefixes and (where is None or isinstance(where, Message)):
            text = self._inputs.draft if where is None else where.content
            is_reply = where is not None and where.role == "assistant"
            name = (where.name if where is not None else "") or self.prefixes[is_reply]
            if cause.key in index.in_string(name) - index.in_string(text):
                place = f"the speaker's name before {place}"
        return f"“{index.with_names(index.keys[cause.key].text)}” occurs in {place}"

    def _score(self, rank: int, state: str) -> int:
        """Return how many keys of an entry occur; those with macros do not count."""
        candidate = self.index.candidates[rank]
        keyed, known = candidate.keyed, candidate.indexed.index.keys
        places = self.places(candidate, state)
        if not keyed.keys:
            return 0

        def occurring(keys: tuple[int, ...]) -> int:
            return sum(key in places and "{{" not in known[key].text for key in keys)

        primary, secondary = occurring(keyed.keys), occurring(keyed.secondary)
        match keyed.entry.secondary_logic:
            case "and_any":
                return primary + secondary
            case "and_all" if secondary == len(keyed.secondary):
                return primary + secondary
            case _:
                return primary

    def tokens(self, rank: int) -> int:
        """Return what an entry costs, as the budgets of books count it."""
        return self._budget.cost(self.index.candidates[rank])

    def spent(self, number: int) -> int:
        """Return what the entries of a book with a budget cost together."""
        return self._budget.spent(number)

    def left_out_notes(self) -> Iterator[Note]:
        """Yield notes about entries that did not fit and texts that were not searched."""
        if self._hit_round_limit:
            sentence = f"Lore entries activated others for {MAX_ROUNDS} rounds, the maximum."
            yield Note(Level.WARNING, "lore-not-searched", sentence)
        if self._unsearched:
            sentence = (
                f"The content of {MAX_SEARCHED_ENTRIES:,} active lore entries was searched for "
                f"keys; that of {self._unsearched:,} more was not."
            )
            yield Note(Level.WARNING, "lore-not-searched", sentence)
        yield from self._budget.notes()

    def lines(self) -> Iterator[tuple[LorebookEntry, ResolvedMessage]]:
        """Yield the activated entries with their messages, the most important last."""
        candidates = self.index.candidates
        latest_first = tuple(reversed(self.activated))
        for rank in sorted(latest_first, key=lambda rank: candidates[rank].keyed.entry.order):
            entry, indexed = candidates[rank].keyed.entry, candidates[rank].indexed
            yield entry, resolve_entry(indexed, entry, self.why(rank, self.activated[rank]))


def _secondary_hold(keyed: NumberedEntry, occurring: Collection[int]) -> bool:
    occur = [*(key in occurring for key in keyed.secondary), *keyed.blanks]
    if not occur:
        return True
    match keyed.entry.secondary_logic:
        case "and_any":
            return any(occur)
        case "and_all":
            return all(occur)
        case "not_any":
            return not any(occur)
        case "not_all":
            return not all(occur)
