"""The pieces of a reply, before they take a provider's form.

A model is a generator of `Piece`s: it neither waits nor writes. `tokens.limited` turns them into
`TimedPiece`s, a token at a time; a `ResponseWriter` turns those into bytes; `play` waits.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.request_errors import ProviderFault


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of the tokens after it."""

    tokens_per_second: int | None
    """None for as fast as they are read."""


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
    """A complete tool call."""

    name: str
    arguments: str
    """A JSON object as text."""

    id: str = ""
    """24 letters and digits, set by `tokens.limited`; each provider adds its prefix."""


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """A page on which the text since the source before rests."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class PicturePiece:
    """A picture that the model made."""

    data: str
    """A PNG file in base64."""


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

    error: ProviderFault


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a reply and its cost."""

    reason: Literal["stop", "stop_sequence", "length", "tool_calls"]
    stop: str | None
    """The stop sequence that was met."""

    output: int
    """Tokens of the reply, reasoning and tool calls included."""

    reasoning: int
    """Tokens of reasoning among them."""


Content: TypeAlias = ReasoningPiece | TextPiece | ToolCallPiece | SourcePiece | PicturePiece
Piece: TypeAlias = Speed | Content | Stall | Disconnect | Failure
TimedPiece: TypeAlias = Content | Wait | Stall | Disconnect | Failure | Finish


def cited_texts(pieces: Iterable[Content]) -> Iterator[tuple[str, SourcePiece | None]]:
    """Yield the text before each source with that source, and the text after the last one."""
    texts: list[str] = []
    for piece in pieces:
        match piece:
            case TextPiece(text):
                texts.append(text)
            case SourcePiece():
                yield "".join(texts), piece
                texts = []
            case _:
                pass
    if texts:
        yield "".join(texts), None
