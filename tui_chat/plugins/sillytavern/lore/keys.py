"""The keys of lore entries, and which of them occur in a text.

1. A key is searched for literally, without regard to case unless the entry or its book asks for
   it. One that is only white space occurs in every text, an empty one in none.
2. With whole words asked for, a key that is a single word is not found inside a longer one.
   What counts as a letter there is ASCII: in scripts without spaces between words a key is
   found anywhere. A key of several words is found anywhere, too.
3. `/pattern/flags` is a regular expression (see `patterns`), to which case and whole words do not
   apply. It is searched for in the first `SEARCHED_CHARACTERS`. One that cannot be used is taken as
   plain text.
4. Each text is searched by itself, and what is found is remembered with its message or entry.
   Patterns that may match across two texts, and keys with macros, whose values change, are searched
   for in all texts of an entry together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from tui_chat.context.macros.syntax import has_macros
from tui_chat.context.patterns import BadPattern, Pattern, is_word
from tui_chat.models.memo import Memo

SEARCHED_CHARACTERS = 20_000
"""Length of the beginning of a text that regular expressions search."""
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)
_ACROSS = re.compile(r"\^|\$|\\[nrWDSxu]|\[\^|\\s[*+?]?(?:\Z|[|)])|(?:^|[|(])\\s")
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)


class Key(NamedTuple):
    """A key and how it is searched for."""

    text: str
    """As written."""
    case_sensitive: bool
    whole_words: bool

    @property
    def spans_texts(self) -> bool:
        """True if it is searched for in all texts together: it depends on where a text begins or
        ends, may match line breaks, is white space or has macros.
        """
        wanted = self.text.strip()
        if not wanted or has_macros(wanted):
            return True
        if (written := _PATTERN.fullmatch(wanted)) is None:
            return False
        source, flags = written.groups()
        return bool(_ACROSS.search(source)) or ("s" in flags and "." in source) or "y" in flags

    def occurs_in(self, text: str) -> bool:
        """True if it occurs in a text."""
        wanted = self.text.strip()
        if not wanted:
            return bool(self.text)
        if (pattern := _pattern(wanted)) is not None:
            text = text[:SEARCHED_CHARACTERS]
            required = pattern.required_texts
            if required and not any(each in _folded(text) for each in required):
                return False
            return pattern.occurs_in(text)
        if not self.case_sensitive:
            wanted, text = wanted.lower(), _lower(text)
        return wanted in text and (
            not self.whole_words or len(wanted.split()) > 1 or _is_whole_word(wanted, text)
        )


def _is_whole_word(wanted: str, text: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not is_word(text[at - 1 : at]) and not is_word(text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


@lru_cache(maxsize=10_000)
def _pattern(wanted: str) -> Pattern | None:
    """Return a key as a pattern; None if it is none, or cannot be used."""
    try:
        return Pattern(*written.groups()) if (written := _PATTERN.fullmatch(wanted)) else None
    except BadPattern:
        return None


def key_fault(key: Key) -> str:
    """Return why a key cannot be used as the pattern that it is; empty if it can."""
    written = _PATTERN.fullmatch(key.text.strip())
    try:
        if written is not None:
            Pattern(*written.groups())
    except BadPattern as fault:
        return str(fault)
    return ""


@lru_cache(maxsize=8)
def _lower(text: str) -> str:
    return text.lower()


@lru_cache(maxsize=8)
def _folded(text: str) -> str:
    return text.casefold()


class KeySet:
    """Keys that are searched for in each text by itself, all of them at once."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._words: dict[str, list[Key]] = {}
        """Those that are whole ASCII words in any case."""
        self._others: list[Key] = []
        for key in keys:
            wanted = key.text.strip().lower()
            if key.whole_words and not key.case_sensitive and _ASCII_WORDS.fullmatch(wanted):
                self._words.setdefault(wanted, []).append(key)
            else:
                self._others.append(key)
        self.found_in: Memo[object, str, frozenset[Key]] = Memo(lambda _, text: self.found(text))
        """`found` for the text of a message or an entry, with which the result is remembered."""

    def found(self, text: str) -> frozenset[Key]:
        """Return the keys that occur in a text."""
        words = self._words.keys() & set(_ASCII_WORDS.findall(text.lower())) if self._words else ()
        found = {key for word in words for key in self._words[word]}
        found.update(key for key in self._others if key.occurs_in(text))
        return frozenset(found)
