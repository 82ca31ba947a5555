"""Lorebook activation: a contributor that adds the entries whose keys occur in the conversation.

1. The newest messages of user and assistant are searched, the draft being the newest; each entry
   or its book says how many. Depth 0 searches nothing. The session's rules may put the names of the
   speakers before the texts, and search more messages until enough entries are active.
2. An entry is activated if it is constant, sticky from before, or if one of its keys occurs there
   and its secondary keys meet their condition. `conditions` says what may hold it back.
3. The content of activated entries is searched in turn and may activate others, as often as their
   book allows, but at most `MAX_ROUNDS` times, and `MAX_SEARCHED_ENTRIES` entries in all, with a
   note. `prevent_recursion`, `exclude_recursion` and `delay_until_recursion` limit this.
4. Of the entries of one group that a round activates, one remains. Then its `probability` is drawn
   once for an entry, a session and a number of messages.
5. Entries of higher `order` get their tokens first; at equal order the earlier book, then the
   earlier entry. The first entry that exceeds its book's budget ends that book, and the first that
   exceeds the session's budget ends the search, except for entries that ignore the budget. A note
   names the entries that were left out.
6. They are sent in reverse: the most important one is last, nearest to the newest message.
7. The placement's sentence names the key that activated an entry and where it occurs.

The `LoreDialect` of the preset's builder may have other rules for 1, 3, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tui_chat.context.inputs import NOTHING_TO_ADD, Contribution, Inputs
from tui_chat.context.lorebooks.book_index import (
    BookIndex,
    RankedEntry,
    book_index,
    entry_name,
    resolve_entry,
)
from tui_chat.context.lorebooks.conditions import LoreBudget, is_drawn, remaining, session_limit
from tui_chat.context.lorebooks.key_search import MAX_WIDER, KeySearch
from tui_chat.context.lorebooks.keys import NumberedEntry
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.tokens import Counter

MAX_ROUNDS = 50
MAX_SEARCHED_ENTRIES = 500


def activate_lorebooks(inputs: Inputs, count: Counter) -> Contribution:
    """Return the activated entries as messages, and those for places by the place."""
    if not inputs.searched_lorebooks:
        return NOTHING_TO_ADD
    books_index = book_index(inputs)
    search = Activation(inputs, count, books_index, session_limit(inputs))
    search.run()
    notes = [note for book in books_index.books for note in book.notes]
    messages: list[ResolvedMessage] = []
    places: dict[str, list[ResolvedMessage]] = {}
    for entry, line in search.lines():
        if inputs.rules.lore.has_positions and entry.position:
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


KeyPlace: TypeAlias = Message | LorebookEntry | str | None
"""Where a key occurs: a message, the content of an active entry, another text by its name; None for
the typed draft."""


class Cause(NamedTuple):
    """What activates an entry."""

    kind: Literal["constant", "sticky", "blank key", "text", "entry", "other"]
    key: int = -1
    where: KeyPlace = None
    """Where the key occurs."""
    secondary: Mapping[int, KeyPlace] = {}
    """The secondary keys that occur, and where."""


class Activation(KeySearch):
    """The rounds in which the entries of one request are activated."""

    def __init__(
        self, inputs: Inputs, count: Counter, books_index: BookIndex, limit: int | None
    ) -> None:
        """`limit`: the session's budget, see `session_limit`."""
        super().__init__(inputs, books_index)
        self._seed = f"{inputs.session_seed} {self.length}"
        """The seed of draws: the same for all requests for one reply."""
        self._budget = LoreBudget(inputs.searched_lorebooks, count, limit)
        self.activated: dict[int, Cause] = {}
        """By rank, in the order of activation."""
        self._done: set[int] = set()
        """Ranks whose keys matched, whether or not they were drawn and fit the budget."""
        self._searched_entries: list[LorebookEntry] = []
        """The activated entries whose content is searched."""
        self._unsearched = 0
        """Number of further activated entries, whose content is not searched."""
        self._hit_round_limit = False
        """True if `MAX_ROUNDS` ended the search."""
        self.lost: dict[int, tuple[str, Cause]] = {}
        """By rank, of entries whose keys occur and that were not activated: the rule that held each
        back, and why it would be active."""

    def run(self) -> None:
        """Activate entries, round by round."""
        levels = sorted(self.index.levels) if self.dialect.has_recursion_levels else []
        level, state, searched = levels.pop(0) if levels else 0, "first", 0
        rounds = self.index.rounds
        if self.dialect.has_recursion_levels:
            rounds = max(book.max_recursion for book in self._inputs.searched_lorebooks) + 1
        rounds = min(rounds, MAX_ROUNDS + 1)
        step = 0
        while step - self._wider < rounds:
            searched_before = len(self._searched_entries)
            for number, book in enumerate(self.index.books):
                for entry in self._searched_entries[searched:]:
                    for key in self._occurring(number, book.index, entry):
                        self.first_in_entries[number].setdefault(key, entry)
            self.add_round_text(self._searched_entries[searched:])
            self._round(step, state, level)
            step += 1
            searched = searched_before
            has_more = len(self._searched_entries) > searched_before
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
        self._hit_round_limit = self.index.rounds > MAX_ROUNDS + 1

    def _widens(self) -> bool:
        """Search more messages, to the next key, if too few entries are active; else False."""
        rules = self._rules
        if self._budget.overflowed or len(self.activated) >= rules.min_activations:
            return False
        depth = max((book.scan_depth for book in self._inputs.searched_lorebooks), default=0)
        most = min(rules.min_activations_depth or self.length, self.length)
        left = min(most - depth + 1, MAX_WIDER) - self._wider
        if left <= 0:
            return False
        self._wider += min(self._steps_to_next_key(), left)
        return True

    def _steps_to_next_key(self) -> int:
        """Return how many messages more are to be searched for the next key that occurs."""
        if self.index.has_keys_in_all_texts:  # which may end with any message
            return 1
        books = self._inputs.searched_lorebooks
        return 1 + min(
            (
                place - book.scan_depth - self._wider
                for book, first in zip(books, self.first_in_texts, strict=True)
                for place in first.values()
                if place >= book.scan_depth + self._wider
            ),
            default=MAX_WIDER,
        )

    def _round(self, step: int, state: str, level: int) -> None:
        """Activate the entries that one round finds."""
        found: dict[int, Cause] = {}
        for rank in sorted(self.possible() - self._done):
            if self._may_activate(rank, step, state, level) and (cause := self.cause(rank, state)):
                found[rank] = cause
        if not found:
            return
        candidates = self.index.candidates
        sticky = {rank for rank in found if self.conditions.is_sticky(candidates[rank])}
        ranks = sorted(found, key=lambda rank: rank not in sticky)
        active = [candidates[rank].keyed.entry for rank in self.activated]
        kept = set(
            remaining(
                {rank: candidates[rank].keyed.entry for rank in ranks},
                active,
                sticky,
                self._rules.group_scoring,
                lambda rank: self._score(rank, state),
                self._seed,
            )
        )
        self._budget.begin_round()
        for rank in ranks:
            candidate = candidates[rank]
            if not self.dialect.has_recursion_levels:
                self._done.add(rank)
            entry = candidate.keyed.entry
            if rank not in kept:
                rule = self._rule_of_group(entry, (*self.activated, *sorted(kept)))
            elif not (rank in sticky or is_drawn(candidate, self._seed)):
                rule = f"Its probability of {entry.probability:g} % was not drawn."
                self._done.add(rank)
            elif self._budget.charge(candidate, self._content(entry)):
                self._done.add(rank)
                self.lost.pop(rank, None)
                self.activated[rank] = found[rank]
                self._add_searched(candidate)
                continue
            else:
                rule = "It does not fit into the token budget of lore."
                if self.dialect.has_recursion_levels and self.lost.get(rank, ("",))[0] != rule:
                    # it is searched, if the search goes on
                    self._add_searched(candidate)
            self.lost[rank] = rule, found[rank]

    def _rule_of_group(self, entry: LorebookEntry, chosen: Iterable[int]) -> str:
        """Say that another entry of a group was chosen, and which if it is among these ranks."""
        for rank in chosen:
            other = self.index.candidates[rank].keyed.entry
            if common := [group for group in entry.groups if group in other.groups]:
                return f"Of its group “{common[0]}”, “{entry_name(other)}” was chosen."
        groups = ", ".join(f"“{group}”" for group in entry.groups)
        return f"Another entry of its group {groups} was chosen."

    def _add_searched(self, candidate: RankedEntry) -> None:
        """Have the content of an entry searched in the following rounds."""
        entry = candidate.keyed.entry
        is_recursive = candidate.book.recursive or self.dialect.has_recursion_levels
        if is_recursive and not entry.prevent_recursion:
            if len(self._searched_entries) < MAX_SEARCHED_ENTRIES:
                self._searched_entries.append(entry)
            else:
                self._unsearched += 1

    def possible(self) -> set[int]:
        """Return the ranks that have a matching key or need none."""
        books_index = self.index
        ranks = {*books_index.constants, *self.conditions.sticky_ranks(books_index)}
        if self.dialect.searches_sources or self.dialect.takes_blank_keys:
            ranks.update(books_index.with_sources)
        for number in range(len(books_index.books)):
            depth = books_index.scan_depths[number] + self._wider
            found = (
                {key for key, place in self.first_in_texts[number].items() if place < depth}
                | self.first_in_entries[number].keys()
                | self._in_others[number].keys()
            )
            for key in found | self._may_span[number]:
                ranks.update(books_index.by_key.get((number, key), ()))
        return ranks

    def _may_activate(self, rank: int, step: int, state: str, level: int) -> bool:
        """True if the round may activate an entry whose keys occur."""
        candidate = self.index.candidates[rank]
        entry, book = candidate.keyed.entry, candidate.book
        if self.conditions.held_back(candidate):
            return False
        if self.dialect.has_recursion_levels:
            if self.conditions.is_sticky(candidate):
                return True
            if state != "recursion":
                return not entry.delay_until_recursion
            if entry.delay_until_recursion > level:
                return False
            return not (book.recursive and entry.exclude_recursion)
        if step and (entry.exclude_recursion or not book.recursive or step > book.max_recursion):
            return False
        return bool(step or not entry.delay_until_recursion)

    def cause(self, rank: int, state: str) -> Cause | None:
        """Return what activates an entry; None if nothing does."""
        candidate = self.index.candidates[rank]
        keyed = candidate.keyed
        if keyed.entry.constant:
            return Cause("constant")
        if self.conditions.is_sticky(candidate):
            return Cause("sticky")
        depth, is_blank = self.depth(candidate), self.has_blank_key(keyed.entry)
        if depth <= 0:  # nothing is searched
            holds = is_blank and _secondary_hold(keyed, {}, 0, set())
            return Cause("blank key") if holds else None
        in_texts = self.in_texts(candidate)
        in_entries = self.in_entries(candidate, state)
        in_others = self.others(candidate, state)
        places = [in_texts.get(key, depth) for key in keyed.keys]
        place = min(places, default=depth)
        if place < depth:
            cause = Cause("text", keyed.keys[places.index(place)], self.newest[place])
        elif is_blank:
            cause = Cause("blank key")
        elif (key := next((key for key in keyed.keys if key in in_others), -1)) >= 0:
            cause = Cause("other", key, in_others[key])
        elif in_entries and not in_entries.keys().isdisjoint(keyed.keys):
            entry = next(
                e for e in self._searched_entries if any(in_entries.get(k) is e for k in keyed.keys)
            )
            key = next(key for key in keyed.keys if in_entries.get(key) is entry)
            cause = Cause("entry", key, entry)
        else:
            return None
        if keyed.secondary or keyed.blanks:
            elsewhere = in_entries.keys() | in_others.keys()
            if not _secondary_hold(keyed, in_texts, depth, elsewhere):
                return None
            return cause._replace(secondary=self.secondary_places(candidate, state))
        return cause

    def secondary_places(self, candidate: RankedEntry, state: str) -> Mapping[int, KeyPlace]:
        """Return the secondary keys of an entry that occur, and where."""
        depth, in_texts = self.depth(candidate), self.in_texts(candidate)
        others, entries = self.others(candidate, state), self.in_entries(candidate, state)
        found: dict[int, KeyPlace] = {}
        for key in candidate.keyed.secondary:
            if (place := in_texts.get(key, depth)) < depth:
                found[key] = self.newest[place]
            elif key in others or key in entries:
                found[key] = others[key] if key in others else entries[key]
        return found

    def why(self, rank: int, cause: Cause) -> str:
        """Return what activates an entry, as a sentence."""
        candidate = self.index.candidates[rank]
        match cause.kind:
            case "constant":
                return "This lore entry is always active."
            case "sticky":
                return f"This lore entry {self.conditions.sticky_words(candidate)}."
            case "blank key":
                return "This lore entry is active because one of its keys is blank."
            case "text" | "entry" | "other":
                pass
        words = self.key_occurs(candidate, cause.key, cause.where)
        condition = self._secondary_words(candidate, cause.secondary)
        return f"This lore entry is active because {words}{condition}."

    def key_occurs(self, candidate: RankedEntry, key: int, where: KeyPlace) -> str:
        """Say that a key occurs, and where."""
        index, place = candidate.indexed.index, "the draft"
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
            if key in index.in_string(name).found and key not in index.in_string(text).possible:
                place = f"the speaker's name before {place}"
        return f"{self.key_words(candidate, key)} occurs in {place}"

    def key_words(self, candidate: RankedEntry, key: int) -> str:
        """Return a key in quotation marks, and how it is written if its macros stand for it."""
        index = candidate.indexed.index
        written = index.keys[key].text
        text = index.with_names(written)
        if key in index.with_macros:
            text = self._texts.expanded(text)
        return f"“{written}”" if text == written else f"“{text}” ({written})"

    def _secondary_words(self, candidate: RankedEntry, found: Mapping[int, KeyPlace]) -> str:
        """Return how the condition on the secondary keys is met, to follow a sentence."""
        secondary = candidate.keyed.secondary
        if not secondary:
            return ""
        occurring = [
            self.key_occurs(candidate, key, found[key]) for key in secondary if key in found
        ]
        missing = [self.key_words(candidate, key) for key in secondary if key not in found]
        match candidate.keyed.entry.secondary_logic:
            case "and_any" | "and_all":
                return f", and {'; '.join(occurring)}" if occurring else ""
            case "not_any" | "not_all":
                return f", and {', '.join(missing)} {_do_not(missing)}" if missing else ""

    def _score(self, rank: int, state: str) -> int:
        """Return how many keys of an entry occur; those with macros do not count."""
        candidate = self.index.candidates[rank]
        keyed, depth = candidate.keyed, self.depth(candidate)
        if not keyed.keys or depth <= 0:
            return 0
        in_texts, known = self.in_texts(candidate), candidate.indexed.index.keys
        others = self.in_entries(candidate, state).keys() | self.others(candidate, state).keys()

        def occurring(keys: tuple[int, ...]) -> int:
            return sum(
                (in_texts.get(key, depth) < depth or key in others) and "{{" not in known[key].text
                for key in keys
            )

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

    def not_by_content(self, rank: int) -> str:
        """Return why keys in the content of active entries do not activate an entry."""
        candidate = self.index.candidates[rank]
        entry, book = candidate.keyed.entry, candidate.book
        if not (book.recursive and book.max_recursion) or entry.exclude_recursion:
            return "The content of other entries does not activate it."
        if self.dialect.has_recursion_levels:
            return "The search ended before its level of recursion."
        rounds = f"{book.max_recursion} round{'s' * (book.max_recursion != 1)}"
        return f"Others activate the entries of its lorebook for {rounds} at most."

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
        yield from self._slow_key_notes()
        yield from self._budget.notes()

    def lines(self) -> Iterator[tuple[LorebookEntry, ResolvedMessage]]:
        """Yield the activated entries with their messages, the most important last."""
        candidates = self.index.candidates
        if self.dialect.is_latest_first:
            latest_first = tuple(reversed(self.activated))
            ranks = sorted(latest_first, key=lambda rank: candidates[rank].keyed.entry.order)
        else:
            ranks = sorted(self.activated, reverse=True)
        for rank in ranks:
            entry, indexed = candidates[rank].keyed.entry, candidates[rank].indexed
            yield entry, resolve_entry(indexed, entry, self.why(rank, self.activated[rank]))


def _do_not(keys: Sequence[str]) -> str:
    return "do not occur" if len(keys) > 1 else "does not occur"


def _secondary_hold(
    keyed: NumberedEntry, in_texts: Mapping[int, int], depth: int, elsewhere: set[int]
) -> bool:
    occur = [in_texts.get(key, depth) < depth or key in elsewhere for key in keyed.secondary]
    occur += keyed.blanks
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
