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
