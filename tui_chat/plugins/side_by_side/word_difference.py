"""The words by which a text differs from another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

Change: TypeAlias = Literal["", "new-part", "gone-part"]
"""Words of both texts, of this one only, and of the other one only; the names of their styles."""

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_EXACT = 2_000
"""Words of a text up to which frequent ones are compared like all others."""
_MOST = 20_000
"""Words that are compared; the rest of a text counts as different."""


def word_difference(text: str, other: str) -> Iterator[tuple[str, Change]]:
    """Yield the words of a text and those that only the other one has, in their order, with the
    white space between them.
    """
    words, others = _WORD.findall(text), _WORD.findall(other)
    compared, against = words[:_MOST], others[:_MOST]
    quick = max(len(compared), len(against)) > _EXACT
    matcher = SequenceMatcher(None, against, compared, autojunk=quick)
    for operation, low, high, start, stop in matcher.get_opcodes():
        if operation == "equal":
            yield from _marked(compared[start:stop], "")
        else:
            yield from _marked(against[low:high], "gone-part")
            yield from _marked(compared[start:stop], "new-part")
    yield from _marked(others[_MOST:], "gone-part")
    yield from _marked(words[_MOST:], "new-part")


def _marked(words: Iterable[str], change: Change) -> Iterator[tuple[str, Change]]:
    # A line break that is gone would only be a gap.
    return ((word, change) for word in words if not (change == "gone-part" and word == "\n"))
