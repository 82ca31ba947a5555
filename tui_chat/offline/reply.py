"""A reply before it takes a protocol's form: its pieces, its tokens, and the limits they count
against.

1. A model is a generator of `Piece`s: it neither waits nor writes. `limited` turns them into
   `TimedPiece`s, a token at a time; a `ResponseWriter` turns those into bytes.
2. A token is about four characters of English, or one of Chinese. No provider's vocabulary is used;
   the numbers only have to be plausible and consistent: what is streamed a token at a time is what
   `usage` counts.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, assert_never

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
class Problem:
    """An error of a request. Each protocol words and shapes it in its own way."""

    kind: Literal[
        "invalid", "too_large", "unknown_model", "not_found", "rate_limited", "failed", "overloaded"
    ]
    message: str = ""
    """The message of a client's fault; the protocols have their own for the last three."""
    seconds: int = 0
    """The wait that a rate limit asks for."""


class Refusal(Exception):
    """Raised while a request is answered; becomes the error response."""

    def __init__(self, fault: Problem) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of the tokens after it; None for as fast as they are read."""

    tokens_per_second: int | None


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """Part of the reasoning before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """A complete tool call. Its id, 24 letters and digits, is set by `limited`."""

    name: str
    arguments: str
    """A JSON object as text."""
    id: str = ""


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """A page on which the text since the source before rests."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class PicturePiece:
    """A picture that the model made, a PNG file in base64."""

    data: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stall:
    """No more data, with the connection open."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection ends here, before the end of the reply."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The provider fails: with a status if nothing was sent yet, else inside the stream."""

    fault: Problem


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a reply, with its tokens; reasoning and tool calls are among the output."""

    reason: Literal["stop", "stop_sequence", "length", "tool_calls"]
    stop: str | None
    """The stop sequence that was met."""
    output: int
    reasoning: int


Content: TypeAlias = ReasoningPiece | TextPiece | ToolCallPiece | SourcePiece | PicturePiece
Piece: TypeAlias = Speed | Content | Stall | Disconnect | Failure
TimedPiece: TypeAlias = Content | Wait | Stall | Disconnect | Failure | Finish


class WholeReply:
    """The content of a reply that is not streamed, joined by kind."""

    def __init__(self, pieces: Iterable[Content]) -> None:
        self.pieces = pieces = tuple(pieces)
        self.reasoning = "".join(
            piece.text for piece in pieces if isinstance(piece, ReasoningPiece)
        )
        self.text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
        self.pictures = [piece for piece in pieces if isinstance(piece, PicturePiece)]
        self.calls = [piece for piece in pieces if isinstance(piece, ToolCallPiece)]
        self.cited = list(cited_texts(pieces))


def cited_texts(pieces: Iterable[Content]) -> Iterator[tuple[str, SourcePiece | None]]:
    """Yield the text before each source with that source, and the text after the last one."""
    text = ""
    for piece in pieces:
        if isinstance(piece, TextPiece):
            text += piece.text
        elif isinstance(piece, SourcePiece):
            yield text, piece
            text = ""
    if text:
        yield text, None


def split_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text; joined they are the text."""
    for match in _TOKEN.finditer(text):
        yield match.group()


def deltas(text: str, *, single: bool = False) -> Iterator[tuple[str, int]]:
    """Yield a text in the pieces that a provider streams, each with its number of tokens.

    Every piece is one token if `single`, else several if the text is very long.
    """
    size = 1 if single else 1 + len(text) // _GROUPED_LENGTH
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
    ends = [(text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if ends:
        end, length, stop = min(ends)  # the first to be complete; of two, the longer
        return text[: end + length], "", stop
    longest = max(map(len, stops)) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if any(stop.startswith(text[start:]) for stop in stops):
            return text[:start], text[start:], None
    return text, "", None
