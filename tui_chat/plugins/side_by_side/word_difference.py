"""The words by which a text differs from another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

Change: TypeAlias = Literal["", "new-part", "gone-part", "muted"]
"""Words of both texts, of this one only, of the other one only, and ours; the names of their
styles."""

UNLIKE = "Little is the same; this is all of it."
_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_EXACT = 2_000
"""Words of a text up to which frequent ones are compared like all others."""
_MOST = 20_000
"""Words that are compared; the rest of a text counts as different."""
_LEAST_COMMON = 0.3
"""The share of the longer text's words that both have; with less, nobody could read the
difference."""


def word_difference(text: str, other: str) -> Iterator[tuple[str, Change]]:
    """Yield the words of a text and those that only the other one has, in their order, with the
    white space between them. A text that is too unlike the other one is yielded as it is.
    """
    words, others = _WORD.findall(text), _WORD.findall(other)
    compared, against = words[:_MOST], others[:_MOST]
    quick = max(len(compared), len(against)) > _EXACT
    matcher = SequenceMatcher(None, against, compared, autojunk=quick)
    blocks = matcher.get_matching_blocks()
    common = sum(_count(compared[block.b : block.b + block.size]) for block in blocks)
    if common < _LEAST_COMMON * max(_count(compared), _count(against)):
        yield UNLIKE, "muted"
        yield from _marked(("\n", "\n", *words), "")
        return
    gone, new = list[str](), list[str]()
    for operation, low, high, start, stop in matcher.get_opcodes():
        # Words that only a blank parts are one change.
        if operation == "equal" and not ((gone or new) and compared[start:stop] == [" "]):
            yield from _change(gone, new)
            gone, new = [], []
            yield from _marked(compared[start:stop], "")
        else:
            gone += against[low:high]
            new += compared[start:stop]
    yield from _change([*gone, *others[_MOST:]], [*new, *words[_MOST:]])


def _count(words: Iterable[str]) -> int:
    return sum(not word.isspace() for word in words)


def _change(gone: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, Change]]:
    # A line break that is gone would only be a gap.
    left = [" " if word == "\n" else word for word in gone]
    yield from _marked(left, "gone-part")
    if left and new and not (left[-1].isspace() or new[0].isspace()):
        yield " ", ""
    yield from _marked(new, "new-part")


def _marked(words: Iterable[str], change: Change) -> Iterator[tuple[str, Change]]:
    return ((word, change) for word in words)
