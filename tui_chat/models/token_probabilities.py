"""The probabilities of a reply's tokens, as its provider reported them.

1. A token is its text, the natural logarithm of its probability and, where they were asked for,
   its alternatives: the tokens that could have stood in its place, the chosen one among them if it
   was one of the most likely.
2. A message keeps its tokens packed into one text, and they are unpacked when somebody looks at
   them: as values, a long reply's would take longer to load than all else of its session.
3. What a provider sends is bounded. A token without a finite number is dropped, since nothing is
   known about it; one that the provider calls impossible has `LOWEST`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from math import exp, isnan
from typing import Annotated, Any, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import Check, Range
from tui_chat.models.text import clean

MOST_ALTERNATIVES = 20
"""Maximum alternatives of a token, which is also what providers can be asked for."""
TOKEN_LENGTH = 200
"""Maximum characters of a token's text; the rest is cut. A vocabulary's longest have 128."""
PACKED_SIZE = 4_000_000
"""Maximum characters of the packed tokens of a reply: 150,000 tokens, or 10,000 with 20
alternatives each."""
LOWEST = -9999.0
"""The lowest logarithm, which is also OpenAI's for a token that is very unlikely."""


def _checked_alternatives(alternatives: tuple[TokenAlternative, ...]) -> object:
    if len(alternatives) > MOST_ALTERNATIVES:
        raise ValueError(f"must have at most {MOST_ALTERNATIVES} entries")
    return alternatives


def _checked_text(text: str) -> str:
    if not 0 < len(text) <= TOKEN_LENGTH:
        raise ValueError(f"must have 1 to {TOKEN_LENGTH} characters")
    return text


TokenText: TypeAlias = Annotated[str, Check(_checked_text)]
LogProbability: TypeAlias = Annotated[float, Range(LOWEST, 0)]
"""The natural logarithm of a probability."""


@dataclass(frozen=True, slots=True)
class TokenAlternative:
    """A token that could have stood in the place of another, or the chosen one itself."""

    text: TokenText
    logprob: LogProbability


@dataclass(frozen=True, slots=True)
class TokenProbability:
    """A token of a reply."""

    text: TokenText
    logprob: LogProbability
    alternatives: Annotated[tuple[TokenAlternative, ...], Check(_checked_alternatives)] = ()
    """The most likely first."""


def probability(logprob: float) -> float:
    """Return the probability, from 0 to 1, of its logarithm."""
    return exp(logprob)


def received_token(
    text: object, logprob: object, alternatives: Iterable[tuple[object, object]] = ()
) -> TokenProbability | None:
    """Return a provider's token with its alternatives; None without a text or a number."""
    token = _received(text, logprob)
    if token is None:
        return None
    received = (_received(*alternative) for alternative in alternatives)
    known = islice((each for each in received if each is not None), MOST_ALTERNATIVES)
    likely = sorted((TokenAlternative(*each) for each in known), key=lambda each: -each.logprob)
    return TokenProbability(*token, tuple(likely))


def _received(text: object, logprob: object) -> tuple[str, float] | None:
    if not isinstance(text, str) or not text or isinstance(logprob, bool):
        return None
    if not isinstance(logprob, int | float) or (isinstance(logprob, float) and isnan(logprob)):
        return None
    number = max(LOWEST, min(logprob, 0.0))
    # Providers compute in 32 bits, so more digits would only take room.
    return clean(text[:TOKEN_LENGTH]), float(f"{number:.7g}")


def pack_tokens(tokens: Iterable[TokenProbability]) -> str:
    """Return tokens as text, to which those of more tokens can be appended."""
    rows = (
        [part for each in (token, *token.alternatives) for part in (each.text, each.logprob)]
        for token in tokens
    )
    return "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )


def unpack_tokens(packed: str) -> tuple[TokenProbability, ...]:
    """Return the tokens of a packed text; none if it is not one."""
    rows = ",".join(packed.split("\n")[:-1])
    try:
        return tuple(map(_unpacked, json.loads(f"[{rows}]")))
    except (ValueError, TypeError, LookupError, RecursionError):
        return ()


def _unpacked(row: list[Any]) -> TokenProbability:
    pairs = zip(row[2::2], row[3::2], strict=True)
    likely = tuple(TokenAlternative(text, logprob) for text, logprob in pairs)
    return TokenProbability(row[0], row[1], likely)
