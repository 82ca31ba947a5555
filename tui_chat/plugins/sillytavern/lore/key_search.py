"""Which keys of lorebooks occur in the texts that are searched for one request.

1. The newest messages are searched as the scripts change them, each with the name of its speaker
   if the session says so. The texts of the card, the profile and the author's note, and the content
   of entries, have their macros expanded.
2. What occurs in a message is remembered with it: a keystroke searches the draft only.
3. Keys that may span texts are searched for in all texts of an entry together, newest first, where
   each begins with the sign U+0001.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expander import Expander
from tui_chat.context.session_texts import searched_texts
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.context.scripts import message_changes
from tui_chat.plugins.sillytavern.lore.book_index import BookIndex, RankedEntry
from tui_chat.plugins.sillytavern.lore.conditions import Conditions
from tui_chat.plugins.sillytavern.lore.keys import MARK, SEARCHED_CHARACTERS, KeyNumbers
from tui_chat.plugins.sillytavern.lore.rules import search_rules, searched_books

MAX_WIDER = 1_000
"""How many more messages are searched until enough entries are active."""
MAX_DEPTH = 1_000
"""The most messages that are searched for an entry."""
_LORE = Origin(OriginKind.LORE, "lore", "lore")
OTHERS = 1_000_000
_ENTRIES = 2_000_000
"""The order of texts besides messages, and of the content of entries, after all messages."""

KeyPlace: TypeAlias = Message | LorebookEntry | str | None
"""Where a key occurs: a message, the content of an active entry, another text by its name; None for
the typed draft."""


class KeySearch:
    """The keys that occur in the conversation, in active entries and in other texts."""

    def __init__(self, inputs: Inputs, books_index: BookIndex) -> None:
        self._inputs = inputs
        self._rules = search_rules(inputs)
        self.books = searched_books(inputs)
        self.index = books_index
        self.length = len(inputs.history) + inputs.has_draft
        self.conditions = Conditions(inputs, self.length)
        self._expander = Expander(inputs)
        self._contents: dict[int, str] = {}
        """The expanded content of entries, by their identity."""
        self._changes = message_changes(inputs)
        self._round_texts: list[str] = []
        """The contents of the entries of each earlier round."""
        self._joined: dict[tuple[int, tuple[str, ...], bool, int], str] = {}
        """All texts together; see `_all_texts`."""
        self._wider: int = 0
        """How many messages more than usual are searched."""
        more = MAX_WIDER if self._rules.min_activations else 0
        depths = [self._limited(depth + more) for depth in books_index.scan_depths]
        self.texts = tuple(self._newest_texts(max(depths, default=0)))
        """The searched messages and their texts, newest first; None is the typed draft."""
        self._also = tuple(self._also_texts())
        """The author's note and the like: what they are called, and their texts."""
        self.first_in_texts = [self._first_texts(*each) for each in enumerate(depths)]
        """For each book: its keys that occur in the newest texts, and the first text of each."""
        self._in_others = [
            {key: name for name, text in reversed(self._also) for key in book.index.in_string(text)}
            for book in books_index.books
        ]
        """For each book: its keys that occur in the author's note and the like, and where."""
        self.first_in_entries: list[dict[int, tuple[int, LorebookEntry]]] = [
            {} for _ in books_index.books
        ]
        """For each book: its keys that occur in activated entries, and the first entry of each."""

    @property
    def prefixes(self) -> tuple[str, str] | None:
        """The names before the texts of messages of user and character; None for no names."""
        return (self._inputs.user_name, self._inputs.char_name) if self._rules.names else None

    def _newest_texts(self, depth: int) -> Iterator[tuple[Message | None, str]]:
        inputs = self._inputs
        follow = inputs.has_draft - (inputs.chat.kind == "continue")  # as changes count messages
        if depth > 0 and inputs.has_draft:
            name = "" if inputs.answered is None else inputs.answered.name
            yield inputs.answered, self._text(inputs.draft, "user", name, follow - 1)
        newest_first = reversed(inputs.history)
        for place, message in enumerate(islice(newest_first, max(depth - inputs.has_draft, 0))):
            text = self._text(message.content, message.role, message.name, follow + place)
            yield message, text

    def _text(self, text: str, role: str, name: str, depth: int) -> str:
        """Return the text of a message that `depth` messages follow, as it is searched."""
        if self._changes is not None:
            text = self._changes.changed(text, role, depth)
        if self.prefixes is not None:
            text = f"{name or self.prefixes[role != 'user']}: {text}"
        return MARK + text.strip()

    def _also_texts(self) -> Iterator[tuple[str, str]]:
        for line in searched_texts(self._inputs):
            message = line.message
            is_card = message.id == "depth_prompt"
            yield message.name, self._expanded(message.content, is_card=is_card)

    def _first_texts(self, number: int, depth: int) -> dict[int, int]:
        index, first = self.index.books[number].index, dict[int, int]()
        for place, (message, text) in enumerate(self.texts[: max(depth, 0)]):
            keys = index.in_string(text) if message is None else index.in_message(message, text)
            for key in keys:
                first.setdefault(key, place)
        return first

    def _expanded(self, text: str, *, is_card: bool = False) -> str:
        """Return a text with its macros expanded; what it sets holds for later ones."""
        return self._expander.expand_text(text, _LORE, is_card=is_card)

    def content(self, entry: LorebookEntry) -> str:
        """Return the content of an entry as it is searched and charged, expanded once."""
        if id(entry) not in self._contents:
            self._contents[id(entry)] = self._expanded(entry.content)
        return self._contents[id(entry)]

    def search_content(self, entries: list[LorebookEntry], at: int) -> None:
        """Search the content of a round's entries; `at` have been searched before."""
        for number, book in enumerate(self.index.books):
            for place, entry in enumerate(entries, at):
                found: KeyNumbers = book.index.in_entry(entry, self.content(entry))
                for key in found:
                    self.first_in_entries[number].setdefault(key, (place, entry))
        if text := "\n".join(map(self.content, entries)):
            self._round_texts.append(text)

    @property
    def has_round_text(self) -> bool:
        """True if the content of entries of an earlier round is searched."""
        return bool(self._round_texts)

    def depth(self, candidate: RankedEntry) -> int:
        """Return how many of the newest texts are searched for the keys of an entry."""
        is_own = candidate.keyed.entry.scan_depth is not None
        return self._limited(candidate.depth if is_own else candidate.depth + self._wider)

    def _limited(self, depth: int) -> int:
        return min(depth, MAX_DEPTH)

    def possible(self) -> Iterator[int]:
        """Yield the ranks that have a matching key or need none."""
        found = [
            {
                *(key for key, place in first.items() if place < depth + self._wider),
                *entries,
                *others,
            }
            for depth, first, entries, others in zip(
                self.index.scan_depths,
                *(self.first_in_texts, self.first_in_entries, self._in_others),
                strict=True,
            )
        ]
        for rank, candidate in enumerate(self.index.candidates):
            keyed = candidate.keyed
            if (
                not found[candidate.number].isdisjoint(keyed.keys)
                or keyed.entry.constant
                or keyed.in_all_texts
                or keyed.entry.sources
                or keyed.has_blank_key
                or self.conditions.is_sticky(candidate)
            ):
                yield rank

    def places(self, candidate: RankedEntry, state: str) -> dict[int, tuple[int, KeyPlace]]:
        """Return the keys of an entry that occur, each with where: the newest text first."""
        number, keyed, depth = candidate.number, candidate.keyed, self.depth(candidate)
        if depth <= 0:
            return {}
        in_texts, others = self.first_in_texts[number], self._in_others[number]
        in_entries = {} if state == "wider" else self.first_in_entries[number]
        sources: dict[int, str] = {}
        for name, text in self._sources(keyed.entry):
            for key in candidate.indexed.index.in_string(text):
                sources.setdefault(key, name)
        found: dict[int, tuple[int, KeyPlace]] = {}
        for key in (*keyed.keys, *keyed.secondary):
            if (place := in_texts.get(key, depth)) < depth:
                found[key] = place, self.texts[place][0]
            elif key in others or key in sources:
                found[key] = OTHERS, others.get(key) or sources[key]
            elif key in in_entries:
                place, entry = in_entries[key]
                found[key] = _ENTRIES + place, entry
        for key in keyed.in_all_texts:
            if key not in found and (place := self._in_all_texts(candidate, key, state)):
                found[key] = place
        return found

    def _in_all_texts(
        self, candidate: RankedEntry, key: int, state: str
    ) -> tuple[int, KeyPlace] | None:
        """Return where a key occurs in all texts together: in one of them, or across several."""
        index = candidate.indexed.index
        wanted = index.with_names(index.keys[key].text)
        if key in index.with_macros:
            wanted = self._expanded(index.keys[key].text)
        if not index.occurs_in_all(key, wanted, self._all_texts(candidate, state)):
            return None
        for place, (message, text) in enumerate(self.texts[: self.depth(candidate)]):
            if index.occurs_in_all(key, wanted, text[-SEARCHED_CHARACTERS:]):
                return place, message
        return OTHERS, "conversation"

    def _sources(self, entry: LorebookEntry) -> Iterator[tuple[str, str]]:
        """Yield names and content of the other texts that are searched for an entry."""
        for words, text in self.conditions.source_texts(entry):
            yield words, self._expanded(text, is_card=words != "persona")

    def _all_texts(self, candidate: RankedEntry, state: str) -> str:
        """Return all texts searched together for an entry; a round's like entries share them."""
        depth, entry = self.depth(candidate), candidate.keyed.entry
        key = depth, entry.sources, state == "wider", len(self._round_texts)
        if key not in self._joined:
            others: Iterable[str] = (text for _, text in (*self._sources(entry), *self._also))
            rounds = self._round_texts if state != "wider" else ()
            marked = (MARK + text for text in (*others, *rounds) if text)
            self._joined[key] = "\n".join((*(text for _, text in self.texts[:depth]), *marked))
        return self._joined[key]
