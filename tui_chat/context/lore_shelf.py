"""Lorebooks made ready to be searched for: numbered keys, ranked entries, their lines.

Everything here is worked out once for the same books and names; what is found in a conversation
is the business of `lorebooks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_chat.context.inputs import Inputs
from tui_chat.context.listed import Listed
from tui_chat.context.lore_keys import Keyed, KeyIndex
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import Origin, OriginKind


@dataclass(slots=True, eq=False)
class Book:
    """A book ready to be searched for. Holds its entries, and not the book."""

    name: str
    index: KeyIndex
    notes: tuple[Note, ...]
    lines: dict[int, Listed] = field(default_factory=dict[int, Listed])
    """By the identity of the entry: the line it came up as last time."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may come up."""

    number: int
    """Of its book, from 0."""
    book: Lorebook
    ready: Book
    keyed: Keyed

    @property
    def depth(self) -> int:
        """How many of the newest texts are searched for it."""
        own = self.keyed.entry.scan_depth
        return max(self.book.scan_depth if own is None else own, 0)


@dataclass(slots=True)
class Shelf:
    """Some books together, so arranged that a search costs what occurs, not what there is."""

    books: list[Book]
    candidates: list[Candidate]
    """The most important first."""
    constants: list[int] = field(default_factory=list[int])
    """Ranks (places among the candidates) of those that need no key."""
    by_key: dict[tuple[int, int], list[int]] = field(
        default_factory=dict[tuple[int, int], list[int]]
    )
    """Ranks by book and key."""
    deepest: list[int] = field(default_factory=list[int])
    """For each book, how many of the newest texts its entries are searched for in."""
    rounds: int = 1


def shelf_of(inputs: Inputs) -> Shelf:
    """Return the books arranged, once for the same books and names."""
    books = [_ready(book, inputs.user_name, inputs.char_name) for book in inputs.lorebooks]
    return _arrange(inputs.lorebooks, books)


@recent_memo()
def _arrange(books: tuple[Lorebook, ...], ready: list[Book]) -> Shelf:
    candidates = [
        Candidate(number, book, ready[number], keyed)
        for number, book in enumerate(books)
        if ready.index(ready[number]) == number  # a book given twice is one book
        for keyed in ready[number].index.entries
    ]
    candidates.sort(key=lambda candidate: -candidate.keyed.entry.order)
    shelf = Shelf(ready, candidates, deepest=[0] * len(books))
    for rank, candidate in enumerate(candidates):
        if candidate.keyed.entry.constant:
            shelf.constants.append(rank)
        for key in set(candidate.keyed.keys):
            shelf.by_key.setdefault((candidate.number, key), []).append(rank)
        shelf.deepest[candidate.number] = max(shelf.deepest[candidate.number], candidate.depth)
    shelf.rounds += max((book.max_recursion for book in books if book.recursive), default=0)
    shelf.rounds = max(shelf.rounds, 1)
    return shelf


@Memo
def _ready(book: Lorebook, user: str, char: str) -> Book:
    """Return the book made ready, once for the names that its keys may ask for."""
    index = KeyIndex(book, {"user": user, "char": char})
    return Book(book.name, index, tuple(_doubts(book, index)))


def _doubts(book: Lorebook, index: KeyIndex) -> Iterator[Note]:
    for entry, key, fault in index.faults:
        sentence = (
            f"The key {key} of the lore entry “{name_of(entry)}” is no usable pattern: it {fault}; "
            "it is looked for as plain text."
        )
        yield Note(Level.WARNING, "lore-key", sentence, lore_origin(book.name, entry))
    for keyed in index.entries:
        if not keyed.keys and not keyed.entry.constant:
            sentence = f"The lore entry “{name_of(keyed.entry)}” has no keys, so it never comes up."
            yield Note(Level.INFO, "lore-idle", sentence, lore_origin(book.name, keyed.entry))


def name_of(entry: LorebookEntry) -> str:
    """Return what a person calls an entry."""
    return entry.name or next(iter(entry.keys), entry.id)


def lore_origin(book: str, entry: LorebookEntry) -> Origin:
    """Return the origin of what an entry of the book so called says."""
    within = Origin(OriginKind.LORE, book, f"{book} (lorebook)")
    return Origin(OriginKind.LORE, f"{book}/{entry.id}", name_of(entry), within)


def line_of(ready: Book, entry: LorebookEntry, why: str) -> Listed:
    """Return the entry as a line of the list: the same as last time, if it came up for the same
    reason (with an empty `why`: for any).
    """
    line = ready.lines.get(id(entry))
    if line is None or (why and line.why != why):
        message = PresetMessage(
            id=f"{ready.name}/{entry.id}",
            role=entry.role,
            content=entry.content,
            name=name_of(entry),
            insertion_point=entry.insertion_point,
            anchor_point=entry.anchor_point,
            anchor_target=entry.anchor_target,
            order=entry.order,
        )
        line = ready.lines[id(entry)] = Listed(message, lore_origin(ready.name, entry), why)
    return line
