"""Words for the search index and queries in them, and the ranks and snippets of matching texts.

1. Text is folded: case, accents and the widths of East Asian letters make no difference.
2. A word is a run of letters and digits. Scripts that are written without spaces are indexed in
   pairs: of ABC the pairs AB and BC, and the last letter C alone. So any part of such a run is a
   sequence of pairs, two letters are one lookup, and one letter is the beginning of a pair.
3. Index and query go through the same functions, so what they call a word is always the same.
4. A query for the index consists of these words only, never of the typed text, so nothing in it can
   be taken for the index's query language.

SQLite's trigram index would find nothing for queries under three characters, and its other
tokenizers take a Chinese sentence for one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import add

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass

_DENSE = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul
)
_WORD = re.compile(f"[{_DENSE}]+|[^\\W_{_DENSE}]+")
_LETTER = f"[^\\W_{_DENSE}]"
_IS_DENSE = re.compile(f"[{_DENSE}]")
_BEYOND_ASCII = re.compile("([^\x00-\x7f]+)")
_PAIRED_OR_BETWEEN = re.compile(f"[{_DENSE}]+|[^\x00-\x7f\\w{_DENSE}]+")
_PLAIN_HAN = re.compile("[\u4e00-\u9fff]+")
"""Text that folding does not change."""
_MARKS = "，。、！？：；“”‘’…—"
"""Frequent marks beyond ASCII. Replacing them first is faster than run by run."""
_NARROW = {"，": ",", "！": "!", "？": "?", "：": ":", "；": ";", "（": "(", "）": ")", "…": "..."}
_HARDLY_CHANGES = re.compile(
    f"[\x00-\x7f\u3001\u3002\u3041-\u3094\u30a1-\u30fa\u30fc\u4e00-\u9fff“”‘’—{''.join(_NARROW)}]*"
)
"""Common Chinese and Japanese text; only these marks and ASCII are folded in it, which is fast."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
_PHRASE = re.compile(r'"([^"]*)"?|(\S+)')
_BEFORE, _LENGTH = 50, 200
"""Characters of a snippet before the first mark, and altogether."""
_WINDOW, _OVERLAP = 20_000, 500
"""Characters of a long text that are looked at together, and those of them that are looked at with
the ones before, too. Marks in a megabyte with accents would take a second."""

_SPACE = re.compile(r"\s+")


def fold(text: str) -> str:
    """Return the text with case, accents and letter widths folded."""
    if text.isascii():
        return text.lower()
    if folds_little(text):
        for mark, plain in _NARROW.items():
            text = text.replace(mark, plain)
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def folds_little(text: str) -> bool:
    """Return True if folding changes little (ASCII, a few marks), as in Chinese and Japanese."""
    return _HARDLY_CHANGES.fullmatch(text) is not None


def index_words(text: str) -> str:
    """Return the words of a text as the index needs them: separated by spaces or other ASCII."""
    if text.isascii():
        return text  # the index finds words and folds case there by itself
    for mark in _MARKS:
        text = text.replace(mark, " ")
    # Folding never joins ASCII with adjacent characters, so only the rest is processed.
    parts = _BEYOND_ASCII.split(text)
    parts[1::2] = [_known(run) if len(run) <= _SHORT else _folded(run) for run in parts[1::2]]
    return "".join(parts)


def _folded(run: str) -> str:
    """Return the words of a run of characters that are not ASCII."""
    if _PLAIN_HAN.fullmatch(run):
        return _pairs(run)
    return _PAIRED_OR_BETWEEN.sub(_between, fold(run))


def _between(match: re.Match[str]) -> str:
    return _pairs(match[0]) if _IS_DENSE.match(match[0]) else " "


def _pairs(run: str) -> str:
    return f" {' '.join(map(add, run, run[1:]))} {run[-1]} "


_SHORT = 24
"""Maximum characters of a run that is cached: an accent, a Russian word, some Chinese."""
_known = lru_cache(8192)(_folded)


@dataclass(frozen=True, slots=True)
class Term:
    """Words that must follow each other."""

    words: tuple[str, ...]
    """Folded; each a run of letters and digits of one kind of script."""
    is_prefix: bool = False
    """True if the last word may be the beginning of a longer one."""

    @property
    def match(self) -> str:
        """The term as an expression of the index."""
        tokens: list[str] = []
        for number, word in enumerate(self.words, 1):
            if not _IS_DENSE.match(word):
                tokens.append(word)
                continue
            tokens += map("".join, pairwise(word))
            if number < len(self.words):
                tokens.append(word[-1])  # where the run ends, another word follows
            elif len(word) == 1:
                return f'"{" ".join([*tokens, word])}" *'
        return f'"{" ".join(tokens)}"' + (" *" if self.is_prefix else "")

    @property
    def pattern(self) -> str:
        """The term as a regular expression for folded text."""
        first, *others = self.words
        # The letters come first, since they are searched for quickly; the lookbehind follows them.
        start = first if _IS_DENSE.match(first) else f"{first}(?<!{_LETTER}{first})"
        words = "[\\W_]*".join([start, *others])
        if _IS_DENSE.match(self.words[-1]):
            return words
        return words + (f"{_LETTER}*" if self.is_prefix else f"(?!{_LETTER})")


def parse_terms(text: str) -> tuple[Term, ...]:
    """Parse a typed query. Raises InputError if it has no word."""
    terms = tuple(_terms(text))
    if not terms:
        raise InputError("The query has no word.", advice="Type a word or a part of one.")
    return terms


def match_expression(terms: tuple[Term, ...]) -> str:
    """Return the expression of the index for messages that have all of the terms."""
    return " AND ".join(term.match for term in terms)


def _terms(text: str) -> Iterator[Term]:
    for match in _PHRASE.finditer(text):
        phrase = match[1] if match[1] is not None else match[2]
        words = tuple(_WORD.findall(fold(phrase)))
        if words:
            yield Term(words, is_prefix=phrase.endswith("*"))


class TermMatcher:
    """Finds the terms of a query in texts, as the index does."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self._each = [re.compile(term.pattern) for term in terms]
        self._any = re.compile("|".join(term.pattern for term in terms))
        self._is_ascii = all(word.isascii() for term in terms for word in term.words)

    def score(self, text: str) -> float:
        """Return a match's score, higher for frequent and early terms in short texts."""
        folded = fold(text)
        score = 0.0
        for pattern in self._each:
            places = [match.start() for match in pattern.finditer(folded)]
            if places:
                score += len(places) / (len(places) + 1.2) + 1 / (1 + places[0] / 200)
        return score / (1 + len(folded) / 2000)

    def has_all(self, text: str) -> bool:
        """Return True if a text has all of the terms."""
        if not self._is_ascii and text.isascii():
            return False
        folded = fold(text)
        return all(pattern.search(folded) for pattern in self._each)

    def has_any(self, text: str) -> bool:
        """Return True if a text has any of the terms."""
        return self._any.search(fold(text)) is not None

    def part_with_term(self, text: str) -> str:
        """Return a text, or the part of a long one that has the first term."""
        for start in range(0, len(text), _WINDOW):
            part = text[max(start - _OVERLAP, 0) : start + _WINDOW]
            if self.has_any(part):
                return part
        return text[:_WINDOW]

    def snippet(self, text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """Return a part of the text on one line, and the ranges of the terms in it."""
        ranges = self._ranges(text)
        start = max(0, ranges[0][0] - _BEFORE) if ranges else 0
        if start and (space := text.find(" ", start, ranges[0][0])) > 0:
            start = space + 1
        end = min(len(text), start + _LENGTH)
        shown, marks = "…" if start else "", list[tuple[int, int]]()
        offset = start
        for begin, stop in ranges:
            if stop > end:
                break
            shown += _SPACE.sub(" ", text[offset:begin])
            marks.append(
                (len(shown), len(shown) + len(marked := _SPACE.sub(" ", text[begin:stop])))
            )
            shown += marked
            offset = stop
        shown += _SPACE.sub(" ", text[offset:end])
        return shown + ("…" if end < len(text) else ""), tuple(marks)

    def _ranges(self, text: str) -> list[tuple[int, int]]:
        """Return the ranges of the terms in the text itself."""
        folded = fold(text)
        ranges = [
            match.span() for match in self._any.finditer(folded) if match.end() > match.start()
        ]
        if not ranges or _folds_in_place(text):
            return ranges
        # Folding makes some letters longer and joins others: fold piece by piece to see where.
        pieces = _PIECE.findall(text)
        ends = list(accumulate(len(fold(piece)) for piece in pieces))
        places = list(accumulate(map(len, pieces)))
        if not ends or ends[-1] != len(folded):
            return []
        starts: dict[int, int] = {}
        stops: dict[int, int] = {}
        begin = place = 0
        for piece_end, piece_place in zip(ends, places, strict=True):
            for offset in range(begin, piece_end):
                starts[offset], stops[offset + 1] = place, piece_place
            begin, place = piece_end, piece_place
        return [(starts[first], stops[last]) for first, last in ranges]


_PIECE = re.compile("(?s:.)[\u0300-\u036f\u3099\u309a\u1160-\u11ff]*")
"""A character with its combining marks."""


def _folds_in_place(text: str) -> bool:
    """Return True if each character of a text is folded to one character."""
    if text.isascii() or (folds_little(text) and "…" not in text):
        return True
    return all(len(fold(character)) == 1 for character in set(text))
