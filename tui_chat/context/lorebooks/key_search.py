"""Which keys of lorebooks occur in the texts that are searched for one request.

1. The newest messages are searched, each with the name of its speaker if the session says so. In a
   dialect that searches what is sent they have the builder's changes; the texts of the card, the
   profile and the author's note, and the content of entries, have their macros expanded.
2. What occurs in a message is remembered with it: a keystroke searches the draft only, and another
   turn the message that was added.
3. Keys that may span texts are searched for in all texts of an entry together, newest first, where
   each begins with the sign U+0001.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.book_index import (
    BookIndex,
    RankedEntry,
    entry_name,
    entry_origin,
)
from tui_chat.context.lorebooks.conditions import Conditions
from tui_chat.context.lorebooks.dialect import TextChanges
from tui_chat.context.lorebooks.keys import (
    MARK,
    NO_KEYS,
    SEARCHED_CHARACTERS,
    KeyIndex,
    KeyNumbers,
    Occurrences,
)
from tui_chat.context.macros.environment import MacroEnvironment
from tui_chat.context.macros.expander import expand
from tui_chat.context.macros.syntax import has_macros, parse
from tui_chat.context.session_texts import searched_texts
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message
from tui_chat.models.text import Origin, OriginKind

MAX_WIDER = 1_000
"""How many more messages are searched until enough entries are active."""
SPOKEN = ("user", "assistant")
"""The roles of the messages that are searched, unless all are."""
_LORE = Origin(OriginKind.LORE, "lore", "lore")


class SearchedTexts:
    """The texts of one request as they are searched."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._environment: MacroEnvironment | None = None
        self._contents: dict[int, str] = {}
        """The expanded content of entries, by their identity."""

    def expanded(self, text: str, *, is_card: bool = False) -> str:
        """Return a text with its macros expanded; what it sets holds for later ones."""
        syntax = self._inputs.rules.macros.syntax
        if not has_macros(text, syntax):
            return text
        if self._environment is None:
            self._environment = MacroEnvironment(self._inputs)
        return expand(
            text, parse(text, syntax), _LORE, self._environment, is_card=is_card
        ).text.plain

    def content(self, entry: LorebookEntry) -> str:
        """Return the content of an entry, expanded once for a request."""
        if id(entry) not in self._contents:
            self._contents[id(entry)] = self.expanded(entry.content)
        return self._contents[id(entry)]


def _changed(text: str, role: str, changes: TextChanges | None, depth: int) -> str:
    """Return the text of a message as it is searched; `depth` messages follow it."""
    return text if changes is None else changes.changed(text, role, depth)


def _in_message(
    index: KeyIndex,
    message: Message,
    names: tuple[str, str] | None,
    changes: TextChanges | None,
    depth: int,
    marks: bool,
) -> Occurrences:
    """Return the keys that occur in a message that `depth` messages follow."""
    if not (names or changes or marks):
        return index.in_message(message)
    text = _changed(message.content, message.role, changes, depth)
    return index.in_named(message, searched_text(text, message.role, message.name, names, marks))


def _newest(history: tuple[Message, ...], depth: int, every_role: bool) -> tuple[Message, ...]:
    """Return the newest messages that are searched, newest first."""
    searched = (m for m in reversed(history) if every_role or m.role in SPOKEN)
    return tuple(islice(searched, max(depth, 0)))


@recent_memo(8)
def newest_texts(
    history: tuple[Message, ...],
    depth: int,
    names: tuple[str, str] | None,
    every_role: bool,
    changes: TextChanges | None,
    follow: int,
) -> tuple[str, ...]:
    """Return the newest messages as searched together; `follow` messages follow the last one."""
    return tuple(
        searched_text(
            _changed(message.content, message.role, changes, follow + place),
            *(message.role, message.name, names),
            marks=True,
        )
        for place, message in enumerate(_newest(history, depth, every_role))
    )


def searched_text(
    text: str, role: str, name: str, names: tuple[str, str] | None, marks: bool
) -> str:
    """Return a message's text as it is searched: with the name of its speaker, and as one of all
    texts together if it `marks` where it begins.
    """
    if names is not None:
        text = f"{name or (names[0] if role == 'user' else names[1])}: {text}"
    return MARK + text.strip() if marks else text


@dataclass(frozen=True, slots=True)
class HistoryKeys:
    """The keys of a book that occur in the newest messages of a history."""

    texts: tuple[Message, ...]
    """The messages that were searched, the newest first."""
    first: dict[int, int]
    """By key: the index of the first message in which it occurs."""
    undecided: tuple[tuple[int, Message], ...]
    """Places and messages in which patterns with back-references may occur."""
    spanning: KeyNumbers
    """Patterns that may occur in all texts together."""


@recent_memo(64)  # books that are active at once
def history_keys(
    index: KeyIndex,
    history: tuple[Message, ...],
    depth: int,
    names: tuple[str, str] | None,
    every_role: bool,
    changes: TextChanges | None,
    follow: int,
    marks: bool,
) -> HistoryKeys:
    """Search the newest messages; remembered, so that a keystroke searches the draft only.
    `follow` messages follow the last one.
    """
    texts = _newest(history, depth, every_role)
    first: dict[int, int] = {}
    undecided: list[tuple[int, Message]] = []
    spanning = NO_KEYS
    for place, message in enumerate(texts):
        occurrences = _in_message(index, message, names, changes, follow + place, marks)
        for key in occurrences.found:
            first.setdefault(key, place)
        if occurrences.undecided:
            undecided.append((place, message))
        if occurrences.spanning:
            spanning |= occurrences.spanning
    return HistoryKeys(texts, first, tuple(undecided), spanning)


class KeySearch:
    """The keys that occur in the conversation, in active entries and in other texts."""

    def __init__(self, inputs: Inputs, books_index: BookIndex) -> None:
        self._inputs = inputs
        self._rules = inputs.lore_rules
        self.dialect = inputs.rules.lore
        self.index = books_index
        self.length = len(inputs.history) + inputs.has_draft
        self.conditions = Conditions(inputs, self.length)
        self._texts = SearchedTexts(inputs)
        self._changes = self.dialect.changes(inputs)
        self._follow = inputs.has_draft - (inputs.chat.kind == "continue")
        """How many messages follow the newest one of the history, as changes count them."""
        self.newest: tuple[Message | None, ...] = ()
        """The searched texts, newest first; None is the typed draft."""
        self._round_texts: list[str] = []
        """The contents of the entries of each earlier round."""
        self._joined: dict[tuple[int, tuple[str, ...], bool, int], str] = {}
        """All texts together; see `_all_texts`."""
        self._steps: dict[tuple[int, int], int] = {}
        """Steps of backtracking, by book and key."""
        self._too_slow: set[tuple[int, int]] = set()
        """Keys, by book, that exceeded their step limit."""
        self._wider: int = 0
        """How many messages more than usual are searched."""
        self._may_span = [set(book.index.always_possible) for book in books_index.books]
        """For each book: its keys that may occur in all texts together."""
        self._also_searched = [line.message for line in searched_texts(inputs)]
        self.first_in_texts = [self._first_texts(n) for n in range(len(books_index.books))]
        """For each book: its keys that occur in the newest texts, and the first text of each."""
        self._in_others = [self._keys_in_others(n) for n in range(len(books_index.books))]
        """For each book: its keys that occur in the author's note and the like, and where."""
        self.first_in_entries: list[dict[int, LorebookEntry]] = [{} for _ in books_index.books]
        """For each book: its keys that occur in activated entries, and the first entry of each."""

    def _content(self, entry: LorebookEntry) -> str:
        return self._texts.content(entry) if self.dialect.searches_sent_texts else entry.content

    def _keys_in_others(self, number: int) -> dict[int, str]:
        """Return the keys of a book that occur in the author's note and the like."""
        index = self.index.books[number].index
        found: dict[int, str] = {}
        for name, text in self._also_texts():
            for key in self._in_string(number, index, text):
                found.setdefault(key, name)
        return found

    def _also_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the author's note and the like: what they are called, and their texts."""
        for message in self._also_searched:
            text = message.content
            if self.dialect.searches_sent_texts:
                text = self._texts.expanded(text, is_card=message.id == "depth_prompt")
            yield message.name, text

    def _draft_text(self) -> str:
        return _changed(self._inputs.draft, "user", self._changes, self._follow - 1)

    def _in_string(self, number: int, index: KeyIndex, text: str) -> KeyNumbers:
        return self._decided(number, index, text, index.in_string(text))

    def _first_texts(self, number: int) -> dict[int, int]:
        """Return the keys of a book that occur in the newest texts, each with its first text. The
        texts are all those that may be searched for enough active entries.
        """
        index = self.index.books[number].index
        depth = self.index.scan_depths[number]
        if self._rules.min_activations:
            depth += MAX_WIDER
        depth = self._limited(depth)
        if depth <= 0:
            return {}
        has_draft, draft = self._inputs.has_draft, self._inputs.answered
        prefixes = self.prefixes
        first: dict[int, int] = {}
        if has_draft:
            first = dict.fromkeys(self._occurring(number, index, draft), 0)
        history = history_keys(
            *(index, self._inputs.history, depth - has_draft, prefixes),
            *(self.dialect.searches_every_role, self._changes, self._follow),
            self.dialect.joins_texts,
        )
        self._may_span[number] |= history.spanning
        for key, place in history.first.items():
            first.setdefault(key, place + has_draft)
        for place, message in history.undecided:
            for key in self._occurring(number, index, message):
                first[key] = min(first.get(key, depth), place + has_draft)
        texts = (draft, *history.texts) if has_draft else history.texts
        self.newest = max(self.newest, texts, key=len)
        return first

    @property
    def prefixes(self) -> tuple[str, str] | None:
        """The names before the texts of messages of user and character; None for no names."""
        if not self._rules.names:
            return None
        return self._inputs.user_name, self._inputs.char_name

    def _occurring(
        self, number: int, index: KeyIndex, source: Message | LorebookEntry | None
    ) -> KeyNumbers:
        """Return the keys of a book that occur in a text; None is the draft."""
        marks = self.dialect.joins_texts
        if source is None:
            text = searched_text(self._draft_text(), "user", "", self.prefixes, marks)
            return self._decided(number, index, text, index.in_draft(text))
        if isinstance(source, Message):
            if not (self.prefixes or self._changes or marks):
                known = index.in_message(source)
            else:
                text = source.content if source is not self._inputs.answered else self._draft_text()
                names = source.name, self.prefixes
                text = searched_text(text, source.role, *names, marks)
                return self._decided(number, index, text, index.in_named(source, text))
        elif (content := self._content(source)) != source.content:
            return self._in_string(number, index, content)
        else:
            known = index.in_entry(source)
        return self._decided(number, index, source, known)

    def _decided(
        self,
        number: int,
        index: KeyIndex,
        source: Message | LorebookEntry | str,
        known: Occurrences,
    ) -> KeyNumbers:
        """Return the keys that occur, those with back-references decided."""
        if known.spanning:
            self._may_span[number] |= known.spanning
        if not known.undecided:
            return known.found
        occurring: set[int] = set()
        for key in known.undecided:
            taken = self._steps.get((number, key), 0)
            if taken >= index.step_limit:
                self._too_slow.add((number, key))
                continue
            occurs, steps = index.backtrack(key, source)
            self._steps[number, key] = taken + abs(steps)
            if occurs:
                occurring.add(key)
            elif steps < 0:
                self._too_slow.add((number, key))
        return known.found | occurring

    def depth(self, candidate: RankedEntry) -> int:
        """Return how many of the newest texts are searched for the keys of an entry."""
        is_own = candidate.keyed.entry.scan_depth is not None
        depth = candidate.depth if is_own else candidate.depth + self._wider
        return self._limited(depth)

    def _limited(self, depth: int) -> int:
        most = self.dialect.max_depth
        return depth if most is None else min(depth, most)

    def add_round_text(self, entries: Iterable[LorebookEntry]) -> None:
        """Have the content of a round's entries searched together with the other texts."""
        if text := "\n".join(map(self._content, entries)):
            self._round_texts.append(text)

    @property
    def has_round_text(self) -> bool:
        """True if the content of entries of an earlier round is searched."""
        return bool(self._round_texts)

    def in_texts(self, candidate: RankedEntry) -> Mapping[int, int]:
        """Return the keys that occur in the newest texts, each with its first text."""
        return self.first_in_texts[candidate.number]

    def in_entries(self, candidate: RankedEntry, state: str) -> Mapping[int, LorebookEntry]:
        """Return the keys that occur in active entries, each with its first entry."""
        return {} if state == "wider" else self.first_in_entries[candidate.number]

    def others(self, candidate: RankedEntry, state: str) -> Mapping[int, str]:
        """Return the keys that occur in other texts or in all together, and where."""
        number, keyed = candidate.number, candidate.keyed
        others = self._in_others[number]
        if not (keyed.entry.sources or keyed.in_all_texts):
            return others
        index, found = candidate.indexed.index, dict(others)
        for words, text in self._sources(keyed.entry):
            for key in self._in_string(number, index, text):
                found.setdefault(key, words)
        if spans := [key for key in keyed.in_all_texts if key in self._may_span[number]]:
            text = self._all_texts(candidate, state)
            for key in spans:
                if self._occurs_in_all(index, key, text):
                    found[key] = "conversation"
        return found

    def _occurs_in_all(self, index: KeyIndex, key: int, text: str) -> bool:
        if key in index.with_macros:
            wanted = self._texts.expanded(index.keys[key].text)
            return index.expanded_occurs(key, wanted, text)
        return index.occurs_in_all(key, text[:SEARCHED_CHARACTERS])

    def _sources(self, entry: LorebookEntry) -> Iterator[tuple[str, str]]:
        """Yield names and content of the other texts that are searched for an entry."""
        for words, text in self.conditions.source_texts(entry):
            if self.dialect.searches_sent_texts:
                text = self._texts.expanded(text, is_card=words != "persona")
            yield words, text

    def _all_texts(self, candidate: RankedEntry, state: str) -> str:
        """Return all texts searched together for an entry; a round's like entries share them."""
        inputs, depth, sources = self._inputs, self.depth(candidate), candidate.keyed.entry.sources
        key = depth, sources, state == "wider", len(self._round_texts)
        if key in self._joined:
            return self._joined[key]
        texts: list[str] = []
        if inputs.has_draft:
            draft = searched_text(self._draft_text(), "user", "", self.prefixes, marks=True)
            texts.append(draft)
        texts += newest_texts(
            *(inputs.history, max(depth - len(texts), 0), self.prefixes),
            *(self.dialect.searches_every_role, self._changes, self._follow),
        )
        texts += (MARK + text for _, text in self._sources(candidate.keyed.entry) if text)
        texts += (MARK + text for _, text in self._also_texts() if text)
        if state != "wider":
            texts += (MARK + text for text in self._round_texts)
        self._joined[key] = "\n".join(texts)
        return self._joined[key]

    def is_searched(self, message: Message) -> bool:
        """True if a message of the conversation is searched."""
        return self.dialect.searches_every_role or message.role in SPOKEN

    def keys_in(self, index: KeyIndex, message: Message) -> KeyNumbers | None:
        """Return the keys that may occur in a message; None if that differs with its depth."""
        if self._changes is not None and self._changes.is_by_depth:
            return None
        marks = self.dialect.joins_texts
        return _in_message(index, message, self.prefixes, self._changes, 0, marks).possible

    def keys_in_content(self, index: KeyIndex, entry: LorebookEntry) -> KeyNumbers | None:
        """Return the keys that may occur in an entry's content; None if requests differ in that."""
        if not self.dialect.searches_sent_texts or self._keeps(entry.content):
            return index.in_entry(entry).possible
        return self._keys_in_macros(index, entry.content)

    def _keeps(self, text: str) -> bool:
        """True if a text has no macros."""
        return not has_macros(text, self._inputs.rules.macros.syntax)

    def _keys_in_macros(self, index: KeyIndex, text: str) -> KeyNumbers | None:
        text = index.with_names(text)
        return index.in_string(text).possible if self._keeps(text) else None

    def has_blank_key(self, entry: LorebookEntry) -> bool:
        """True if a key is only white space, and occurs therefore in every text."""
        return self.dialect.takes_blank_keys and any(key and not key.strip() for key in entry.keys)

    def may_be_active(self, candidate: RankedEntry) -> bool:
        """True if an entry may be active whatever the messages of the conversation are."""
        keyed, index = candidate.keyed, candidate.indexed.index
        if keyed.entry.constant or self.has_blank_key(keyed.entry):
            return True
        if not index.always_possible.isdisjoint(keyed.keys):
            return True
        sources = (text for _, text in self.conditions.source_texts(keyed.entry))
        for text in chain((message.content for message in self._also_searched), sources):
            keys = self._keys_in_macros(index, text)
            if keys is None or not keys.isdisjoint(keyed.keys):
                return True
        return False

    def _slow_key_notes(self) -> Iterator[Note]:
        """Yield a note about each key that takes too long to match."""
        for number, key in sorted(self._too_slow):
            index = self.index.books[number].index
            entry = next(k.entry for k in index.entries if key in k.keys or key in k.secondary)
            sentence = (
                f"The key {index.keys[key].text} of the lore entry “{entry_name(entry)}” takes too "
                "long to match: it has a back-reference to a group with very many possible "
                "matches. It may be missed in long or older messages. Simplify the pattern."
            )
            origin = entry_origin(self._inputs.searched_lorebooks[number].name, entry)
            yield Note(Level.WARNING, "lore-key-too-slow", sentence, origin)
