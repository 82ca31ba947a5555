"""What brings a lore entry up: keys, and the texts they occur in.

1. A key is looked for as it is, without regard to case unless the entry or its book asks for
   it. `{{user}}` and `{{char}}` in a key stand for the names.
2. With whole words asked for, a key that is a single word is not found inside a longer one.
   What counts as a letter there is ASCII: in scripts without blanks between words a key is
   found anywhere. A key of several words is found anywhere, too.
3. `/pattern/flags` is a regular expression (see `patterns`), and case and whole words are its
   own business. It is looked for in the last `SEARCHED` characters of a text. One that cannot
   be used is taken as plain text, with a note.
4. A text is searched once, for all keys of a book: what was found in a message is remembered
   with it. Each text is searched by itself: no key is found across two messages.
5. Keys that are whole ASCII words, as most are, are looked up in the text's words: a book may
   have a hundred thousand of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tui_chat.context.pattern_syntax import BadPattern, is_word
from tui_chat.context.patterns import Pattern
from tui_chat.model.lorebook import Lorebook, LorebookEntry
from tui_chat.model.memo import Memo
from tui_chat.model.message import Message

SEARCHED = 10_000
"""Characters of a text, the last ones, in which regular expressions are looked for."""

Found = frozenset[int]
"""The numbers of the keys that occur."""
NOTHING_FOUND: Found = frozenset()

_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and how it is looked for."""

    text: str
    """As it is written."""
    case_sensitive: bool
    whole_words: bool


@dataclass(frozen=True, slots=True)
class Keyed:
    """An entry with the numbers of its keys."""

    entry: LorebookEntry
    keys: tuple[int, ...]
    secondary: tuple[int, ...]


class _Plain:
    """Keys that are looked for letter by letter."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
        """Whole ASCII words, and the numbers of the keys that are them."""
        self._others: list[tuple[int, str, bool]] = []
        """Number, key, and whether it has to stand free."""

    def add(self, number: int, wanted: str, whole_words: bool) -> None:
        """Look for one key more."""
        if whole_words and _ASCII_WORDS.fullmatch(wanted):
            self._words.setdefault(wanted, []).append(number)
        else:
            self._others.append((number, wanted, whole_words and len(wanted.split()) == 1))

    def found(self, text: str) -> Iterator[int]:
        """Yield the numbers of the keys that occur."""
        if self._words:
            for word in self._words.keys() & set(_ASCII_WORDS.findall(text)):
                yield from self._words[word]
        for number, wanted, free in self._others:
            if wanted in text and (not free or _stands_free(wanted, text)):
                yield number


def _stands_free(wanted: str, text: str) -> bool:
    """Whether a key that occurs in a text does so as a whole word."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not is_word(text[at - 1 : at]) and not is_word(text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


class KeyIndex:
    """The keys of a book, numbered, each once."""

    def __init__(self, book: Lorebook, names: dict[str, str]) -> None:
        self._names = names
        self._numbers: dict[Key, int] = {}
        self.keys: list[Key] = []
        """By their numbers."""
        self.faults: list[tuple[LorebookEntry, str, str]] = []
        """Entry, key and what is wrong with the key."""
        self._folded = _Plain()
        self._exact = _Plain()
        self._patterns: list[tuple[int, Pattern]] = []
        self.entries = tuple(self._keyed(entry, book) for entry in book.entries if entry.enabled)
        self.in_message: Memo[Message, Found] = Memo(lambda message: self.found(message.content))
        """The keys that occur in a message."""
        self.in_entry: Memo[LorebookEntry, Found] = Memo(lambda entry: self.found(entry.content))
        """The keys that occur in the content of an entry, of whichever book."""
        self._last_draft: tuple[str, Found] = ("", NOTHING_FOUND)

    def in_draft(self, draft: str) -> Found:
        """Return the keys that occur in what is being typed."""
        if self._last_draft[0] != draft:
            self._last_draft = (draft, self.found(draft))
        return self._last_draft[1]

    def found(self, text: str) -> Found:
        """Return the keys that occur in a text."""
        found = [*self._folded.found(text.lower()), *self._exact.found(text)]
        if self._patterns:
            end = text[-SEARCHED:]
            found += [number for number, pattern in self._patterns if pattern.occurs_in(end)]
        return frozenset(found)

    def _keyed(self, entry: LorebookEntry, book: Lorebook) -> Keyed:
        case = book.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = book.whole_words if entry.whole_words is None else entry.whole_words

        def numbers(texts: Iterable[str]) -> tuple[int, ...]:
            return tuple(self._number(Key(t, case, whole), entry) for t in texts if t.strip())

        return Keyed(entry, numbers(entry.keys), numbers(entry.secondary_keys))

    def _number(self, key: Key, entry: LorebookEntry) -> int:
        if key not in self._numbers:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
            self._prepare(number, key, entry)
        return self._numbers[key]

    def _prepare(self, number: int, key: Key, entry: LorebookEntry) -> None:
        wanted = self._wanted(number)
        if written := _PATTERN.fullmatch(wanted):
            try:
                self._patterns.append((number, Pattern(written[1], written[2])))
            except BadPattern as fault:
                self.faults.append((entry, key.text, str(fault)))
            else:
                return
        if key.case_sensitive:
            self._exact.add(number, wanted, key.whole_words)
        else:
            self._folded.add(number, wanted.lower(), key.whole_words)

    def _wanted(self, number: int) -> str:
        """Return what is looked for, the names put in."""
        text = self.keys[number].text.strip()
        if "{{" in text:
            for name, value in self._names.items():
                text = re.sub(
                    r"\{\{\s*" + name + r"\s*\}\}", lambda _, v=value: v, text, flags=re.I
                )
        return text
