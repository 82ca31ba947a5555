"""The keys of lore entries, and the search for them.

1. A key is searched for literally, without regard to case unless the entry or its book asks for
   it. `{{user}}` and `{{char}}` in a key stand for the names.
2. With whole words asked for, a key that is a single word is not found inside a longer one.
   What counts as a letter there is ASCII: in scripts without spaces between words a key is
   found anywhere. A key of several words is found anywhere, too.
3. `/pattern/flags` is a regular expression (see `patterns`), to which case and whole words do not
   apply. It is searched for in the last `SEARCHED_CHARACTERS` characters of a text. One that cannot
   be used is taken as plain text, with a note.
4. Each text is searched by itself, and what is found is remembered with the message. The patterns
   that can match across two (see `spans_texts`), and keys with other macros, are searched for in
   all texts of an entry together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from tui_chat.context.macros.syntax import has_macros
from tui_chat.context.patterns import BadPattern, Pattern, is_word
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.memo import Memo
from tui_chat.models.message import Message

MARK = "\x01"
"""What each of the texts that are searched together begins with."""
SEARCHED_CHARACTERS = 10_000
"""Length of the end of a text that regular expressions search."""
_STRINGS_KEPT = 64

KeyNumbers = frozenset[int]
"""The numbers of the keys that occur."""

_PATTERN = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)
_ACROSS = re.compile(r"\^|\$|\\[nrWDSxu]|\[\^|\\s[*+?]?(?:\Z|[|)])|(?:^|[|(])\\s")
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)


def spans_texts(source: str, flags: str) -> bool:
    """True if a pattern is to be searched for in all texts together: it depends on where a text
    begins or ends, or may match line breaks.
    """
    return _ACROSS.search(source) is not None or ("s" in flags and "." in source) or "y" in flags


@dataclass(frozen=True, slots=True)
class LoreKey:
    """A key and how it is searched for."""

    text: str
    """As written."""
    case_sensitive: bool
    whole_words: bool

    def occurs(self, wanted: str, text: str, lower: str) -> bool:
        """True if the key, being `wanted`, occurs in a text, given in lower case, too."""
        text = text if self.case_sensitive else lower
        if wanted not in text:
            return False
        return not (self.whole_words and len(wanted.split()) == 1) or _is_whole_word(wanted, text)


def _is_whole_word(wanted: str, text: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not is_word(text[at - 1 : at]) and not is_word(text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    """An entry with the numbers of its keys."""

    entry: LorebookEntry
    keys: tuple[int, ...]
    secondary: tuple[int, ...]
    blanks: tuple[bool, ...]
    """For each secondary key without text: whether it occurs in every text, being white space, or
    in none."""
    in_all_texts: tuple[int, ...]
    """The keys of both kinds that are searched for in all texts together."""
    has_blank_key: bool
    """True if a key is only white space, which occurs in every text."""


@lru_cache(maxsize=256)
def _pattern(source: str, flags: str) -> Pattern | None:
    """Return a pattern; None if it cannot be used."""
    try:
        return Pattern(source, flags)
    except BadPattern:
        return None


@lru_cache(maxsize=8)
def _lower(text: str) -> str:
    return text.lower()


@lru_cache(maxsize=8)
def _folded(text: str) -> str:
    return text.casefold()


def _occurs(pattern: Pattern, text: str, folded: str, start: int = 0) -> bool:
    """True if a pattern occurs from a place of a text on; `folded` is that part, case-folded."""
    for required in pattern.required_texts:
        if required in folded:
            break
    else:
        if pattern.required_texts:
            return False
    return pattern.occurs_in(text, start)


class KeyIndex:
    """The distinct keys of a book, numbered."""

    def __init__(self, book: Lorebook, names: dict[str, str]) -> None:
        """`names` are the values of macros in keys by their words."""
        self._names = names
        self._numbers: dict[LoreKey, int] = {}
        self.keys: list[LoreKey] = []
        """By number."""
        self.faults: list[tuple[LorebookEntry, str, str]] = []
        """Entry, key and the fault of the key."""
        self._words: dict[str, list[int]] = {}
        """Keys that are whole ASCII words in any case."""
        self._others: dict[int, str] = {}
        """The other literals."""
        self._patterns: dict[int, Pattern] = {}
        self._spanning: dict[int, Pattern] = {}
        """Patterns that are searched for in all texts together."""
        self.with_macros: set[int] = set()
        """Keys that are other ones in every request."""
        self.entries = tuple(self._keyed(entry, book) for entry in book.entries if entry.enabled)
        self.in_message: Memo[Message, str, KeyNumbers] = Memo(lambda _, text: self.found(text))
        """The keys that occur in the searched text of a message."""
        self.in_entry: Memo[LorebookEntry, str, KeyNumbers] = Memo(lambda _, text: self.found(text))
        """The keys that occur in the searched content of an entry of any book."""
        self._in_strings: dict[str, KeyNumbers] = {}

    def in_string(self, text: str) -> KeyNumbers:
        """Return the keys that occur in a text that rarely changes."""
        if text not in self._in_strings:
            if len(self._in_strings) >= _STRINGS_KEPT:
                self._in_strings.clear()
            self._in_strings[text] = self.found(text)
        return self._in_strings[text]

    def found(self, text: str) -> KeyNumbers:
        """Return the keys that occur in a text by itself."""
        lower, start = text.lower(), max(len(text) - SEARCHED_CHARACTERS, 0)
        words = self._words.keys() & set(_ASCII_WORDS.findall(lower)) if self._words else ()
        found = {number for word in words for number in self._words[word]}
        keys = self.keys
        found.update(n for n, wanted in self._others.items() if keys[n].occurs(wanted, text, lower))
        folded = text[start:].casefold() if self._patterns else ""
        for number, pattern in self._patterns.items():
            if _occurs(pattern, text, folded, start):
                found.add(number)
        return frozenset(found)

    def occurs_in_all(self, number: int, wanted: str, text: str) -> bool:
        """True if a key that is searched for in all texts together occurs in a text; `wanted` is
        what it stands for.
        """
        pattern, stripped = self._spanning.get(number), wanted.strip()
        if pattern is None and (written := _PATTERN.fullmatch(stripped)):
            pattern = _pattern(written[1], written[2])
        if pattern is not None:
            text = text[:SEARCHED_CHARACTERS]
            return _occurs(pattern, text, _folded(text))
        if not stripped:
            return bool(wanted)
        key = self.keys[number]
        return key.occurs(self._cased(key, stripped), text, _lower(text))

    def _keyed(self, entry: LorebookEntry, book: Lorebook) -> NumberedEntry:
        case = book.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = book.whole_words if entry.whole_words is None else entry.whole_words

        def numbers(texts: Iterable[str]) -> tuple[int, ...]:
            return tuple(self._number(LoreKey(t, case, whole), entry) for t in texts if t.strip())

        keys, secondary = numbers(entry.keys), numbers(entry.secondary_keys)
        both = (*keys, *secondary)
        in_all = (n for n in both if n in self._spanning or n in self.with_macros)
        blanks = (bool(key) for key in entry.secondary_keys if not key.strip())
        is_blank = any(key and not key.strip() for key in entry.keys)
        return NumberedEntry(entry, keys, secondary, tuple(blanks), tuple(in_all), is_blank)

    def _number(self, key: LoreKey, entry: LorebookEntry) -> int:
        if key not in self._numbers:
            number = self._numbers[key] = len(self.keys)
            self.keys.append(key)
            wanted = self.with_names(key.text.strip())
            if has_macros(wanted):
                self.with_macros.add(number)
            else:
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
                is_spanning = spans_texts(written[1], written[2])
                (self._spanning if is_spanning else self._patterns)[number] = pattern
                return
        wanted = self._cased(key, wanted)
        if key.whole_words and not key.case_sensitive and _ASCII_WORDS.fullmatch(wanted):
            self._words.setdefault(wanted, []).append(number)
        else:
            self._others[number] = wanted

    def _cased(self, key: LoreKey, wanted: str) -> str:
        return wanted if key.case_sensitive else wanted.lower()

    def with_names(self, text: str) -> str:
        """Return a key's text with the names inserted."""
        if "{{" in text:
            for name, value in self._names.items():
                text = re.sub(
                    r"\{\{\s*" + name + r"\s*\}\}", lambda _, v=value: v, text, flags=re.I
                )
        return text
