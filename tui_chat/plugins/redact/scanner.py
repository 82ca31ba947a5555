"""Searches one text by patterns, words and texts that are known from elsewhere.

The user's own words (names of people, of projects and machines, that no pattern can know) are the
lines of `redact.txt` in the folder of the configuration. In a line, `*` stands for any characters
of a word, and `?` for one. Case does not matter; a word is found as a whole word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tui_chat.errors import InputError
from tui_chat.files import read_text
from tui_chat.plugins.redact.encodings import Base64Run, base64_runs, plain_forms
from tui_chat.plugins.redact.patterns import Match, is_common_user, matches

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
        longest_first = [_word_pattern(word) for word in sorted(words, key=len, reverse=True)]
        batches = (longest_first[start : start + 500] for start in range(0, len(words), 500))
        self._patterns = [re.compile("|".join(batch), re.IGNORECASE) for batch in batches]

    def matches(self, text: str) -> Iterator[Match]:
        """Yield the words in a text."""
        for pattern in self._patterns:
            for found in pattern.finditer(text):
                kind = self._kinds.get(found[0].casefold(), "word")
                yield Match(*found.span(), kind, found[0])


def _word_pattern(word: str) -> str:
    """Return the pattern of a whole word. An underscore ends one: `backup_anna` has “anna”."""
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


_SHORT = 12
"""Characters below which a known text is searched for as a whole word."""
_DEEPEST = 4
"""Times that a text may have been escaped."""
_SHORTEST_CUT, _LONGEST_CUT = 4, 100
"""Characters of a text that are searched for where it was cut."""
_IDENTIFIER = re.compile(r"[a-z]+(?:[_-][a-z]+)+")


class Scanner:
    """Searches texts. Equal texts, such as the history in each request, are searched once."""

    def __init__(self) -> None:
        self._words = WordSearch({})
        self._literals: Mapping[str, str] = {}
        self._whole: Mapping[str, str] = {}
        self._base64: dict[str, tuple[Base64Run, ...]] = {}
        self._by_pattern: dict[tuple[str, str], tuple[Match, ...]] = {}
        self._all: dict[tuple[str, str, bool], tuple[Match, ...]] = {}

    def search_for(
        self, words: Mapping[str, str], texts: Mapping[str, str], whole: Mapping[str, str]
    ) -> None:
        """Search from now on also for words, for texts that only their surroundings gave away, and
        for the beginnings of `whole` texts where a title was cut; all with their kinds.
        """
        self._whole = whole
        short = {text: kind for text, kind in texts.items() if len(text) < _SHORT}
        plain = {text.replace("*", "?"): kind for text, kind in short.items()}
        self._words = WordSearch({**plain, **words})
        self._literals = {text: kind for text, kind in texts.items() if text not in short}
        self._all.clear()

    def matches(self, text: str, label: str, *, is_key: bool) -> tuple[Match, ...]:
        """Return what is found in a text, in order and without overlaps. Words are not searched
        for in a key of JSON that is an identifier, such as `max_tokens`.
        """
        key = (text, label, is_key)
        if (merged := self._all.get(key)) is None:
            by_pattern = self._by_pattern.get((text, label))
            if by_pattern is None:
                by_pattern = tuple(_everywhere(text, lambda plain: matches(plain, label)))
                self._by_pattern[text, label] = by_pattern
            found = [*_everywhere(text, self._known), *by_pattern]
            if is_key and _IDENTIFIER.fullmatch(text):
                found = [*by_pattern]
            merged = self._all[key] = tuple(_merged(text, found))
        return merged

    def base64_runs(self, text: str) -> tuple[Base64Run, ...]:
        """Return the stretches of base64 in a text; see `encodings.base64_runs`."""
        if (runs := self._base64.get(text)) is None:
            runs = self._base64[text] = tuple(base64_runs(text))
        return runs

    def _known(self, text: str) -> Iterator[Match]:
        """Yield words and known texts."""
        if text.endswith("…"):
            yield from self._cut(text[:-1])
        yield from self._words.matches(text)
        for literal, kind in self._literals.items():
            start = text.find(literal)
            while start >= 0:
                yield Match(start, start + len(literal), kind, literal)
                start = text.find(literal, start + len(literal))

    def _cut(self, text: str) -> Iterator[Match]:
        """Yield the longest part of a text at the end of a cut one; a short part only in a path."""
        for start in range(max(len(text) - _LONGEST_CUT, 0), len(text)):
            if len(text) - start < _SHORTEST_CUT and text[start - 1 : start] not in ("/", "\\"):
                continue
            for whole, kind in self._whole.items():
                if whole.startswith(text[start:]):
                    yield Match(start, len(text), kind, whole)
                    return


def _everywhere(
    text: str, search: Callable[[str], Iterable[Match]], depth: int = 0
) -> Iterator[Match]:
    """Yield what is found in a text, also below escapes and URL encodings of any depth."""
    yield from search(text)
    for form in plain_forms(text) if depth < _DEEPEST else ():
        for match in _everywhere(form.text, search, depth + 1):
            start, end = form.place(match.start), form.place(match.end)
            if text[start:end] != form.text[match.start : match.end]:
                yield match._replace(start=start, end=end)


def _merged(text: str, found: list[Match]) -> Iterator[Match]:
    """Yield matches in order, without those within others; overlapping ones become one."""
    last: Match | None = None
    for match in sorted(found, key=lambda match: (match.start, -match.end)):
        if last is None or match.start >= last.end:
            if last is not None:
                yield last
            last = match
        elif match.end > last.end:
            last = Match(last.start, match.end, last.kind, text[last.start : match.end])
    if last is not None:
        yield last
