"""Lorebooks: a contributor that adds what the talk has come to.

1. Searched are the newest messages of user and assistant, the draft being the newest; each
   entry or its book says how many. Depth 0 searches nothing.
2. An entry comes up if it is constant, or if one of its keys occurs there and its secondary
   keys do what they have to. Chance (`probability`) is drawn once for an entry and a seed.
3. What came up is searched in turn, and may bring up others, as often as their book allows, but
   no more than `MOST_ROUNDS` times, and `MOST_HEARD` entries in all; a note says so.
   `prevent_recursion`, `exclude_recursion` and `delay_until_recursion` mean what they say.
4. The higher its `order`, the sooner an entry gets its tokens; at equal order the earlier book
   and the earlier entry. The first that does not fit into its book's budget ends that book,
   but for entries that ignore the budget. A note names what was left out.
5. Sent is the reverse of that: the most important stands last, nearest to the newest words.
6. Which key brought it up, and where it occurs, is told in the placement's sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tui_chat.context.contributors import NOTHING_TO_ADD, Contribution
from tui_chat.context.inputs import Inputs
from tui_chat.context.listed import NO_TEXTS, Listed, text_of
from tui_chat.context.lore_keys import Found, Keyed, KeyIndex
from tui_chat.context.lore_shelf import Candidate, Shelf, line_of, lore_origin, name_of, shelf_of
from tui_chat.context.scene import drawn
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.tokens import Counter

MOST_ROUNDS = 50
MOST_HEARD = 500


def lorebooks(inputs: Inputs, count: Counter) -> Contribution:
    """Add the entries that come up."""
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    shelf = shelf_of(inputs)
    search = _Search(inputs, count, shelf)
    search.run()
    notes = [note for book in shelf.books for note in book.notes]
    return Contribution(tuple(search.lines()), (*notes, *search.left_out_notes()))


class _Search:
    """One search through the conversation for what the talk has come to."""

    def __init__(self, inputs: Inputs, count: Counter, shelf: Shelf) -> None:
        self._inputs = inputs
        self._count = count
        self._shelf = shelf
        self._newest: tuple[Message | None, ...] = ()
        """The texts that are searched, the newest first; None is the typed draft."""
        self._came_up: dict[int, Listed] = {}
        """By rank."""
        self._spent: dict[int, int] = {}
        """Tokens, by book."""
        self._left_out: dict[int, list[Candidate]] = {}
        """By book; a book with one in it is ended."""
        self._done: set[int] = set()
        """Ranks that came up, whether they had luck and room or not."""
        self._heard: list[LorebookEntry] = []
        """What came up and is searched in turn."""
        self._unheard = 0
        """How many more came up that are not."""
        self._stopped = False
        """Whether there might have been more after `MOST_ROUNDS`."""
        self._steps: dict[tuple[int, int], int] = {}
        """Steps of backtracking, by book and key."""
        self._given_up: set[tuple[int, int]] = set()
        """Keys, by book, that needed more steps than they may take."""
        self._first_in_texts = [self._first_texts(n) for n in range(len(shelf.books))]
        """For each book: its keys that occur in the newest texts, and the first text of each."""
        self._first_in_heard: list[dict[int, LorebookEntry]] = [{} for _ in shelf.books]
        """For each book: its keys that occur in what came up, and the first entry of each."""

    def run(self) -> None:
        """Let come up what does, round by round."""
        listened = 0
        for step in range(min(self._shelf.rounds, MOST_ROUNDS + 1)):
            heard = len(self._heard)
            for number, book in enumerate(self._shelf.books):
                for entry in self._heard[listened:]:
                    for key in self._occurring(number, book.index, entry):
                        self._first_in_heard[number].setdefault(key, entry)
            for rank in sorted(self._possible() - self._done):
                self._try(rank, step)
            if len(self._heard) == heard:
                return
            listened = heard
        self._stopped = self._shelf.rounds > MOST_ROUNDS + 1

    def _possible(self) -> set[int]:
        """Return the ranks of which a key occurs anywhere, or that need none."""
        shelf = self._shelf
        ranks = set(shelf.constants)
        for number in range(len(shelf.books)):
            for key in self._first_in_texts[number].keys() | self._first_in_heard[number].keys():
                ranks.update(shelf.by_key.get((number, key), ()))
        return ranks

    def _first_texts(self, number: int) -> dict[int, int]:
        """Return the keys of a book that occur in the newest texts, and in which of them first."""
        index, depth = self._shelf.books[number].index, self._shelf.deepest[number]
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
    ) -> Found:
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
                self._given_up.add((number, key))
                continue
            occurs, steps = index.backtrack(key, self._inputs.draft if source is None else source)
            self._steps[number, key] = taken + abs(steps)
            if occurs:
                occurring.add(key)
            elif steps < 0:
                self._given_up.add((number, key))
        return known.found | occurring

    def _try(self, rank: int, step: int) -> None:
        candidate = self._shelf.candidates[rank]
        entry, book = candidate.keyed.entry, candidate.book
        if step and (entry.exclude_recursion or not book.recursive or step > book.max_recursion):
            return
        if not step and entry.delay_until_recursion:
            return
        why = self._reason(candidate)
        if not why:
            return
        self._done.add(rank)
        if self._has_luck(candidate) and self._can_pay(candidate):
            self._came_up[rank] = line_of(candidate.ready, entry, why)
            if book.recursive and not entry.prevent_recursion:
                if len(self._heard) < MOST_HEARD:
                    self._heard.append(entry)
                else:
                    self._unheard += 1

    def _reason(self, candidate: Candidate) -> str:
        """Return why an entry comes up; empty if it does not."""
        keyed, index = candidate.keyed, candidate.ready.index
        if keyed.entry.constant:
            return "It is lore that is always told."
        in_texts, depth = self._first_in_texts[candidate.number], candidate.depth
        in_heard = self._first_in_heard[candidate.number]
        places = [in_texts.get(key, depth) for key in keyed.keys]
        place = min(places, default=depth)
        if place >= depth and in_heard.keys().isdisjoint(keyed.keys):
            return ""
        if not _secondary_hold(keyed, in_texts, depth, in_heard):
            return ""
        if place < depth:
            key = keyed.keys[places.index(place)]
            text = self._newest[place]
            where = "the draft" if text is None else MessageOrigin(text).label
        else:
            entry = next(e for e in self._heard if any(in_heard.get(k) is e for k in keyed.keys))
            key = next(key for key in keyed.keys if in_heard.get(key) is entry)
            where = f"the lore entry “{name_of(entry)}”"
        return f"It is lore that came up because “{index.keys[key].text}” occurs in {where}."

    def _has_luck(self, candidate: Candidate) -> bool:
        chance, entry = candidate.keyed.entry.probability, candidate.keyed.entry
        if chance >= 100:
            return True
        draw = drawn(str(self._inputs.seed), "lore", candidate.book.name, entry.id)
        return draw % 1_000_000 < chance * 10_000

    def _can_pay(self, candidate: Candidate) -> bool:
        """Whether the entry fits into its book's budget; what it costs is then spent."""
        budget, number, entry = candidate.book.token_budget, candidate.number, candidate.keyed.entry
        if budget is None or entry.ignore_budget:
            return True
        line = line_of(candidate.ready, entry, "")
        cost = self._count.alone(text_of(line, NO_TEXTS))
        spent = self._spent.get(number, 0) + cost
        if number in self._left_out or spent > budget:
            self._left_out.setdefault(number, []).append(candidate)
            return False
        self._spent[number] = spent
        return True

    def left_out_notes(self) -> Iterator[Note]:
        """Tell what did not fit, and what was not searched."""
        if self._stopped:
            sentence = f"Lore brought up other lore {MOST_ROUNDS} times over; there it ends."
            yield Note(Level.WARNING, "lore-not-searched", sentence)
        if self._unheard:
            sentence = (
                f"{MOST_HEARD:,} lore entries came up and were searched for keys of others; "
                f"{self._unheard:,} more came up and were not searched."
            )
            yield Note(Level.WARNING, "lore-not-searched", sentence)
        for number, key in sorted(self._given_up):
            index = self._shelf.books[number].index
            entry = next(k.entry for k in index.entries if key in k.keys or key in k.secondary)
            sentence = (
                f"The key {index.keys[key].text} of the lore entry “{name_of(entry)}” takes too "
                "long to search for: it refers back to a group that can match in very many ways. "
                "It may have been missed in long or older messages; a simpler pattern would not be."
            )
            origin = lore_origin(self._inputs.lorebooks[number].name, entry)
            yield Note(Level.WARNING, "lore-key-too-slow", sentence, origin)
        for number, candidates in self._left_out.items():
            book = self._inputs.lorebooks[number]
            names = ", ".join(f"“{name_of(c.keyed.entry)}”" for c in candidates)
            sentence = (
                f"The lorebook “{book.name}” may cost {book.token_budget:,} tokens and costs "
                f"{self._spent.get(number, 0):,}; left out: {names}."
            )
            origin = lore_origin(book.name, candidates[0].keyed.entry)
            yield Note(Level.WARNING, "lore-left-out", sentence, origin)

    def lines(self) -> Iterator[Listed]:
        """Yield what came up, the most important last."""
        for rank in sorted(self._came_up, reverse=True):
            yield self._came_up[rank]


@dataclass(frozen=True, slots=True)
class _HistoryKeys:
    """The keys of a book that occur in the newest messages of a history."""

    texts: tuple[Message, ...]
    """The messages that were searched, the newest first."""
    first: dict[int, int]
    """By key: the place of the first of the messages in which it occurs."""
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
    keyed: Keyed, in_texts: dict[int, int], depth: int, in_heard: dict[int, LorebookEntry]
) -> bool:
    if not keyed.secondary:
        return True
    occur = [in_texts.get(key, depth) < depth or key in in_heard for key in keyed.secondary]
    match keyed.entry.secondary_logic:
        case "and_any":
            return any(occur)
        case "and_all":
            return all(occur)
        case "not_any":
            return not any(occur)
        case "not_all":
            return not all(occur)
