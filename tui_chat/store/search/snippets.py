"""Matching texts against the terms of a query: ranks, and snippets with marks."""

from __future__ import annotations

import re
from itertools import accumulate

from tui_chat.store.search.words import Term, fold, folds_little

_BEFORE, _LENGTH = 50, 200
"""Characters of a snippet before the first mark, and altogether."""

_SPACE = re.compile(r"\s+")


class TermMatcher:
    """Finds the terms of a query in texts, as the index does."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self._each = [re.compile(term.pattern) for term in terms]
        self._any = re.compile("|".join(term.pattern for term in terms))
        self._is_ascii = all(word.isascii() for term in terms for word in term.words)

    def score(self, text: str) -> float:
        """Return how well a text matches: more if the terms are often and early in a short text.
        From 0 up to about 2 for each term.
        """
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

    def matches_each(self, text: str) -> list[bool]:
        """Return for each term whether a text has it."""
        folded = fold(text)
        return [pattern.search(folded) is not None for pattern in self._each]

    def has_any(self, text: str) -> bool:
        """Return True if a text has any of the terms."""
        return self._any.search(fold(text)) is not None

    def snippet(self, text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """Return a part of the text on one line, and the ranges of the terms in it."""
        found = self._ranges(text)
        start = max(0, found[0][0] - _BEFORE) if found else 0
        if start and (space := text.find(" ", start, found[0][0])) > 0:
            start = space + 1
        end = min(len(text), start + _LENGTH)
        shown, marks = "…" if start else "", list[tuple[int, int]]()
        at = start
        for begin, stop in found:
            if stop > end:
                break
            shown += _SPACE.sub(" ", text[at:begin])
            marks.append(
                (len(shown), len(shown) + len(marked := _SPACE.sub(" ", text[begin:stop])))
            )
            shown += marked
            at = stop
        shown += _SPACE.sub(" ", text[at:end])
        return shown + ("…" if end < len(text) else ""), tuple(marks)

    def _ranges(self, text: str) -> list[tuple[int, int]]:
        """Return the ranges of the terms in the text itself."""
        folded = fold(text)
        found = [
            match.span() for match in self._any.finditer(folded) if match.end() > match.start()
        ]
        if not found or _folds_in_place(text):
            return found
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
            for at in range(begin, piece_end):
                starts[at], stops[at + 1] = place, piece_place
            begin, place = piece_end, piece_place
        return [(starts[first], stops[last]) for first, last in found]


_PIECE = re.compile("(?s:.)[\u0300-\u036f\u3099\u309a\u1160-\u11ff]*")
"""A character with its combining marks."""


def _folds_in_place(text: str) -> bool:
    """Return True if each character of a text is folded to one character."""
    if text.isascii() or (folds_little(text) and "…" not in text):
        return True
    return all(len(fold(character)) == 1 for character in set(text))
