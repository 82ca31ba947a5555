"""Lorebooks prepared for searching: numbered keys, ranked entries, their messages.

All of this depends only on the books and the names in their keys, and is computed once for those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tui_chat.context.inputs import Inputs
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.keys import KeyIndex, NumberedEntry
from tui_chat.plugins.sillytavern.lore.rules import search_rules, searched_books


@dataclass(slots=True, eq=False)
class IndexedBook:
    """A book prepared for searching. Refers to the entries, but not to the book."""

    name: str
    index: KeyIndex
    notes: tuple[Note, ...]
    lines: dict[int, ResolvedMessage] = field(default_factory=dict[int, ResolvedMessage])
    """By the identity of an entry: its message at its latest activation."""


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """An entry among those of all books."""

    number: int
    """Index of its book."""
    book: Lorebook
    indexed: IndexedBook
    keyed: NumberedEntry

    @property
    def depth(self) -> int:
        """How many of the newest texts are searched for its keys."""
        own = self.keyed.entry.scan_depth
        return max(self.book.scan_depth if own is None else own, 0)


@dataclass(frozen=True, slots=True)
class BookIndex:
    """Several books, and their entries in the order of their importance."""

    books: list[IndexedBook]
    candidates: list[RankedEntry]
    """The most important first; the index of an entry is its rank."""
    scan_depths: list[int]
    """For each book, the largest scan depth of its entries."""
    recursive: bool
    """True if the content of active entries is searched."""
    levels: list[int]
    """The levels of `delay_until_recursion`; those of disabled entries count."""


def book_index(inputs: Inputs) -> BookIndex:
    """Return the index of the books, computed once for the same books and names."""
    books = searched_books(inputs)
    indexed = [_indexed(book, inputs.user_name, inputs.char_name) for book in books]
    return _rank_entries(books, indexed, search_rules(inputs).tiers)


@recent_memo()
def _rank_entries(
    books: tuple[Lorebook, ...], indexed: list[IndexedBook], tiers: tuple[int, ...]
) -> BookIndex:
    candidates = [
        RankedEntry(number, book, indexed[number], keyed)
        for number, book in enumerate(books)
        if indexed.index(indexed[number]) == number  # a book given twice is one book
        for keyed in indexed[number].index.entries
    ]

    def importance(candidate: RankedEntry) -> tuple[int, int]:
        tier = tiers[candidate.number] if candidate.number < len(tiers) else 0
        return tier, -candidate.keyed.entry.order

    candidates.sort(key=importance)
    depths = [0] * len(books)
    for candidate in candidates:
        depths[candidate.number] = max(depths[candidate.number], candidate.depth)
    levels = {int(entry.delay_until_recursion) for book in books for entry in book.entries}
    return BookIndex(
        indexed,
        candidates,
        depths,
        recursive=any(book.recursive for book in books),
        levels=sorted(levels - {0}),
    )


@Memo
def _indexed(book: Lorebook, user: str, char: str) -> IndexedBook:
    """Index a book, once for the names that its keys may contain; see `KeyIndex`."""
    index = KeyIndex(book, {"user": user, "char": char})
    return IndexedBook(book.name, index, tuple(_key_notes(book, index)))


def _key_notes(book: Lorebook, index: KeyIndex) -> Iterator[Note]:
    for entry, key, fault in index.faults:
        sentence = (
            f"The key {key} of the lore entry “{entry_name(entry)}” is not a usable pattern: it "
            f"{fault}; it is searched for as plain text."
        )
        yield Note(Level.WARNING, "lore-key", sentence, entry_origin(book.name, entry))
    for keyed in index.entries:
        if not keyed.keys and not keyed.entry.constant and not keyed.has_blank_key:
            sentence = (
                f"The lore entry “{entry_name(keyed.entry)}” has no keys, so it is never active."
            )
            yield Note(Level.INFO, "lore-idle", sentence, entry_origin(book.name, keyed.entry))


def entry_name(entry: LorebookEntry) -> str:
    """Return the display name of an entry."""
    return entry.name or next(iter(entry.keys), entry.id)


def entry_origin(book: str, entry: LorebookEntry) -> Origin:
    """Return the origin of the content of an entry."""
    within = Origin(OriginKind.LORE, book)
    return Origin(OriginKind.LORE, f"{book}/{entry.id}", entry_name(entry), within)


def resolve_entry(indexed: IndexedBook, entry: LorebookEntry, why: str) -> ResolvedMessage:
    """Resolve an entry, to the same object for the same `why` (empty: for any reason)."""
    line = indexed.lines.get(id(entry))
    if line is None or (why and line.why != why):
        message = PresetMessage(
            id=f"{indexed.name}/{entry.id}",
            role=entry.role,
            content=entry.content,
            name=entry_name(entry),
            insertion_point=entry.insertion_point,
            anchor_point=entry.anchor_point,
            anchor_target=entry.anchor_target,
            order=entry.order,
        )
        line = indexed.lines[id(entry)] = ResolvedMessage(
            message, entry_origin(indexed.name, entry), why
        )
    return line
