"""A compiled pattern, and what every text that it matches contains.

Of thousands of patterns, only those whose requirements a text meets are run on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import inf, prod
from typing import TypeAlias

from tui_chat.context.lorebooks.patterns.automaton import PatternSearch
from tui_chat.context.lorebooks.patterns.backtracking import BacktrackingMatcher
from tui_chat.context.lorebooks.patterns.parser import parse_pattern
from tui_chat.context.lorebooks.patterns.syntax import (
    Alternation,
    BackReference,
    BadPattern,
    Boundary,
    CaptureGroup,
    Item,
    LiteralCharacter,
    Lookaround,
    Repeat,
    Sequence,
    Test,
    utf16_units,
)

LARGEST = 2_000
"""Maximum size of a pattern in characters, with counted repetitions written out."""


class Pattern:
    """A compiled pattern. The constructor raises BadPattern for one that cannot be used."""

    def __init__(self, source: str, flags: str = "") -> None:
        self._flags = flags
        self._item = parse_pattern(source, flags)
        # Only counted repetitions make a pattern much larger than its source.
        if ("{" in source or len(source) > LARGEST // 4) and _size(self._item) > LARGEST:
            raise BadPattern("is too large")
        self.has_back_references = "\\" in source and _contains(self._item, _is_back_reference)
        """True if `occurs_in` only says that the pattern might match; see `backtrack`."""
        self.sees_surroundings = "y" in flags or _contains(self._item, _is_condition)
        """True if a match may depend on text around it, beyond whether it borders on a word."""
        self.required_texts = required_texts(self._item)
        """Requirements, the one that excludes most texts first: case-folded literals, one of which
        is in every matching text once that is case-folded. Empty if none are known.
        """
        self.required_characters = required_characters(self._item)
        """Tests, each passed by some character of every matching text or of its `utf16_units`."""
        self._search: PatternSearch | None = None
        self._matcher: BacktrackingMatcher | None = None

    def occurs_in(self, text: str, start: int = 0) -> bool:
        r"""Return true if the pattern matches anywhere from `start` on.

        With back-references: if it might match. `^` and `\b` see the text before `start`.
        """
        if self._search is None:
            item = _without_back_references(self._item) if self.has_back_references else self._item
            self._search = PatternSearch(item, "m" in self._flags, "y" in self._flags)
        return self._search.occurs(*self._split(text, start))

    def backtrack(self, text: str, start: int, limit: int) -> tuple[bool, int]:
        """Decide whether a pattern with back-references matches from `start` on.

        Returns the result and the steps that it took. If `limit` steps are not enough, the result
        is false and the steps are negative.
        """
        if self._matcher is None:
            self._matcher = BacktrackingMatcher(self._item, self._flags)
        before, rest = self._split(text, start)
        return self._matcher.search(before + rest, len(before), limit)

    def find(self, text: str, start: int, limit: int) -> tuple[tuple[int, ...] | None, int]:
        """Return the first match from `start` on as the start and end of the whole and of each
        group, -1 for none, and the steps that it took.

        If `limit` steps are not enough, it is None and the steps are negative. Characters are those
        of Python, so that patterns with characters beyond U+FFFF need the flag `u`.
        """
        if self._matcher is None:
            self._matcher = BacktrackingMatcher(self._item, self._flags)
        return self._matcher.find(text, start, limit)

    def most_ways(self, length: int) -> float:
        """Return an upper bound of the ways to match from one place of a text of this length."""
        return _ways(self._item, length)

    def _split(self, text: str, start: int) -> tuple[str, str]:
        """Return the character before `start`, if any, and the rest, in JavaScript's characters."""
        before, rest = text[max(start - 1, 0) : start], text[start:]
        if "u" in self._flags:
            return before, rest
        return utf16_units(before)[-1:], utf16_units(rest)


def _size(item: Item) -> int:
    """Return the maximum size of an item, in characters."""
    if isinstance(item, LiteralCharacter):
        return 1
    match item:
        case Sequence(parts) | Alternation(parts):
            return 1 + sum(map(_size, parts))
        case CaptureGroup(inner, _) | Lookaround(inner, _, _):
            return 1 + _size(inner)
        case Repeat(inner, least, most):
            return 1 + _size(inner) * max(least if most is None else most, 1)
        case _:
            return 1


def _ways(item: Item, length: int) -> float:
    if isinstance(item, LiteralCharacter):
        return 1
    match item:
        case Sequence(parts):
            return prod(_ways(part, length) for part in parts)
        case Alternation(parts):
            return sum(_ways(part, length) for part in parts)
        case CaptureGroup(inner, _) | Lookaround(inner, _, _):
            return _ways(inner, length)
        case Repeat(inner, least, most):
            inside = _ways(inner, length)
            if inside > 1:
                return inside**least if most == least and least < 9 else inf
            return max((length if most is None else min(most, length)) - least, 0) + 1
        case _:
            return 1


def _contains(item: Item, wanted: Callable[[Item], bool]) -> bool:
    """True if an item or one within it is wanted."""
    if isinstance(item, LiteralCharacter):
        return False
    if wanted(item):
        return True
    match item:
        case Sequence(parts) | Alternation(parts):
            return any(_contains(part, wanted) for part in parts)
        case CaptureGroup(inner, _) | Lookaround(inner, _, _) | Repeat(inner):
            return _contains(inner, wanted)
        case _:
            return False


def _is_back_reference(item: Item) -> bool:
    return isinstance(item, BackReference)


def _is_condition(item: Item) -> bool:
    return isinstance(item, Lookaround) or (isinstance(item, Boundary) and item.kind in "^$")


_ANY_TEXT = Repeat(LiteralCharacter(bool), 0, None)
_NOTHING = Sequence(())


def _without_back_references(item: Item) -> Item:
    """Return an item without back-references that matches wherever `item` does."""
    match item:
        case BackReference():
            return _ANY_TEXT
        case Lookaround() if _contains(item, _is_back_reference):
            return _NOTHING
        case Sequence(parts):
            return Sequence(tuple(map(_without_back_references, parts)))
        case Alternation(parts):
            return Alternation(tuple(map(_without_back_references, parts)))
        case CaptureGroup(inner, _):
            return _without_back_references(inner)
        case Repeat(inner, least, most):
            return Repeat(_without_back_references(inner), least, most)
        case _:
            return item


_MAX_ALTERNATIVES = 64
"""Maximum number of literals in a requirement."""
_MAX_REQUIREMENTS = 4
_Texts: TypeAlias = frozenset[str]
_Requirements: TypeAlias = tuple[_Texts, ...]
"""Texts of which each match contains one, for each of these sets."""


def required_texts(item: Item) -> tuple[tuple[str, ...], ...]:
    """Return requirements, each of them case-folded literals of which every match contains one; the
    one that excludes most texts is first. Empty if none are known.
    """
    whole, needed = _requirement(item)
    return tuple(map(_shortest, _best((*_known(whole), *needed))))


def _shortest(texts: _Texts) -> tuple[str, ...]:
    """Return the texts that contain no other one."""
    shortest: list[str] = []
    for text in sorted(texts, key=len):
        if not any(known in text for known in shortest):
            shortest.append(text)
    return tuple(shortest)


def _best(requirements: Iterable[_Texts]) -> _Requirements:
    """Return the requirements that exclude most texts, best first."""

    def worth(texts: _Texts) -> tuple[int, int]:
        return min(min(map(len, texts)), 6), -len(texts)

    # A single ASCII letter is in nearly every text; `required_characters` covers it.
    known = [
        texts
        for texts in dict.fromkeys(requirements)
        if texts and all(len(text) > 1 or text > "\x7f" for text in texts)
    ]
    return tuple(sorted(known, key=worth, reverse=True)[:_MAX_REQUIREMENTS])


def _known(texts: _Texts | None) -> _Requirements:
    return () if texts is None else (texts,)


def _requirement(item: Item) -> tuple[_Texts | None, _Requirements]:
    """Return all texts that an item matches, case-folded, if they are few (None if they are
    unknown), and texts of which each match contains one.
    """
    match item:
        case LiteralCharacter(_, folded):
            return frozenset(folded) or None, ()
        case Boundary() | Lookaround():
            return frozenset(("",)), ()
        case BackReference():
            return None, ()
        case CaptureGroup(inner, _):
            return _requirement(inner)
        case Repeat(inner, least, most):
            whole, needed = _requirement(inner)
            if (least, most) == (1, 1):
                return whole, needed
            if least:
                return None, _best((*_known(whole), *needed))
            return (whole | {""} if whole is not None and most == 1 else None), ()
        case Alternation(ways):
            known = [_requirement(way) for way in ways]
            best = [next(iter(_best((*_known(whole), *needed))), None) for whole, needed in known]
            return _union(whole for whole, _ in known), _known(_union(best))
        case Sequence(items):
            return _requirement_of_sequence(items)


def required_characters(item: Item) -> frozenset[Test]:
    """Return the tests that some character of every match passes; alternatives are ignored."""
    match item:
        case LiteralCharacter(test):
            return frozenset((test,))
        case Sequence(items):
            return frozenset[Test]().union(*map(required_characters, items))
        case CaptureGroup(inner, _):
            return required_characters(inner)
        case Repeat(inner, least, _) if least:
            return required_characters(inner)
        case _:
            return frozenset()


def _union(sets: Iterable[_Texts | None]) -> _Texts | None:
    texts: set[str] = set()
    for each in sets:
        if each is None or len(texts) > _MAX_ALTERNATIVES:
            return None
        texts |= each
    return frozenset(texts) if len(texts) <= _MAX_ALTERNATIVES else None


def _requirement_of_sequence(items: tuple[Item, ...]) -> tuple[_Texts | None, _Requirements]:
    run: _Texts = frozenset(("",))
    found: list[_Texts] = []
    is_whole = True
    literal = ""
    for item in items:
        if isinstance(item, LiteralCharacter) and len(item.folded) == 1:
            literal += item.folded[0]
            continue
        whole, needed = _requirement(item)
        if whole is not None and len(run) * len(whole) <= _MAX_ALTERNATIVES:
            run = frozenset(text + literal + more for text, more in product(run, whole))
            literal = ""
            continue
        found += (frozenset(text + literal for text in run), *needed)
        run, literal = whole if whole is not None else frozenset(("",)), ""
        is_whole = False
    run = frozenset(text + literal for text in run)
    return (run if is_whole else None), _best((*found, run))
