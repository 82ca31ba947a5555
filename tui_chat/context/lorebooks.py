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
from dataclasses import dataclass, field

from tui_chat.context.contributors import NOTHING_TO_ADD, Contribution
from tui_chat.context.inputs import Inputs
from tui_chat.context.ledger import history_turn
from tui_chat.context.listed import NO_TEXTS, Listed, text_of
from tui_chat.context.lore_keys import NOTHING_FOUND, Found, Keyed, KeyIndex
from tui_chat.context.scene import drawn
from tui_chat.model.envelope import Level, Note
from tui_chat.model.lorebook import Lorebook, LorebookEntry
from tui_chat.model.memo import Memo
from tui_chat.model.message import Message
from tui_chat.model.preset import PresetMessage
from tui_chat.model.text import Origin, OriginKind
from tui_chat.tokens import TURN_OVERHEAD, Counter


@dataclass(slots=True)
class _Book:
    """A book ready to be searched for. Holds its entries, and not the book."""

    name: str
    names: dict[str, str]
    index: KeyIndex
    notes: tuple[Note, ...]
    lines: dict[int, Listed] = field(default_factory=dict[int, Listed])
    """By the identity of the entry: the line it came up as last time."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An entry that may come up."""

    number: int
    """Of its book, from 0."""
    book: Lorebook
    ready: _Book
    keyed: Keyed


def lorebooks(inputs: Inputs, count: Counter) -> Contribution:
    """Add the entries that come up."""
    if not inputs.lorebooks:
        return NOTHING_TO_ADD
    books = [(book, _ready(book, inputs)) for book in inputs.lorebooks]
    candidates = sorted(
        (
            _Candidate(number, book, ready, keyed)
            for number, (book, ready) in enumerate(books)
            for keyed in ready.index.entries
        ),
        key=lambda candidate: -candidate.keyed.entry.order,
    )
    search = _Search(inputs, count)
    search.run(candidates)
    notes = [note for _, ready in books for note in ready.notes]
    notes += search.left_out_notes()
    return Contribution(tuple(search.lines(candidates)), tuple(notes))


def _nothing_ready(_: Lorebook) -> list[_Book]:
    return []


_remembered: Memo[Lorebook, list[_Book]] = Memo(_nothing_ready)


def _ready(book: Lorebook, inputs: Inputs) -> _Book:
    """Return the book made ready, once for the names that its keys may ask for."""
    names = {"user": inputs.user_name, "char": inputs.char_name}
    remembered = _remembered(book)
    if not remembered or remembered[0].names != names:
        index = KeyIndex(book, names)
        remembered[:] = [_Book(book.name, names, index, tuple(_doubts(book, index)))]
    return remembered[0]


def _doubts(book: Lorebook, index: KeyIndex) -> Iterator[Note]:
    for entry, key, fault in index.faults:
        sentence = (
            f"The key {key} of the lore entry “{_name(entry)}” is no usable pattern: it {fault}; "
            "it is looked for as plain text."
        )
        yield Note(Level.WARNING, "lore-key", sentence, _origin(book.name, entry))
    for keyed in index.entries:
        if not keyed.keys and not keyed.entry.constant:
            sentence = f"The lore entry “{_name(keyed.entry)}” has no keys, so it never comes up."
            yield Note(Level.INFO, "lore-idle", sentence, _origin(book.name, keyed.entry))


class _Search:
    """One search through the conversation for what the talk has come to."""

    def __init__(self, inputs: Inputs, count: Counter) -> None:
        self._inputs = inputs
        self._count = count
        self._texts: list[Message | None] = [None] if inputs.draft else []
        """The newest first; None is the draft."""
        self._older = iter(reversed(inputs.history))
        self._came_up: dict[int, Listed] = {}
        """By the identity of the entry."""
        self._spent: dict[int, int] = {}
        """Tokens, by book."""
        self._left_out: dict[int, list[_Candidate]] = {}
        """By book; a book with one in it is ended."""
        self._tried: set[int] = set()
        self._fresh: list[LorebookEntry] = []
        """What came up in the last round and may bring up others."""

    def run(self, candidates: Sequence[_Candidate]) -> None:
        """Let come up what does, round by round."""
        heard: list[LorebookEntry] = []
        for step in range(1 + max(c.book.max_recursion for c in candidates) if candidates else 0):
            heard += self._fresh
            if step and not self._fresh:
                return
            self._fresh = []
            for candidate in candidates:
                self._try(candidate, step, heard)

    def _try(self, candidate: _Candidate, step: int, heard: Sequence[LorebookEntry]) -> None:
        entry, book = candidate.keyed.entry, candidate.book
        if id(entry) in self._tried:
            return
        if step and (entry.exclude_recursion or not book.recursive or step > book.max_recursion):
            return
        if not step and entry.delay_until_recursion:
            return
        why = self._reason(candidate, heard if step else ())
        if not why:
            return
        self._tried.add(id(entry))
        if self._has_luck(candidate) and self._can_pay(candidate):
            self._came_up[id(entry)] = _line(candidate.ready, entry, why)
            if book.recursive and not entry.prevent_recursion:
                self._fresh.append(entry)

    def _reason(self, candidate: _Candidate, heard: Sequence[LorebookEntry]) -> str:
        """Return why an entry comes up; empty if it does not."""
        keyed, index = candidate.keyed, candidate.ready.index
        if keyed.entry.constant:
            return "It is lore that is always told."
        if not keyed.keys:
            return ""
        depth = keyed.entry.scan_depth
        texts = self._newest(candidate.book.scan_depth if depth is None else depth)
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
        return self._texts[: max(depth, 0)]

    def _found(self, index: KeyIndex, text: Message | None) -> Found:
        return index.in_draft(self._inputs.draft) if text is None else index.in_message(text)

    def _called(
        self, texts: Sequence[Message | None], heard: Sequence[LorebookEntry], place: int
    ) -> str:
        if place >= len(texts):
            return f"the lore entry “{_name(heard[place - len(texts)])}”"
        text = texts[place]
        return "the draft" if text is None else history_turn(text).origin.label

    def _has_luck(self, candidate: _Candidate) -> bool:
        chance, entry = candidate.keyed.entry.probability, candidate.keyed.entry
        if chance >= 100:
            return True
        draw = drawn(str(self._inputs.seed), "lore", candidate.book.name, entry.id)
        return draw % 1_000_000 < chance * 10_000

    def _can_pay(self, candidate: _Candidate) -> bool:
        """Whether the entry fits into its book's budget; what it costs is then spent."""
        budget, number, entry = candidate.book.token_budget, candidate.number, candidate.keyed.entry
        if budget is None or entry.ignore_budget:
            return True
        line = _line(candidate.ready, entry, "")
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
            names = ", ".join(f"“{_name(c.keyed.entry)}”" for c in candidates)
            sentence = (
                f"The lorebook “{book.name}” may cost {book.token_budget:,} tokens and costs "
                f"{self._spent.get(number, 0):,}; left out: {names}."
            )
            origin = _origin(book.name, candidates[0].keyed.entry)
            yield Note(Level.WARNING, "lore-left-out", sentence, origin)

    def lines(self, candidates: Sequence[_Candidate]) -> Iterator[Listed]:
        """Yield what came up, the most important last."""
        for candidate in reversed(candidates):
            line = self._came_up.get(id(candidate.keyed.entry))
            if line is not None:
                yield line


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


def _name(entry: LorebookEntry) -> str:
    return entry.name or next(iter(entry.keys), entry.id)


def _origin(book: str, entry: LorebookEntry) -> Origin:
    within = Origin(OriginKind.LORE, book, f"{book} (lorebook)")
    return Origin(OriginKind.LORE, f"{book}/{entry.id}", _name(entry), within)


def _line(ready: _Book, entry: LorebookEntry, why: str) -> Listed:
    """Return the entry as a line of the list: the same as last time, if it came up for the same
    reason (with an empty `why`: for any).
    """
    line = ready.lines.get(id(entry))
    if line is None or (why and line.why != why):
        message = PresetMessage(
            id=f"{ready.name}/{entry.id}",
            role=entry.role,
            content=entry.content,
            name=_name(entry),
            insertion_point=entry.insertion_point,
            anchor_point=entry.anchor_point,
            anchor_target=entry.anchor_target,
            order=entry.order,
        )
        line = ready.lines[id(entry)] = Listed(message, _origin(ready.name, entry), why)
    return line
