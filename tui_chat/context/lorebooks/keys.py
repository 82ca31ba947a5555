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
   looked up in the text's words. Of all others, and of the literals that patterns require, the
   longest word is looked up in each different word of the conversation, by one of its substrings;
   only what has it is searched for.
6. Patterns with back-references are searched for by backtracking, in at most `step_limit` steps
   over all texts, so that the work is bounded and the result is the same on any machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from tui_chat.context.lorebooks.patterns import BadPattern, Pattern, Test, is_word, utf16_units
from tui_chat.context.lorebooks.searched import spans_texts
from tui_chat.lazy_dataclass import dataclass
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
_WORDS = re.compile(r"\w+")
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_LONGEST_WORD = 40
"""Length up to which words are remembered."""
_REMEMBERED_WORDS = 20_000
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


class _SearchedText:
    """A text in the form in which keys are searched for, and its words."""

    __slots__ = ("text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = set(_WORDS.findall(text))


class _Literals:
    """Literals that are searched for in one pass.

    What a literal's longest word is part of is remembered by the words of texts, as these repeat;
    only literals without a word are looked for in whole texts.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}
        self._with_word: dict[str, list[str]] = {}
        """The literals, by the longest word of each."""
        self._without_word: list[str] = []
        self._by_gram: list[_ByGram] | None = None
        """The longest words by their substrings."""
        self._others_by_gram: list[_ByGram] = []
        """The literals without a word by theirs."""
        self._in_word: dict[str, tuple[str, ...]] = {}
        """By a word of a text: the literals that may occur where it does."""

    def add(self, number: int, literal: str) -> None:
        """Add a literal; several may have the same number."""
        if literal not in self._numbers:
            self._numbers[literal] = []
            if word := max(_WORDS.findall(literal), key=len, default=""):
                self._with_word.setdefault(word, []).append(literal)
            else:
                self._without_word.append(literal)
            self._by_gram = None
        self._numbers[literal].append(number)

    def found(self, searched: _SearchedText) -> Iterator[tuple[str, list[int]]]:
        """Yield the literals that occur, and their numbers."""
        if not self._numbers:
            return
        if self._by_gram is None:
            self._by_gram = _by_gram(self._with_word)
            self._others_by_gram = _by_gram(self._without_word)
            self._in_word.clear()
        possible: set[str] = set()
        for word in searched.words:
            literals = self._in_word.get(word)
            if literals is None:
                literals = self._search_word(word, self._by_gram)
            if literals:
                possible.update(literals)
        if self._others_by_gram:
            possible.update(_parts_of(searched.text, self._others_by_gram))
        for literal in possible:
            if literal in searched.text:
                yield literal, self._numbers[literal]

    def _search_word(self, word: str, by_gram: list[_ByGram]) -> tuple[str, ...]:
        parts = _parts_of(word, by_gram)
        literals = tuple(literal for part in parts for literal in self._with_word[part])
        if len(word) <= _LONGEST_WORD:
            if len(self._in_word) >= _REMEMBERED_WORDS:
                self._in_word.clear()
            self._in_word[word] = literals
        return literals


_ByGram = tuple[int, dict[str, list[str]]]
"""A length, and texts by one of their substrings of that length."""


def _by_gram(texts: Iterable[str]) -> list[_ByGram]:
    """Index texts by the substring of each that fewest others have: of length 4, or of their own
    length if they are shorter.
    """
    known = tuple(texts)
    index: list[_ByGram] = []
    for size in (1, 2, 3, _GRAM):
        members = [
            (text, [text[at : at + size] for at in range(len(text) - size + 1)])
            for text in known
            if len(text) == size or len(text) > size == _GRAM
        ]
        shared = Counter(chain.from_iterable(grams for _, grams in members))
        by_gram: dict[str, list[str]] = {}
        for text, grams in members:
            rarest = min(grams, key=shared.__getitem__)
            by_gram.setdefault(rarest, []).append(text)
        if by_gram:
            index.append((size, by_gram))
    return index


def _parts_of(text: str, index: list[_ByGram]) -> Iterator[str]:
    """Yield the indexed texts that occur in a text."""
    for size, by_gram in index:
        grams = {text[at : at + size] for at in range(len(text) - size + 1)}
        for gram in by_gram.keys() & grams:
            for each in by_gram[gram]:
                if len(each) == size or each in text:
                    yield each


class _Plain:
    """Keys that are literals."""

    def __init__(self) -> None:
        self._words: dict[str, list[int]] = {}
        """Key numbers by whole ASCII word."""
        self._anywhere = _Literals()
        self._whole_words = _Literals()
        """Literals that must be whole words."""

        self.is_empty = True

    def add(self, number: int, wanted: str, whole_words: bool) -> None:
        """Add a key."""
        self.is_empty = False
        if whole_words and _ASCII_WORDS.fullmatch(wanted):
            self._words.setdefault(wanted, []).append(number)
        elif whole_words and len(wanted.split()) == 1:
            self._whole_words.add(number, wanted)
        else:
            self._anywhere.add(number, wanted)

    def found(self, searched: _SearchedText) -> Iterator[int]:
        """Yield the numbers of the keys that occur."""
        if self._words:
            text, words = searched.text, searched.words
            for word in self._words.keys() & (
                words if text.isascii() else set(_ASCII_WORDS.findall(text))
            ):
                yield from self._words[word]
        for _, numbers in self._anywhere.found(searched):
            yield from numbers
        for wanted, numbers in self._whole_words.found(searched):
            if _is_whole_word(wanted, searched.text):
                yield from numbers


class _Patterns:
    """Keys that are regular expressions."""

    def __init__(self) -> None:
        self._patterns: dict[int, Pattern] = {}
        self._required = _Literals()
        """The literals of which a pattern requires one, with the patterns' numbers."""
        self._also_required: dict[int, tuple[tuple[str, ...], ...]] = {}
        """By pattern: further literals, of each of these tuples one."""
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
        first, *others = pattern.required_texts or ((),)
        for literal in first:
            self._required.add(number, literal)
        if others:
            self._also_required[number] = tuple(others)
        if not first:
            self._without_literal.append(number)
            self._by_test = None
        if pattern.has_back_references:
            self.backtracking.add(number)

    def found(self, text: str, lower: _SearchedText | None) -> Iterator[int]:
        """Yield the numbers of the patterns that occur or, with back-references, may occur; `lower`
        is the text in lower case.
        """
        if not self._patterns:
            return
        start = max(len(text) - SEARCHED_CHARACTERS, 0)
        numbers = set(self._possible_without_literal(text[start:]))
        if lower is None or start or not text.isascii():
            lower = _SearchedText(text[start:].casefold())
        for _, requiring in self._required.found(lower):
            numbers.update(requiring)
        for number in sorted(numbers):
            for literals in self._also_required.get(number, ()):
                if not any(literal in lower.text for literal in literals):
                    break
            else:
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
        lower = None if self._folded.is_empty else _SearchedText(text.lower())
        folded = () if lower is None else self._folded.found(lower)
        exact = () if self._exact.is_empty else self._exact.found(_SearchedText(text))
        plain = (*folded, *exact)
        patterns = tuple(self._patterns.found(text, lower))
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
