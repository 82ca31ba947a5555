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

from collections.abc import Iterator, Sequence

from tui_chat.context.contributors import NOTHING_TO_ADD, Contribution
from tui_chat.context.inputs import Inputs
from tui_chat.context.listed import NO_TEXTS, Listed, text_of
from tui_chat.context.lore_keys import NOTHING_FOUND, Found, Keyed, KeyIndex
from tui_chat.context.lore_shelf import Candidate, Shelf, line_of, lore_origin, name_of, shelf_of
from tui_chat.context.scene import drawn
from tui_chat.model.envelope import Level, Note
from tui_chat.model.lorebook import LorebookEntry
from tui_chat.model.message import Message, MessageOrigin
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
        self._texts: list[Message | None] = [inputs.answered] if inputs.has_draft else []
        """The newest first; None is the typed draft."""
        self._older = iter(reversed(inputs.history))
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
        self._in_texts: dict[tuple[int, int], Found] = {}
        """What occurs in the newest texts, by book and number of texts."""
        self._in_heard: list[set[int]] = [set() for _ in shelf.books]
        """For each book, what occurs in what came up in earlier rounds."""

    def run(self) -> None:
        """Let come up what does, round by round."""
        listened = 0
        for step in range(min(self._shelf.rounds, MOST_ROUNDS + 1)):
            heard = len(self._heard)
            for number, book in enumerate(self._shelf.books):
                self._in_heard[number].update(*map(book.index.in_entry, self._heard[listened:]))
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
        for number, in_heard in enumerate(self._in_heard):
            for key in self._in_newest(number, shelf.deepest[number]) | in_heard:
                ranks.update(shelf.by_key.get((number, key), ()))
        return ranks

    def _in_newest(self, number: int, depth: int) -> Found:
        """Return which keys of a book occur in the newest texts."""
        known = self._in_texts.get((number, depth))
        if known is None:
            index = self._shelf.books[number].index
            found = (self._found(index, text) for text in self._newest(depth))
            known = self._in_texts[number, depth] = NOTHING_FOUND.union(*found)
        return known

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
        in_texts = self._in_newest(candidate.number, candidate.depth)
        in_heard = self._in_heard[candidate.number]
        if in_texts.isdisjoint(keyed.keys) and in_heard.isdisjoint(keyed.keys):
            return ""
        if not _secondary_hold(keyed, in_texts, in_heard):
            return ""
        if in_texts.isdisjoint(keyed.keys):
            entries = ((index.in_entry(e), f"the lore entry “{name_of(e)}”") for e in self._heard)
            found, where = next(each for each in entries if not each[0].isdisjoint(keyed.keys))
        else:
            texts = ((self._found(index, t), t) for t in self._newest(candidate.depth))
            found, text = next(each for each in texts if not each[0].isdisjoint(keyed.keys))
            where = "the draft" if text is None else MessageOrigin(text).label
        key = next(key for key in keyed.keys if key in found)
        return f"It is lore that came up because “{index.keys[key].text}” occurs in {where}."

    def _newest(self, depth: int) -> Sequence[Message | None]:
        """Return the newest texts that are searched."""
        while len(self._texts) < depth:
            message = next(self._older, None)
            if message is None:
                break
            if message.role in ("user", "assistant"):
                self._texts.append(message)
        return self._texts[:depth]

    def _found(self, index: KeyIndex, text: Message | None) -> Found:
        return index.in_draft(self._inputs.draft) if text is None else index.in_message(text)

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


def _secondary_hold(keyed: Keyed, in_texts: Found, in_heard: set[int]) -> bool:
    if not keyed.secondary:
        return True
    occur = [key in in_texts or key in in_heard for key in keyed.secondary]
    match keyed.entry.secondary_logic:
        case "and_any":
            return any(occur)
        case "and_all":
            return all(occur)
        case "not_any":
            return not any(occur)
        case "not_all":
            return not all(occur)
