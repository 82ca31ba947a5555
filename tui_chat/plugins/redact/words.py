"""The user's own words: names of people, of projects and machines, that no pattern can know.

They are the lines of `redact.txt` in the folder of the configuration. In a line, `*` stands for any
characters of a word, and `?` for one. Case does not matter; a word is found as a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tui_chat.errors import InputError
from tui_chat.files import read_text
from tui_chat.plugins.redact.patterns import Match, is_common_user

FILE = "redact.txt"
MOST_WORDS = 1_000
LONGEST_WORD = 200
MOST_BYTES = 1_000_000
_SHORTEST = 2
_SHORTEST_NAME = 3
"""Characters of a part of a name that is searched for alone; “de” is in every text."""


def read_words(folder: Path) -> tuple[str, ...]:
    """Return the words of the user's file, if there is one. Raises InputError naming the line."""
    file = folder / FILE
    if not file.exists():
        return ()
    words: list[str] = []
    for number, line in enumerate(read_text(file, max_bytes=MOST_BYTES).split("\n"), 1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        if len(word) > LONGEST_WORD:
            raise InputError(f"{file}: line {number} has more than {LONGEST_WORD} characters.")
        if sum(map(str.isalnum, word)) < _SHORTEST:
            raise InputError(
                f"{file}: line {number}: “{word}” would match nearly everything.",
                advice="Write at least two letters or digits.",
            )
        words.append(word)
    if len(words) > MOST_WORDS:
        raise InputError(f"{file} has more than {MOST_WORDS:,} words.")
    return tuple(words)


def name_words(name: str) -> Iterator[str]:
    """Yield a person's name and its parts, as words that are searched for."""
    name = " ".join(name.split())
    parts = [part for part in name.split(" ") if len(part) >= _SHORTEST_NAME]
    for part in dict.fromkeys((name, *parts)):
        if len(part) >= _SHORTEST_NAME and not is_common_user(part):
            yield part.replace("*", "?")


class WordSearch:
    """Searches for words of several kinds."""

    def __init__(self, words: Mapping[str, str]) -> None:
        """`words` are the kinds by words."""
        self._kinds = {word.casefold(): kind for word, kind in words.items()}
        self._patterns = [_pattern(batch) for batch in _batches(sorted(words, key=len))]

    def matches(self, text: str) -> Iterator[Match]:
        """Yield the words in a text."""
        for pattern in self._patterns:
            for found in pattern.finditer(text):
                kind = self._kinds.get(found[0].casefold(), "word")
                yield Match(*found.span(), kind, found[0])


def _batches(words: list[str]) -> Iterator[list[str]]:
    """Yield words in batches, the longest first."""
    words = words[::-1]
    for start in range(0, len(words), 500):
        yield words[start : start + 500]


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of whole words. An underscore ends one: `backup_anna` has “anna”."""
    return re.compile("|".join(map(_word_pattern, words)), re.IGNORECASE)


def _word_pattern(word: str) -> str:
    before = r"(?<![^\W_])" if word[0].isalnum() else ""
    behind = r"(?![^\W_])" if word[-1].isalnum() else ""
    *first, last = word.split("*")
    # Each part is taken where it first comes, and never elsewhere: time stays linear.
    pieces = [_literal(first[0] if first else last)]
    parts = [*first[1:], last] if first else []
    for number, part in enumerate(parts, 1):
        end = behind if number == len(parts) else ""
        pieces.append(rf"(?>\S{{0,60}}?{_literal(part)}{end})" if part else r"\S{0,60}+")
    return before + "".join(pieces) + ("" if first else behind)


def _literal(text: str) -> str:
    """Return a pattern of a text in which `?` is any character, and any blanks match a blank."""
    return "".join(
        r"\S" if character == "?" else r"\s+" if character == " " else re.escape(character)
        for character in text
    )
