"""A reply before it takes a protocol's form: its pieces and tokens.

A token is about four characters of English, or one of Chinese. No provider's vocabulary is used;
what is streamed a token at a time is what `usage` counts.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from tui_chat.lazy_dataclass import dataclass

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
_GROUPED_LENGTH = 40_000
"""Characters from which a delta holds several tokens: an echo must not be a million events."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a reply. Text and reasoning are sent a token at a time, the others whole."""

    text: str
    """The text; of a call its arguments, of a picture a PNG file in base64, of a source its URL."""
    kind: Literal["text", "reasoning", "call", "picture", "source"] = "text"
    """The models of the core write text alone."""
    name: str = ""
    """The tool of a call, the title of a source."""
    speed: int | None = None
    """Tokens per second; None for as fast as they are read."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a reply, with the number of its tokens."""

    reason: Literal["stop", "length"]
    output: int
    stop: str | None = None
    """The stop sequence that was met."""


Pieces = Iterator[Piece | float]
"""A model's pieces; a number is a pause in seconds."""


def split_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text; joined they are the text."""
    return (match.group() for match in _TOKEN.finditer(text))


def limited(pieces: Pieces, limit: int | None) -> Iterator[Piece | float | Finish]:
    """Yield a model's pieces a token at a time until there are `limit` tokens, and a `Finish`."""
    sent = 0
    for piece in pieces:
        if not isinstance(piece, Piece):
            yield piece
            continue
        is_split = piece.kind in ("text", "reasoning")
        tokens = list(split_tokens(piece.text)) if is_split else [piece.text]
        kept = tokens[: None if limit is None else limit - sent]
        size = 1 + len(piece.text) // _GROUPED_LENGTH
        for start in range(0, len(kept), size):
            group = kept[start : start + size]
            if piece.speed is not None:
                yield len(group) / piece.speed
            yield replace(piece, text="".join(group))
        sent += len(kept) * is_split
        if len(kept) < len(tokens):
            yield Finish("length", sent)
            return
    yield Finish("stop", sent)
