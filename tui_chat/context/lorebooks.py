"""Lorebooks: a contributor that adds what the talk has come to.

1. Searched are the newest messages of user and assistant, the draft being the newest; each
   entry or its book says how many. Depth 0 searches nothing.
2. An entry comes up if it is constant, or if one of its keys occurs there and its secondary
   keys do what they have to. Chance (`probability`) is drawn once for an entry and a seed.
3. What came up is searched in turn, and may bring up others, as often as their book allows.
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
from tui_chat.context.ledger import message_origin
from tui_chat.context.listed import NO_TEXTS, Listed, text_of
from tui_chat.context.lore_keys import NOTHING_FOUND, Found, Keyed, KeyIndex
from tui_chat.context.lore_shelf import Candidate, Shelf, line_of, lore_origin, name_of, shelf_of
from tui_chat.context.scene import drawn
from tui_chat.model.envelope import Level, Note
from tui_chat.model.lorebook import LorebookEntry
from tui_chat.model.message import Message
from tui_chat.tokens import TURN_OVERHEAD, Counter


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
        self._texts: list[Message | None] = [None] if inputs.draft else []
        """The newest first; None is the draft."""
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

    def run(self) -> None:
        """Let come up what does, round by round."""
        for step in range(self._shelf.rounds):
            heard = len(self._heard)
            for rank in sorted(self._possible() - self._done):
                self._try(rank, step, self._heard[:heard])
            if len(self._heard) == heard:
                return

    def _possible(self) -> set[int]:
        """Return the ranks of which a key occurs anywhere, or that need none."""
        shelf = self._shelf
        ranks = set(shelf.constants)
        for number, book in enumerate(shelf.books):
            found = [self._found(book.index, t) for t in self._newest(shelf.deepest[number])]
            found += map(book.index.in_entry, self._heard)
            for key in NOTHING_FOUND.union(*found):
                ranks.update(shelf.by_key.get((number, key), ()))
        return ranks

    def _try(self, rank: int, step: int, heard: Sequence[LorebookEntry]) -> None:
        candidate = self._shelf.candidates[rank]
        entry, book = candidate.keyed.entry, candidate.book
        if step and (entry.exclude_recursion or not book.recursive or step > book.max_recursion):
            return
        if not step and entry.delay_until_recursion:
            return
        why = self._reason(candidate, heard)
        if not why:
            return
        self._done.add(rank)
        if self._has_luck(candidate) and self._can_pay(candidate):
            self._came_up[rank] = line_of(candidate.ready, entry, why)
            if book.recursive and not entry.prevent_recursion:
                self._heard.append(entry)

    def _reason(self, candidate: Candidate, heard: Sequence[LorebookEntry]) -> str:
        """Return why an entry comes up; empty if it does not."""
        keyed, index = candidate.keyed, candidate.ready.index
        if keyed.entry.constant:
            return "It is lore that is always told."
        texts = self._newest(candidate.depth)
        found: list[Found] = [self._found(index, text) for text in texts]
        found += map(index.in_entry, heard)
        everything = NOTHING_FOUND.union(*found)
        if everything.isdisjoint(keyed.keys) or not _secondary_hold(keyed, everything):
            return ""
        place = next(i for i, keys in enumerate(found) if not keys.isdisjoint(keyed.keys))
        key = next(key for key in keyed.keys if key in found[place])
        where = self._called(texts, heard, place)
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

    def _called(
        self, texts: Sequence[Message | None], heard: Sequence[LorebookEntry], place: int
    ) -> str:
        if place >= len(texts):
            return f"the lore entry “{name_of(heard[place - len(texts)])}”"
        text = texts[place]
        return "the draft" if text is None else message_origin(text).label

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
        cost = self._count.text(text_of(line, NO_TEXTS)) + TURN_OVERHEAD
        spent = self._spent.get(number, 0) + cost
        if number in self._left_out or spent > budget:
            self._left_out.setdefault(number, []).append(candidate)
            return False
        self._spent[number] = spent
        return True

    def left_out_notes(self) -> Iterator[Note]:
        """Tell what did not fit."""
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


def _secondary_hold(keyed: Keyed, found: Found) -> bool:
    if not keyed.secondary:
        return True
    occur = [key in found for key in keyed.secondary]
    match keyed.entry.secondary_logic:
        case "and_any":
            return any(occur)
        case "and_all":
            return all(occur)
        case "not_any":
            return not any(occur)
        case "not_all":
            return not all(occur)
