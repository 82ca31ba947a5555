"""Tokens, near enough: about four characters of English each, about one of Chinese.

No provider's vocabulary is used; these numbers only have to be plausible and to agree with each
other: what is streamed a token at a time is what `usage` counts.
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      [ ]?[A-Za-z]{1,7}      # a word or the first part of a long one, with the space before it
    | [ ]?[0-9]{1,3}
    | \n+
    | [^\S\n]+               # other space
    | [^\w\s]{1,3}           # punctuation
    | .                      # any other character by itself: CJK, emoji, accents
    """,
    re.VERBOSE | re.DOTALL,
)

_MANY = 40_000
"""Characters from which several tokens are said at once: an echo must not be a million events."""


def split(text: str) -> Iterator[str]:
    """Yield the tokens of a text; joined they are the text."""
    for match in _TOKEN.finditer(text):
        yield match.group()


def deltas(text: str, *, single: bool = False) -> Iterator[tuple[str, int]]:
    """Yield a text in the pieces a provider streams: each with how many tokens it holds.

    Every piece is one token if `single`, else several when the text is very long.
    """
    size = 1 if single else 1 + len(text) // _MANY
    if size == 1:
        for token in split(text):
            yield token, 1
        return
    group: list[str] = []
    for token in split(text):
        group.append(token)
        if len(group) == size:
            yield "".join(group), size
            group.clear()
    if group:
        yield "".join(group), len(group)


def count(text: str) -> int:
    """How many tokens a reply's text is."""
    return sum(1 for _ in _TOKEN.finditer(text))


def estimate(characters: int) -> int:
    """How many tokens a prompt of so many characters is, at least one."""
    return max(1, -(-characters // 4))
