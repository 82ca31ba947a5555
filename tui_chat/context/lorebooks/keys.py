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
   Each text is searched by itself, and most keys cannot match across two texts. Where a dialect
   joins texts, those that can (see `spans_texts`) are searched for in all texts of an entry
   together, and by itself a text only tells whether they may occur.
5. A key with other macros is another key in every request, and is searched for in all texts
   together, too.
6. Patterns with back-references are searched for by backtracking, in at most `step_limit` steps
   over all texts, so that the work is bounded and the result is the same on any machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from tui_chat.context.lorebooks.literals import Literals, PlainKeys, SearchedText, occurs
from tui_chat.context.lorebooks.patterns import BadPattern, Pattern, Test, utf16_units
from tui_chat.context.macros.syntax import CORE_SYNTAX, MacroSyntax, has_macros
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo
from tui_chat.models.message import Message

MARK = "\x01"
"""What each of the texts that are searched together begins with."""
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

_PATTERN = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)
_ACROSS = re.compile(r"\^|\$|\\[nrWDSxupP]|\[\^|\(\?<?!|\\s[*+?]?(?:\Z|[|)])|(?:^|[|(])\\s")


def spans_texts(source: str, flags: str) -> bool:
    """True if a pattern is to be searched for in all texts together: it depends on where a text
    begins or ends, or may match line breaks.
    """
    return _ACROSS.search(source) is not None or ("s" in flags and "." in source) or "y" in flags


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The keys that occur in a text."""

    found: KeyNumbers
    undecided: tuple[int, ...] = ()
    """Patterns with back-references that may occur; `KeyIndex.backtrack` decides."""
    spanning: KeyNumbers = NO_KEYS
    """Patterns that may occur in all texts together; `KeyIndex.occurs_in_all` decides."""

    @property
    def possible(self) -> KeyNumbers:
        """The keys that occur or may occur."""
        return self.found.union(self.undecided, self.spanning)


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
    blanks: tuple[bool, ...]
    """Where texts are joined, for each secondary key without text: whether it occurs in every text,
    being white space, or in none."""
    in_all_texts: tuple[int, ...]
    """The keys of both kinds that are searched for in all texts together."""


class _Patterns:
    """Keys that are regular expressions."""

    def __init__(self) -> None:
        self._patterns: dict[int, Pattern] = {}
        self._required: dict[int, tuple[tuple[str, ...], ...]] = {}
        """By pattern: literals, of each of these tuples one is required."""
        self._literals: Literals | None = None
        """Of these one tuple for each pattern, with the pattern's number."""
        self._without_literal: list[int] = []
        """Patterns that require no literal."""
        self._by_test: dict[Test, list[tuple[frozenset[Test], int]]] | None = None
        """These patterns with their required tests, by the test that most patterns share."""
        self._passing: dict[Test, set[str]] = {}
        """By test: the characters of `_characters` that pass it."""
        self._characters: set[str] = set()
        self.backtracking: set[int] = set()
        """The patterns with back-references."""
        self.spanning: dict[int, Pattern] = {}
        """Patterns that are searched for in all texts together."""
        self.always: set[int] = set()
        """Of these, those that may occur in any texts."""

    def add(self, number: int, pattern: Pattern, *, spans: bool) -> None:
        """Add a pattern; `spans`: it is searched for in all texts together."""
        required = pattern.required_texts
        if spans:
            self.spanning[number] = pattern
            required = tuple(  # of these, no literal is in two texts
                literals
                for literals in required
                if not any("\n" in literal or MARK in literal for literal in literals)
            )
            if not required:
                self.always.add(number)
        else:
            self._patterns[number] = pattern
            if not required:
                self._without_literal.append(number)
                self._by_test = None
            if pattern.has_back_references:
                self.backtracking.add(number)
        if required:
            self._required[number] = required
            self._literals = None

    def _index_literals(self) -> Literals:
        """Index patterns by the required literals that are longest, and that fewest others have."""
        sharing = Counter(
            literal for required in self._required.values() for each in required for literal in each
        )

        def share(literals: tuple[str, ...]) -> float:
            return sum(sharing[literal] for literal in literals) / min(map(len, literals)) ** 2

        index = Literals()
        for number, required in self._required.items():
            for literal in min(required, key=share):
                index.add(number, literal)
        return index

    def found(self, text: str, lower: SearchedText | None) -> tuple[set[int], set[int]]:
        """Return the numbers of the patterns that occur or, with back-references, may occur, and of
        those that may occur in all texts together; `lower` is the text in lower case.
        """
        found, spanning = set[int](), set[int]()
        if not (self._patterns or self.spanning):
            return found, spanning
        start = max(len(text) - SEARCHED_CHARACTERS, 0)
        numbers = set(self._possible_without_literal(text[start:]))
        if lower is None or start or not text.isascii():
            lower = SearchedText(text[start:].casefold())
        if self._literals is None:
            self._literals = self._index_literals()
        for _, requiring in self._literals.found(lower):
            numbers.update(requiring)
        if start:  # all texts together may begin with what precedes it
            numbers.update(self.spanning)
        required, patterns = self._required, self._patterns
        for number in numbers:
            has_required = number not in required or _has_all(required[number], lower.text)
            if number in patterns:
                occurs = has_required and patterns[number].occurs_in(text, start)
            else:  # where it occurs in one text, it occurs in all together
                spans = self.spanning[number]
                occurs = has_required and not spans.sees_surroundings
                occurs = occurs and spans.occurs_in(text, start)
                if not occurs:
                    spanning.add(number)
            if occurs:
                found.add(number)
        return found, spanning

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


def _has_all(required: Iterable[tuple[str, ...]], text: str) -> bool:
    """True if a text has one of the literals of each tuple."""
    for literals in required:
        for literal in literals:
            if literal in text:
                break
        else:
            return False
    return True


@lru_cache(maxsize=8)
def _folded(text: str) -> str:
    return text.casefold()


def _always(_: str) -> bool:
    return True


@lru_cache(maxsize=8)
def _lower(text: str) -> str:
    return text.lower()


@lru_cache(maxsize=256)
def _pattern(source: str, flags: str) -> Pattern | None:
    """Return a pattern; None if it cannot be used."""
    try:
        return Pattern(source, flags)
    except BadPattern:
        return None


class KeyIndex:
    """The distinct keys of a book, numbered."""

    def __init__(
        self,
        book: Lorebook,
        names: dict[str, str],
        *,
        joined: bool = False,
        syntax: MacroSyntax = CORE_SYNTAX,
    ) -> None:
        """`names` are the values of macros in keys by their words. With `joined`, patterns that may
        span texts are searched for in all of them together; `syntax` is that of macros in keys.
        """
        self._names = names
        self._joined = joined
        self._syntax = syntax
        self._numbers: dict[LoreKey, int] = {}
        self.keys: list[LoreKey] = []
        """By number."""
        self.faults: list[tuple[LorebookEntry, str, str]] = []
        """Entry, key and the fault of the key."""
        self._folded = PlainKeys()
        self._exact = PlainKeys()
        self._patterns = _Patterns()
        self.with_macros: set[int] = set()
        """Keys that are other ones in every request."""
        self.entries = tuple(self._keyed(entry, book) for entry in book.entries if entry.enabled)
        self.always_possible = frozenset(self._patterns.always | self.with_macros)
        """Keys that may occur in all texts together, whatever occurs in each of them."""
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
        lower = None if self._folded.is_empty else SearchedText(text.lower())
        folded = () if lower is None else self._folded.found(lower)
        exact = () if self._exact.is_empty else self._exact.found(SearchedText(text))
        patterns, spanning = self._patterns.found(text, lower)
        undecided = patterns & self._patterns.backtracking
        found = frozenset((*folded, *exact, *(patterns - undecided)))
        return Occurrences(found, tuple(sorted(undecided)), frozenset(spanning))

    def occurs_in_all(self, number: int, text: str) -> bool:
        """True if a pattern that may span texts occurs in all of them together."""
        pattern = self._patterns.spanning[number]
        return _has_all(pattern.required_texts, _folded(text)) and pattern.occurs_in(text)

    def expanded_occurs(self, number: int, wanted: str, text: str) -> bool:
        """True if a key with macros, expanded to `wanted`, occurs in all texts together."""
        key, stripped = self.keys[number], wanted.strip()
        if not stripped:
            return bool(wanted)
        written = _PATTERN.fullmatch(stripped)
        if written and (pattern := _pattern(written[1], written[2])) is not None:
            text = text[:SEARCHED_CHARACTERS]
            if pattern.has_back_references:
                return pattern.backtrack(text, 0, MIN_STEPS_PER_KEY)[0]
            return _has_all(pattern.required_texts, _folded(text)) and pattern.occurs_in(text)
        if not key.case_sensitive:
            stripped, text = stripped.lower(), _lower(text)
        return occurs(stripped, text, whole_words=key.whole_words)

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

        keys, secondary = numbers(entry.keys), numbers(entry.secondary_keys)
        spanning = self._patterns.spanning
        in_all = (n for n in (*keys, *secondary) if n in spanning or n in self.with_macros)
        blanks = (bool(key) for key in entry.secondary_keys if self._joined and not key.strip())
        return NumberedEntry(entry, keys, secondary, tuple(blanks), tuple(in_all))

    def _number(self, key: LoreKey, entry: LorebookEntry) -> int:
        if key not in self._numbers:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
            wanted = self.with_names(key.text.strip())
            if has_macros(wanted, self._syntax):
                self.with_macros.add(number)
                return number
            self._prepare(number, wanted, key, entry)
        return self._numbers[key]

    def _prepare(self, number: int, wanted: str, key: LoreKey, entry: LorebookEntry) -> None:
        """Have a key's text with the names inserted searched for."""
        if written := _PATTERN.fullmatch(wanted):
            try:
                pattern = Pattern(written[1], written[2])
            except BadPattern as fault:
                self.faults.append((entry, key.text, str(fault)))
            else:
                is_spanning = self._joined and not pattern.has_back_references
                spans = is_spanning and spans_texts(written[1], written[2])
                self._patterns.add(number, pattern, spans=spans)
                return
        if key.case_sensitive:
            self._exact.add(number, wanted, key.whole_words)
        else:
            self._folded.add(number, wanted.lower(), key.whole_words)

    def with_names(self, text: str) -> str:
        """Return a key's text with the names inserted."""
        if "{{" in text:
            for name, value in self._names.items():
                text = re.sub(
                    r"\{\{\s*" + name + r"\s*\}\}", lambda _, v=value: v, text, flags=re.I
                )
        return text
