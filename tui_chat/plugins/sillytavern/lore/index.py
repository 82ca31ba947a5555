"""Lorebooks prepared for searching: their entries by importance, and their keys.

All of this depends only on the books, and is computed once for those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.keys import Key, KeySet, key_fault


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may be activated."""

    book: Lorebook
    entry: LorebookEntry
    keys: tuple[Key, ...]
    secondary: tuple[Key, ...]

    @property
    def timer_key(self) -> tuple[str, str]:
        """What its timers name it by."""
        return self.book.name, self.entry.id


class LoreIndex:
    """The entries of several books. An entry is known by its rank, its index by importance."""

    def __init__(self, books: Iterable[Lorebook], tiers: tuple[int, ...]) -> None:
        """`tiers`: of each book; those of a lower tier are more important."""
        ranked: list[tuple[int, Candidate]] = []
        known: set[int] = set()
        for number, book in enumerate(books):
            tier = tiers[number] if number < len(tiers) else 0
            if id(book) not in known:  # a book given twice is one book
                ranked += ((tier, each) for each in _candidates(book))
            known.add(id(book))
        ranked.sort(key=lambda each: (each[0], -each[1].entry.order))
        self.candidates = [candidate for _, candidate in ranked]
        """The most important first."""
        keys = {key for each in self.candidates for key in (*each.keys, *each.secondary)}
        self.keys = KeySet(key for key in keys if not key.spans_texts)
        self.spanning = frozenset(key for key in keys if key.spans_texts)
        """The keys that are searched for in several texts together."""
        self.by_key: dict[Key, list[int]] = {}
        """The ranks of the entries with a key."""
        self.always: list[int] = []
        """The ranks of entries that may be active without one of `keys`."""
        for rank, candidate in enumerate(self.candidates):
            for key in candidate.keys:
                self.by_key.setdefault(key, []).append(rank)
            entry = candidate.entry
            spans = not self.spanning.isdisjoint(candidate.keys)
            if entry.constant or entry.sources or spans:
                self.always.append(rank)
        depths = (
            each.book.scan_depth if each.entry.scan_depth is None else each.entry.scan_depth
            for each in self.candidates
        )
        self.depth = max(depths, default=0)
        """The most texts that are searched for an entry."""
        levels = {entry.delay_until_recursion for book in books for entry in book.entries}
        self.levels = sorted(levels - {0})
        """The levels of `delay_until_recursion`; those of disabled entries count."""
        self.recursive = any(book.recursive for book in books)
        """True if the content of active entries is searched."""
        self.notes = tuple(self._notes())

    def _notes(self) -> Iterator[Note]:
        for candidate in self.candidates:
            name = f"the lore entry “{entry_name(candidate.entry)}”"
            origin = entry_origin(candidate.book.name, candidate.entry)
            for key in candidate.keys:
                if fault := key_fault(key):
                    what = f"it {fault}; it is searched for as plain text."
                    sentence = f"The key {key.text} of {name} is not a usable pattern: {what}"
                    yield Note(Level.WARNING, "lore-key", sentence, origin)
            if not candidate.entry.constant and not any(key.text for key in candidate.keys):
                sentence = f"T{name[1:]} has no keys, so it is never active."
                yield Note(Level.INFO, "lore-idle", sentence, origin)


@recent_memo()
def lore_index(books: tuple[Lorebook, ...], tiers: tuple[int, ...]) -> LoreIndex:
    """Return the index of some books, the same object for the same books."""
    return LoreIndex(books, tiers)


def _candidates(book: Lorebook) -> Iterator[Candidate]:
    for entry in book.entries:
        if entry.enabled:
            case = book.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
            whole = book.whole_words if entry.whole_words is None else entry.whole_words
            keys, secondary = (
                tuple(Key(text, case, whole) for text in texts)
                for texts in (entry.keys, entry.secondary_keys)
            )
            yield Candidate(book, entry, keys, secondary)


def entry_name(entry: LorebookEntry) -> str:
    """Return the display name of an entry."""
    return entry.name or next(iter(entry.keys), entry.id)


def entry_origin(book: str, entry: LorebookEntry) -> Origin:
    """Return the origin of the content of an entry."""
    within = Origin(OriginKind.LORE, book)
    return Origin(OriginKind.LORE, f"{book}/{entry.id}", entry_name(entry), within)


@Memo
def resolve_entry(entry: LorebookEntry, book: str, why: str) -> ResolvedMessage:
    """Return an entry as a message, the same object for the same `why`."""
    message = PresetMessage(
        id=f"{book}/{entry.id}",
        role=entry.role,
        content=entry.content,
        name=entry_name(entry),
        insertion_point=entry.insertion_point,
        anchor_point=entry.anchor_point,
        anchor_target=entry.anchor_target,
        order=entry.order,
    )
    return ResolvedMessage(message, entry_origin(book, entry), why)
