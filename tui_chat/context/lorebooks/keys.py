"""The keys of lore entries, and the search for them.

1. A key is searched for literally, without regard to case unless the entry or its book asks for
   it. `{{user}}` and `{{char}}` in a key stand for the names.
2. With whole words asked for, a key that is a single word is not found inside a longer one.
   What counts as a letter there is ASCII: in scripts without spaces between words a key is
   found anywhere. A key of several words is found anywhere, too.
3. `/pattern/flags` is a regular expression (see `patterns`), to which case and whole words do not
   apply. It is searched for in the last `SEARCHED_CHARACTERS` characters of a text. An invalid one
   is taken as plain text, with a note.
4. A text is searched once, for all keys of a book, and the result is remembered with the message.
   Each text is searched by itself: no key is found across two messages.
5. A book may have a hundred thousand keys. Those that are whole ASCII words, as most are, are
   looked up in the text's words; of all others, and of the literals that patterns require, one
   substring each is looked up among those of the text, and only what has it is searched for.
6. Patterns with back-references are searched for by backtracking, in at most `step_limit` steps
   over all texts, so that the work is bounded and the result is the same on any machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tui_chat.context.lorebooks.patterns import BadPattern, Pattern, Test, is_word, utf16_units
from tui_chat.context.lorebooks.searched import spans_texts
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo
from tui_chat.models.message import Message

SEARCHED_CHARACTERS = 10_000
"""Length of the end of a text that regular expressions search."""
BACKTRACKING_STEPS = 2_000_000
"""Maximum steps of all patterns with back-references of a book: about a second."""
MIN_STEPS_PER_KEY = 20_000
"""Minimum number of steps for each of them."""
STEPS_PER_CHARACTER = 100
MIN_STEPS_PER_TEXT = 5_000
"""Together, the limit of one pattern in one text. Usual patterns take 5 to 20 per character."""

KeyNumbers = frozenset[int]
"""The numbers of the keys that occur."""
NO_KEYS: KeyNumbers = frozenset()

_GRAM = 4
"""Length of the substrings by which literals are found; shorter literals have their own index."""
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The keys that occur in a text."""

    found: KeyNumbers
    undecided: tuple[int, ...] = ()
    """Patterns with back-references that may occur; `KeyIndex.backtrack` decides."""


@dataclass(frozen=True, slots=True)
class LoreKey:
    """A key and how it is searched for."""

    text: str
    """As written."""
    case_sensitive: bool
    whole_words: bool


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    """An entry with the numbers of its keys."""

    entry: LorebookEntry
    keys: tuple[int, ...]
    secondary: tuple[int, ...]


class _Literals:
    """Literals that are searched for in one pass."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}
        self._by_gram: tuple[tuple[int, dict[str, list[str]]], ...] | None = None
        """For each length up to 4: the literals, by one of their substrings of that length."""

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def add(self, number: int, literal: str) -> None:
        """Add a literal; several may have the same number."""
        self._numbers.setdefault(literal, []).append(number)
        self._by_gram = None

    def found(self, text: str) -> Iterator[tuple[str, list[int]]]:
        """Yield the literals that occur, and their numbers."""
        if self._by_gram is None:
            self._by_gram = tuple(self._index())
        for size, literals in self._by_gram:
            grams = {text[at : at + size] for at in range(len(text) - size + 1)}
            for gram in literals.keys() & grams:
                for literal in literals[gram]:
                    if len(literal) == size or literal in text:
                        yield literal, self._numbers[literal]

    def _index(self) -> Iterator[tuple[int, dict[str, list[str]]]]:
        """Yield the lengths of substrings, and literals by the one that fewest others have."""
        for size in (1, 2, 3, _GRAM):
            members = [
                (literal, [literal[at : at + size] for at in range(len(literal) - size + 1)])
                for literal in self._numbers
                if len(literal) == size or len(literal) > size == _GRAM
            ]
            shared = Counter(chain.from_iterable(grams for _, grams in members))
            by_gram: dict[str, list[str]] = {}
            for literal, grams in members:
                rarest = min(grams, key=shared.__getitem__)
                by_gram.setdefault(rarest, []).append(literal)
            if by_gram:
                yield size, by_gram


class _Plain:
    """Keys that are literals."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
        """Key numbers by whole ASCII word."""
        self._anywhere = _Literals()
        self._whole_words = _Literals()
        """Literals that must be whole words."""

    def __bool__(self) -> bool:
        return bool(self._words or self._anywhere or self._whole_words)

    def add(self, number: int, wanted: str, whole_words: bool) -> None:
        """Add a key."""
        if whole_words and _ASCII_WORDS.fullmatch(wanted):
            self._words.setdefault(wanted, []).append(number)
        elif whole_words and len(wanted.split()) == 1:
            self._whole_words.add(number, wanted)
        else:
            self._anywhere.add(number, wanted)

    def found(self, text: str) -> Iterator[int]:
        """Yield the numbers of the keys that occur."""
        if self._words:
            for word in self._words.keys() & set(_ASCII_WORDS.findall(text)):
                yield from self._words[word]
        for _, numbers in self._anywhere.found(text):
            yield from numbers
        for wanted, numbers in self._whole_words.found(text):
            if _is_whole_word(wanted, text):
                yield from numbers


class _Patterns:
    """Keys that are regular expressions."""

    def __init__(self) -> None:
        self._patterns: dict[int, Pattern] = {}
        self._required = _Literals()
        """The required literals of patterns, with the patterns' numbers."""
        self._without_literal: list[int] = []
        """Patterns that require no literal."""
        self._by_test: dict[Test, list[tuple[frozenset[Test], int]]] | None = None
        """These patterns with their required tests, by the test that most patterns share."""
        self._passing: dict[Test, set[str]] = {}
        """By test: the characters of `_characters` that pass it."""
        self._characters: set[str] = set()
        self.backtracking: set[int] = set()
        """The patterns with back-references."""

    def add(self, number: int, pattern: Pattern) -> None:
        """Add a pattern."""
        self._patterns[number] = pattern
        for literal in pattern.required_texts:
            self._required.add(number, literal)
        if not pattern.required_texts:
            self._without_literal.append(number)
            self._by_test = None
        if pattern.has_back_references:
            self.backtracking.add(number)

    def found(self, text: str) -> Iterator[int]:
        """Yield the numbers of the patterns that occur or, with back-references, may occur."""
        if not self._patterns:
            return
        start = max(len(text) - SEARCHED_CHARACTERS, 0)
        numbers = set(self._possible_without_literal(text[start:]))
        for _, requiring in self._required.found(text[start:].casefold()):
            numbers.update(requiring)
        for number in sorted(numbers):
            if self._patterns[number].occurs_in(text, start):
                yield number

    def _possible_without_literal(self, text: str) -> Iterator[int]:
        if not self._without_literal:
            return
        if self._by_test is None:
            self._by_test = self._index_tests()
        characters = {*text, *utf16_units(text), ""}  # a pattern may require no character
        for character in characters - self._characters:
            for test, passing in self._passing.items():
                if test(character):
                    passing.add(character)
            self._characters.add(character)
        passing = self._passing
        for test, patterns in self._by_test.items():
            if not passing[test].isdisjoint(characters):
                for tests, number in patterns:
                    for each in tests:
                        if passing[each].isdisjoint(characters):
                            break
                    else:
                        yield number

    def _index_tests(self) -> dict[Test, list[tuple[frozenset[Test], int]]]:
        required: list[tuple[frozenset[Test], int]] = []
        for number in self._without_literal:
            tests = self._patterns[number].required_characters
            required.append((tests or frozenset((_always,)), number))
        sharing = Counter(chain.from_iterable(tests for tests, _ in required))
        self._passing, self._characters = {test: set() for test in sharing}, set()
        by_test: dict[Test, list[tuple[frozenset[Test], int]]] = {}
        for tests, number in required:
            most = max(tests, key=sharing.__getitem__)
            by_test.setdefault(most, []).append((tests, number))
        return by_test

    def backtrack(self, number: int, text: str, limit: int) -> tuple[bool, int]:
        """Decide whether a pattern with back-references occurs; also return the steps."""
        start = max(len(text) - SEARCHED_CHARACTERS, 0)
        limit = min(limit, MIN_STEPS_PER_TEXT + STEPS_PER_CHARACTER * (len(text) - start))
        return self._patterns[number].backtrack(text, start, limit)


def _always(_: str) -> bool:
    return True


def _is_whole_word(wanted: str, text: str) -> bool:
    """True if a key occurs in a text as a whole word."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not is_word(text[at - 1 : at]) and not is_word(text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


class KeyIndex:
    """The distinct keys of a book, numbered."""

    def __init__(self, book: Lorebook, names: dict[str, str]) -> None:
        self._names = names
        self._numbers: dict[LoreKey, int] = {}
        self.keys: list[LoreKey] = []
        """By number."""
        self.faults: list[tuple[LorebookEntry, str, str]] = []
        """Entry, key and the fault of the key."""
        self._folded = _Plain()
        self._exact = _Plain()
        self._patterns = _Patterns()
        self.spanning: dict[int, Pattern] = {}
        """Patterns that SillyTavern's rules search for in all texts together."""
        self.entries = tuple(self._keyed(entry, book) for entry in book.entries if entry.enabled)
        backtracking = self._patterns.backtracking
        self.step_limit = max(BACKTRACKING_STEPS // max(len(backtracking), 1), MIN_STEPS_PER_KEY)
        """Maximum steps of each pattern with back-references over all texts of a request."""
        self.in_message: Memo[Message, Occurrences] = Memo(
            lambda message: self.occurrences(message.content)
        )
        """The keys that occur in a message."""
        self.in_entry: Memo[LorebookEntry, Occurrences] = Memo(
            lambda entry: self.occurrences(entry.content)
        )
        """The keys that occur in the content of an entry of any book."""
        self.in_named: Memo[Message, str, Occurrences] = Memo(
            lambda _, text: self.occurrences(text)
        )
        """The keys that occur in a message whose searched text has the name of its speaker."""
        self._last_draft: tuple[str, Occurrences] = ("", Occurrences(NO_KEYS))
        self._in_strings: dict[str, Occurrences] = {}
        self._decided: Memo[Message | LorebookEntry, dict[int, tuple[bool, int]]] = Memo(
            lambda _: {}
        )

    def in_draft(self, draft: str) -> Occurrences:
        """Return the keys that occur in the draft."""
        if self._last_draft[0] != draft:
            self._last_draft = (draft, self.occurrences(draft))
        return self._last_draft[1]

    def in_string(self, text: str) -> Occurrences:
        """Return the keys that occur in a text that rarely changes."""
        if text not in self._in_strings:
            if len(self._in_strings) >= 64:
                self._in_strings.clear()
            self._in_strings[text] = self.occurrences(text)
        return self._in_strings[text]

    def occurrences(self, text: str) -> Occurrences:
        """Return the keys that occur in a text."""
        folded = self._folded.found(text.lower()) if self._folded else ()
        plain = (*folded, *self._exact.found(text))
        patterns = tuple(self._patterns.found(text))
        if not self._patterns.backtracking:
            return Occurrences(frozenset((*plain, *patterns)))
        undecided = tuple(n for n in patterns if n in self._patterns.backtracking)
        return Occurrences(frozenset((*plain, *patterns)).difference(undecided), undecided)

    def backtrack(self, number: int, source: Message | LorebookEntry | str) -> tuple[bool, int]:
        """Return whether an undecided key occurs, and the steps taken: negative if they were not
        enough; then the key counts as absent.
        """
        if isinstance(source, str):
            return self._patterns.backtrack(number, source, self.step_limit)
        decided = self._decided(source)
        if number not in decided:
            decided[number] = self._patterns.backtrack(number, source.content, self.step_limit)
        return decided[number]

    def _keyed(self, entry: LorebookEntry, book: Lorebook) -> NumberedEntry:
        case = book.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = book.whole_words if entry.whole_words is None else entry.whole_words

        def numbers(texts: Iterable[str]) -> tuple[int, ...]:
            return tuple(self._number(LoreKey(t, case, whole), entry) for t in texts if t.strip())

        return NumberedEntry(entry, numbers(entry.keys), numbers(entry.secondary_keys))

    def _number(self, key: LoreKey, entry: LorebookEntry) -> int:
        if key not in self._numbers:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
            self._prepare(number, key, entry)
        return self._numbers[key]

    def _prepare(self, number: int, key: LoreKey, entry: LorebookEntry) -> None:
        wanted = self._wanted(number)
        if written := _PATTERN.fullmatch(wanted):
            try:
                pattern = Pattern(written[1], written[2])
                self._patterns.add(number, pattern)
                if spans_texts(written[1], written[2]) and not pattern.has_back_references:
                    self.spanning[number] = pattern
            except BadPattern as fault:
                self.faults.append((entry, key.text, str(fault)))
            else:
                return
        if key.case_sensitive:
            self._exact.add(number, wanted, key.whole_words)
        else:
            self._folded.add(number, wanted.lower(), key.whole_words)

    def _wanted(self, number: int) -> str:
        """Return the key's text with the names inserted."""
        text = self.keys[number].text.strip()
        if "{{" in text:
            for name, value in self._names.items():
                text = re.sub(
                    r"\{\{\s*" + name + r"\s*\}\}", lambda _, v=value: v, text, flags=re.I
                )
        return text
