"""Probabilities of a reply's tokens, for requests that ask for them.

They follow from the text alone, so the same reply has the same ones. The chosen token is the most
likely one, as a rule; what is left is shared by words that could stand there.
"""

from itertools import islice
from math import log
from typing import Any, NamedTuple
from zlib import crc32

from tui_chat.models.token_probabilities import MOST_ALTERNATIVES
from tui_chat.offline.reply import split_tokens

_MOST_TOKENS = 20_000
"""Maximum tokens of one text: the echo of a huge one must not take gigabytes."""
_WORDS = (
    *("the", "a", "this", "it", "that", "one", "and", "of", "to", "in", "is"),
    *("for", "with", "as", "on", "by", "an", "or", "be", "at", "so"),
)


class Token(NamedTuple):
    """A token, and what could have stood in its place."""

    text: str
    logprob: float
    likely: tuple[tuple[str, float], ...] = ()
    """The most likely tokens, with their log probabilities."""

    def openai(self) -> dict[str, Any]:
        """Return the token in OpenAI's form."""
        others = [_openai(*other) for other in self.likely]
        return {**_openai(self.text, self.logprob), "top_logprobs": others}


def _openai(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode("utf-8", "replace"))}


def tokens_of(text: str, top: int) -> list[Token]:
    """Return the tokens of a text, each with `top` alternatives."""
    top = max(0, min(top, MOST_ALTERNATIVES))
    return [_token(token, top) for token in islice(split_tokens(text), _MOST_TOKENS)]


def _token(token: str, top: int) -> Token:
    number = crc32(token.encode("utf-8", "replace"))
    best = 0.3 + 0.699 * ((number % 1000) / 1000) ** 0.4
    place = 1 if number % 13 == 0 else 0  # of the chosen token among the likely ones
    space = " " * token.startswith(" ")
    others = [space + word for word in _WORDS[number % 7 :] + _WORDS[: number % 7]]
    texts = [other for other in others if other != token][:MOST_ALTERNATIVES]
    texts.insert(place, token)
    left, likely = 1.0, list[tuple[str, float]]()
    for text in texts[: max(top, place + 1)]:
        # Each takes the same share of what the ones before it have left.
        likely.append((text, round(log(left * best), 6)))
        left *= 1 - best
    return Token(token, likely[place][1], tuple(likely[:top]))


def gemini_token(text: str, logprob: float) -> dict[str, Any]:
    """Return a token in Gemini's form."""
    number = crc32(text.encode("utf-8", "replace")) % 250_000
    return {"token": text, "tokenId": number, "logProbability": logprob}
