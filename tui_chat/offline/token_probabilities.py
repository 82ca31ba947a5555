"""Probabilities of a reply's tokens, for requests that ask for them.

They follow from the text alone, so the same reply has the same ones. The chosen token is the most
likely one, as a rule; what is left is shared by words that could stand there.
"""

from __future__ import annotations

from itertools import islice
from math import log
from typing import Any, NamedTuple
from zlib import crc32

from tui_chat.offline.reply import split_tokens

_MOST = 20
"""Maximum alternatives that can be asked for."""
_MOST_TOKENS = 20_000
"""Maximum tokens of one text: the echo of a huge one must not take gigabytes."""
_WORDS = (
    *("the", "a", "this", "it", "that", "one", "and", "of", "to", "in", "is"),
    *("for", "with", "as", "on", "by", "an", "or", "be", "at", "so"),
)


class _Token(NamedTuple):
    text: str
    logprob: float
    likely: tuple[tuple[str, float], ...]
    """The most likely tokens, with their log probabilities."""


def requested_alternatives(is_on: object, count: object) -> int | None:
    """Return the number of alternatives of each token; None if none are asked for."""
    if is_on is not True:
        return None
    return max(0, min(count, _MOST)) if isinstance(count, int) else 0


def _tokens(text: str, top: int) -> list[_Token]:
    return [_token(token, top) for token in islice(split_tokens(text), _MOST_TOKENS)]


def _token(token: str, top: int) -> _Token:
    number = crc32(token.encode("utf-8", "replace"))
    best = 0.3 + 0.699 * ((number % 1000) / 1000) ** 0.4
    place = 1 if number % 13 == 0 else 0  # of the chosen token among the likely ones
    space = " " * token.startswith(" ")
    others = [space + word for word in _WORDS[number % 7 :] + _WORDS[: number % 7]]
    texts = [other for other in others if other != token][:_MOST]
    texts.insert(place, token)
    left, likely = 1.0, list[tuple[str, float]]()
    for text in texts[: max(top, place + 1)]:
        # Each takes the same share of what the ones before it have left.
        likely.append((text, round(log(left * best), 6)))
        left *= 1 - best
    return _Token(token, likely[place][1], tuple(likely[:top]))


def openai_tokens(text: str, top: int | None) -> list[dict[str, Any]]:
    """Return the tokens of a text in OpenAI's form; none if the request does not ask for them."""
    if top is None:
        return []
    return [
        {
            **_openai_token(token.text, token.logprob),
            "top_logprobs": [_openai_token(*other) for other in token.likely],
        }
        for token in _tokens(text, top)
    ]


def _openai_token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode("utf-8", "replace"))}


def gemini_tokens(text: str, top: int | None) -> dict[str, Any]:
    """Return a text's tokens as `logprobsResult`, if the request asks for them."""
    if top is None or not text:
        return {}
    tokens = _tokens(text, top)
    result = {
        "topCandidates": [
            {"candidates": [_gemini_token(*other) for other in token.likely]} for token in tokens
        ],
        "chosenCandidates": [_gemini_token(token.text, token.logprob) for token in tokens],
    }
    return {"logprobsResult": result}


def _gemini_token(text: str, logprob: float) -> dict[str, Any]:
    number = crc32(text.encode("utf-8", "replace")) % 250_000
    return {"token": text, "tokenId": number, "logProbability": logprob}
