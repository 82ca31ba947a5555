"""Texts and characters that every match of a pattern contains. Of thousands of patterns, only those
whose requirements a text meets are run on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TypeAlias

from tui_chat.context.lorebooks.patterns.syntax import (
    Alternation,
    BackReference,
    Boundary,
    CaptureGroup,
    Item,
    LiteralCharacter,
    Lookaround,
    Repeat,
    Sequence,
    Test,
)

_MAX_ALTERNATIVES = 64
"""Maximum number of literals in a requirement."""
_Texts: TypeAlias = frozenset[str]


def required_texts(item: Item) -> tuple[str, ...]:
    """Return case-folded literals of which every match contains one; empty if none are known."""
    texts = sorted(_better(*_requirement(item)) or (), key=len)
    shortest: list[str] = []
    for text in texts:
        if not any(known in text for known in shortest):
            shortest.append(text)
    return tuple(shortest)


def _better(one: _Texts | None, other: _Texts | None) -> _Texts | None:
    """Return which of two requirements excludes more texts; None if neither excludes any."""

    def worth(texts: _Texts) -> tuple[int, int]:
        return min(min(map(len, texts)), 6), -len(texts)

    # A single ASCII letter is in nearly every text; `required_characters` covers it.
    known = [
        texts
        for texts in (one, other)
        if texts and all(len(text) > 1 or text > "\x7f" for text in texts)
    ]
    return max(known, key=worth, default=None)


def _requirement(item: Item) -> tuple[_Texts | None, _Texts | None]:
    """Return all texts that an item matches, case-folded, if they are few, and texts of which each
    match contains one. None where they are unknown.
    """
    match item:
        case LiteralCharacter(_, folded):
            return frozenset(folded) or None, None
        case Boundary() | Lookaround():
            return frozenset(("",)), None
        case BackReference():
            return None, None
        case CaptureGroup(inner, _):
            return _requirement(inner)
        case Repeat(inner, least, most):
            whole, needed = _requirement(inner)
            if (least, most) == (1, 1):
                return whole, needed
            if least:
                return None, _better(whole, needed)
            return (whole | {""} if whole is not None and most == 1 else None), None
        case Alternation(ways):
            known = [_requirement(way) for way in ways]
            return (
                _union(whole for whole, _ in known),
                _union(_better(whole, needed) for whole, needed in known),
            )
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


def _requirement_of_sequence(items: tuple[Item, ...]) -> tuple[_Texts | None, _Texts | None]:
    run: _Texts = frozenset(("",))
    best: _Texts | None = None
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
        best = _better(_better(best, frozenset(text + literal for text in run)), needed)
        run, literal = whole if whole is not None else frozenset(("",)), ""
        is_whole = False
    run = frozenset(text + literal for text in run)
    return (run if is_whole else None), _better(best, run)
