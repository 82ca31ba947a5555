"""Tokens of a reply: how a text divides into them, and the limits they count against.

A token is about four characters of English, or one of Chinese. No provider's vocabulary is used;
the numbers only have to be plausible and consistent: what is streamed a token at a time is what
`usage` counts.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from tui_chat.offline.reply_pieces import (
    Disconnect,
    Failure,
    Finish,
    PicturePiece,
    Piece,
    ReasoningPiece,
    SourcePiece,
    Speed,
    Stall,
    TextPiece,
    TimedPiece,
    ToolCallPiece,
    Wait,
)

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


def split_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text; joined they are the text."""
    for match in _TOKEN.finditer(text):
        yield match.group()


def deltas(text: str, *, single: bool = False) -> Iterator[tuple[str, int]]:
    """Yield a text in the pieces that a provider streams, each with its number of tokens.

    Every piece is one token if `single`, else several if the text is very long.
    """
    size = 1 if single else 1 + len(text) // _GROUPED_LENGTH
    if size == 1:
        for token in split_tokens(text):
            yield token, 1
        return
    group: list[str] = []
    for token in split_tokens(text):
        group.append(token)
        if len(group) == size:
            yield "".join(group), size
            group.clear()
    if group:
        yield "".join(group), len(group)


def count_tokens(text: str) -> int:
    """Return the number of tokens of a reply's text."""
    return sum(1 for _ in _TOKEN.finditer(text))


def estimate_prompt_tokens(characters: int) -> int:
    """Return the number of tokens of a prompt with this many characters, at least one."""
    return max(1, -(-characters // 4))


def limited(
    pieces: Iterable[Piece],
    limit: int | None,
    stops: tuple[str, ...],
    random_id: Callable[[int], str],
) -> Iterator[TimedPiece]:
    """Yield a model's pieces a token at a time, within the limits of the request.

    The last piece is a `Finish`, unless the reply breaks off. `limit` is in tokens.

    1. Text is sent a token at a time, after a wait of 1/speed seconds.
    2. Reasoning, text and tool calls all count against the limit, as at every provider. Reaching it
       exactly does not cut the reply; needing one more token does.
    3. A tool call that does not fit is left out whole, and the reply ends for its length.
    4. No part of a stop sequence is sent: text that may begin one is held back. Stop sequences
       apply to the answer only, never to reasoning.
    5. A tool call gets its id here.
    """
    spent = reasoning = 0
    speed: int | None = None
    called = False
    held = ""
    for piece in pieces:
        match piece:
            case Speed(speed):
                pass
            case ReasoningPiece(text) | TextPiece(text):
                for delta, cost in deltas(text, single=limit is not None):
                    if limit is not None and spent + cost > limit:
                        if held:
                            yield TextPiece(held)
                        yield Finish("length", None, spent, reasoning)
                        return
                    if speed is not None:
                        yield Wait(cost / speed)
                    spent += cost
                    if isinstance(piece, ReasoningPiece):
                        reasoning += cost
                        yield ReasoningPiece(delta)
                    elif not stops:
                        yield TextPiece(delta)
                    else:
                        sendable, held, stop = _find_stop(held + delta, stops)
                        if sendable:
                            yield TextPiece(sendable)
                        if stop is not None:
                            yield Finish("stop_sequence", stop, spent, reasoning)
                            return
            case ToolCallPiece(name, arguments, _):
                cost = count_tokens(name) + count_tokens(arguments)
                if limit is not None and spent + cost > limit:
                    yield Finish("length", None, spent, reasoning)
                    return
                spent += cost
                called = True
                yield ToolCallPiece(name, arguments, random_id(24))
            case SourcePiece() | PicturePiece():
                yield piece
            case Stall() | Disconnect() | Failure():
                yield piece
                return
            case _:
                assert_never(piece)
    if held:
        yield TextPiece(held)
    yield Finish("tool_calls" if called else "stop", None, spent, reasoning)


def _find_stop(text: str, stops: tuple[str, ...]) -> tuple[str, str, str | None]:
    """Return the text to send, the text to hold back, and the stop sequence found."""
    found = [(text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if found:
        end, length, stop = min(found)  # the first to be complete; of two, the longer
        return text[: end + length], "", stop
    longest = max(map(len, stops)) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if any(stop.startswith(text[start:]) for stop in stops):
            return text[:start], text[start:], None
    return text, "", None
