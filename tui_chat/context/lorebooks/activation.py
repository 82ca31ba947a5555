"""Lorebook activation: a contributor that adds the entries whose keys occur in the conversation.

1. The newest messages of user and assistant are searched, the draft being the newest; each entry
   or its book says how many. Depth 0 searches nothing.
2. An entry is activated if it is constant, or if one of its keys occurs there and its secondary
   keys meet their condition. Its `probability` is drawn once for an entry and a seed.
3. The content of activated entries is searched in turn and may activate others, as often as their
   book allows, but at most `MAX_ROUNDS` times, and `MAX_SEARCHED_ENTRIES` entries in all, with a
   note. `prevent_recursion`, `exclude_recursion` and `delay_until_recursion` limit this.
4. Entries of higher `order` get their tokens first; at equal order the earlier book, then the
   earlier entry. The first entry that exceeds its book's budget ends that book, except for entries
   that ignore the budget. A note names the entries that were left out.
5. They are sent in reverse: the most important one is last, nearest to the newest message.
6. The placement's sentence names the key that activated an entry and where it occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tui_chat.context.contributors import NOTHING_TO_ADD, Contribution
from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.book_index import (
    BookIndex,
    RankedEntry,
    book_index,
    entry_name,
    entry_origin,
    resolve_entry,
)
from tui_chat.context.lorebooks.keys import KeyIndex, KeyNumbers, NumberedEntry
from tui_chat.context.macros.environment import draw_number
from tui_chat.context.resolved_message import NO_EXPANSIONS, ResolvedMessage, text_of
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.tokens import Counter

MAX_ROUNDS = 50
MAX_SEARCHED_ENTRIES = 500


def activate_lorebooks(inputs: Inputs, count: Counter) -> Contribution:
    """Return the activated entries as messages."""
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    books_index = book_index(inputs)
    search = _Activation(inputs, count, books_index)
    search.run()
    notes = [note for book in books_index.books for note in book.notes]
    return Contribution(tuple(search.lines()), (*notes, *search.left_out_notes()))


class _Activation:
    """One search of the conversation for keys."""

    def __init__(self, inputs: Inputs, count: Counter, books_index: BookIndex) -> None:
        self._inputs = inputs
        self._count = count
        self._index = books_index
        self._newest: tuple[Message | None, ...] = ()
        """The searched texts, newest first; None is the typed draft."""
        self._activated: dict[int, ResolvedMessage] = {}
        """By rank."""
        self._spent: dict[int, int] = {}
        """Tokens, by book."""
        self._left_out: dict[int, list[RankedEntry]] = {}
        """Entries that exceeded the budget, by book. A book in here adds no more."""
        self._done: set[int] = set()
        """Ranks whose keys matched, whether or not they were drawn and fit the budget."""
        self._searched_entries: list[LorebookEntry] = []
        """The activated entries whose content is searched."""
        self._unsearched = 0
        """Number of further activated entries, whose content is not searched."""
        self._hit_round_limit = False
        """True if `MAX_ROUNDS` ended the search."""
        self._steps: dict[tuple[int, int], int] = {}
        """Steps of backtracking, by book and key."""
        self._too_slow: set[tuple[int, int]] = set()
        """Keys, by book, that exceeded their step limit."""
        self._first_in_texts = [self._first_texts(n) for n in range(len(books_index.books))]
        """For each book: its keys that occur in the newest texts, and the first text of each."""
        self._first_in_entries: list[dict[int, LorebookEntry]] = [{} for _ in books_index.books]
        """For each book: its keys that occur in activated entries, and the first entry of each."""

    def run(self) -> None:
        """Activate entries, round by round."""
        searched = 0
        for step in range(min(self._index.rounds, MAX_ROUNDS + 1)):
            searched_before = len(self._searched_entries)
            for number, book in enumerate(self._index.books):
                for entry in self._searched_entries[searched:]:
                    for key in self._occurring(number, book.index, entry):
                        self._first_in_entries[number].setdefault(key, entry)
            for rank in sorted(self._possible() - self._done):
                self._activate(rank, step)
            if len(self._searched_entries) == searched_before:
                return
            searched = searched_before
        self._hit_round_limit = self._index.rounds > MAX_ROUNDS + 1

    def _possible(self) -> set[int]:
        """Return the ranks that have a matching key or need none."""
        books_index = self._index
        ranks = set(books_index.constants)
        for number in range(len(books_index.books)):
            for key in self._first_in_texts[number].keys() | self._first_in_entries[number].keys():
                ranks.update(books_index.by_key.get((number, key), ()))
        return ranks

    def _first_texts(self, number: int) -> dict[int, int]:
        """Return the keys of a book that occur in the newest texts, each with its first text."""
        index, depth = self._index.books[number].index, self._index.scan_depths[number]
        if depth <= 0:
            return {}
        has_draft, draft = self._inputs.has_draft, self._inputs.answered
        first: dict[int, int] = {}
        if has_draft:
            first = dict.fromkeys(self._occurring(number, index, draft), 0)
        history = _history_keys(index, self._inputs.history, depth - has_draft)
        for key, place in history.first.items():
            first.setdefault(key, place + has_draft)
        for place, message in history.undecided:
            for key in self._occurring(number, index, message):
                first[key] = min(first.get(key, depth), place + has_draft)
        texts = (draft, *history.texts) if has_draft else history.texts
        self._newest = max(self._newest, texts, key=len)
        return first

    def _occurring(
        self, number: int, index: KeyIndex, source: Message | LorebookEntry | None
    ) -> KeyNumbers:
        """Return the keys of a book that occur in a text; None is the draft."""
        if source is None:
            known = index.in_draft(self._inputs.draft)
        elif isinstance(source, Message):
            known = index.in_message(source)
        else:
            known = index.in_entry(source)
        if not known.undecided:
            return known.found
        occurring: set[int] = set()
        for key in known.undecided:
            taken = self._steps.get((number, key), 0)
            if taken >= index.step_limit:
                self._too_slow.add((number, key))
                continue
            occurs, steps = index.backtrack(key, self._inputs.draft if source is None else source)
            self._steps[number, key] = taken + abs(steps)
            if occurs:
                occurring.add(key)
            elif steps < 0:
                self._too_slow.add((number, key))
        return known.found | occurring

    def _activate(self, rank: int, step: int) -> None:
        candidate = self._index.candidates[rank]
        entry, book = candidate.keyed.entry, candidate.book
        if step and (entry.exclude_recursion or not book.recursive or step > book.max_recursion):
            return
        if not step and entry.delay_until_recursion:
            return
        why = self._reason(candidate)
        if not why:
            return
        self._done.add(rank)
        if self._is_drawn(candidate) and self._charge(candidate):
            self._activated[rank] = resolve_entry(candidate.indexed, entry, why)
            if book.recursive and not entry.prevent_recursion:
                if len(self._searched_entries) < MAX_SEARCHED_ENTRIES:
                    self._searched_entries.append(entry)
                else:
                    self._unsearched += 1

    def _reason(self, candidate: RankedEntry) -> str:
        """Return why an entry is activated; empty if it is not."""
        keyed, index = candidate.keyed, candidate.indexed.index
        if keyed.entry.constant:
            return "This lore entry is always active."
        in_texts, depth = self._first_in_texts[candidate.number], candidate.depth
        in_entries = self._first_in_entries[candidate.number]
        places = [in_texts.get(key, depth) for key in keyed.keys]
        place = min(places, default=depth)
        if place >= depth and in_entries.keys().isdisjoint(keyed.keys):
            return ""
        if not _secondary_hold(keyed, in_texts, depth, in_entries):
            return ""
        if place < depth:
            key = keyed.keys[places.index(place)]
            text = self._newest[place]
            where = "the draft" if text is None else MessageOrigin(text).label
        else:
            entry = next(
                e for e in self._searched_entries if any(in_entries.get(k) is e for k in keyed.keys)
            )
            key = next(key for key in keyed.keys if in_entries.get(key) is entry)
            where = f"the lore entry “{entry_name(entry)}”"
        return f"This lore entry is active because “{index.keys[key].text}” occurs in {where}."

    def _is_drawn(self, candidate: RankedEntry) -> bool:
        chance, entry = candidate.keyed.entry.probability, candidate.keyed.entry
        if chance >= 100:
            return True
        draw = draw_number(str(self._inputs.seed), "lore", candidate.book.name, entry.id)
        return draw % 1_000_000 < chance * 10_000

    def _charge(self, candidate: RankedEntry) -> bool:
        """Charge an entry to its book's budget; return False if it does not fit."""
        budget, number, entry = candidate.book.token_budget, candidate.number, candidate.keyed.entry
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
        for number, key in sorted(self._too_slow):
            index = self._index.books[number].index
            entry = next(k.entry for k in index.entries if key in k.keys or key in k.secondary)
            sentence = (
                f"The key {index.keys[key].text} of the lore entry “{entry_name(entry)}” takes too "
                "long to match: it has a back-reference to a group with very many possible "
                "matches. It may be missed in long or older messages. Simplify the pattern."
            )
            origin = entry_origin(self._inputs.lorebooks[number].name, entry)
            yield Note(Level.WARNING, "lore-key-too-slow", sentence, origin)
        for number, candidates in self._left_out.items():
            book = self._inputs.lorebooks[number]
            names = ", ".join(f"“{entry_name(c.keyed.entry)}”" for c in candidates)
            sentence = (
                f"The lorebook “{book.name}” uses {self._spent.get(number, 0):,} of its "
                f"{book.token_budget:,} tokens; left out: {names}."
            )
            origin = entry_origin(book.name, candidates[0].keyed.entry)
            yield Note(Level.WARNING, "lore-left-out", sentence, origin)

    def lines(self) -> Iterator[ResolvedMessage]:
        """Yield the activated entries, the most important last."""
        for rank in sorted(self._activated, reverse=True):
            yield self._activated[rank]


@dataclass(frozen=True, slots=True)
class _HistoryKeys:
    """The keys of a book that occur in the newest messages of a history."""

    texts: tuple[Message, ...]
    """The messages that were searched, the newest first."""
    first: dict[int, int]
    """By key: the index of the first message in which it occurs."""
    undecided: tuple[tuple[int, Message], ...]
    """Places and messages in which patterns with back-references may occur."""


@recent_memo(64)  # books that are active at once
def _history_keys(index: KeyIndex, history: tuple[Message, ...], depth: int) -> _HistoryKeys:
    """Search the newest messages; remembered, so that a keystroke searches the draft only."""
    spoken = (m for m in reversed(history) if m.role in ("user", "assistant"))
    texts = tuple(islice(spoken, depth))
    first: dict[int, int] = {}
    undecided: list[tuple[int, Message]] = []
    for place, message in enumerate(texts):
        occurrences = index.in_message(message)
        for key in occurrences.found:
            first.setdefault(key, place)
        if occurrences.undecided:
            undecided.append((place, message))
    return _HistoryKeys(texts, first, tuple(undecided))


def _secondary_hold(
    keyed: NumberedEntry, in_texts: dict[int, int], depth: int, in_entries: dict[int, LorebookEntry]
) -> bool:
    if not keyed.secondary:
        return True
    occur = [in_texts.get(key, depth) < depth or key in in_entries for key in keyed.secondary]
    match keyed.entry.secondary_logic:
        case "and_any":
            return any(occur)
        case "and_all":
            return all(occur)
        case "not_any":
            return not any(occur)
        case "not_all":
            return not all(occur)
