"""The events of a streamed reply, which protocols' parsers yield and `reply.advance` folds."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.citations import Citation, Source
from tui_chat.models.token_probabilities import TokenProbability
from tui_chat.models.usage import Usage

FinishReason = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "paused", "other"
]


@dataclass(frozen=True, slots=True)
class Started:
    """The start of the reply."""

    model: str = ""
    """The model that answers, as the provider names it."""
    id: str = ""
    """The provider's id of the reply."""
    kept: bool = False
    """True if the provider stores the reply under that id, so that it can be continued."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The provider began the reply again before it had ended: what came before this event is
    replaced by what follows, and blocks, calls and sources are numbered from 0 again.
    """


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str
    signature: str = ""
    """Gemini's signature on this piece of text, which may be empty. A signed piece is not joined
    with its neighbors on replay."""
    id: str = ""
    """Responses' item id; a new one starts a new piece."""
    phase: str = ""
    """Responses' phase of that item."""


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """More of a refusal, which is separate from the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of a reasoning block; blocks are numbered in order of arrival."""

    index: int
    text: str = ""
    signature: str = ""
    """The next part of the signature."""
    encrypted: str = ""
    """The whole opaque data; the last one counts."""
    id: str = ""
    kind: str = ""
    """See `ReasoningBlock.kind`."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call; calls are numbered in order of arrival."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    """The next part of the arguments."""
    signature: str = ""
    """Gemini's signature on the call; the last one counts."""
    item_id: str = ""
    """Responses' id of the item, beside the id of the call."""
    form: str = ""
    """See `LayoutPiece.name` of a call."""
    extras: str = ""
    """The keys that have no field here, as a compact JSON object; the last one counts."""
    resets: bool = False
    """True if the arguments so far do not count: a server began with a placeholder for them."""


@dataclass(frozen=True, slots=True)
class OtherBlock:
    """A whole block that only the provider understands, such as a search it ran."""

    name: str
    """The provider's name for it."""
    data: str
    """The block as compact JSON."""


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A whole picture, sound or file, with what the provider needs to get it back."""

    part: MediaBlock
    signature: str = ""
    """Gemini's signature on it."""
    id: str = ""
    """Responses' item id, or Chat's id of a sound."""
    extras: str = ""
    """The keys that have no field here, as a compact JSON object."""


@dataclass(frozen=True, slots=True)
class SourceFound:
    """A source of the reply, or more about one; sources are numbered in order of arrival."""

    index: int
    source: Source


@dataclass(frozen=True, slots=True)
class Cited:
    """A place of the reply's text that rests on a source that was found before. Its characters
    are counted in the text of this stream, all of which may not have arrived yet.
    """

    citation: Citation


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that the provider ran for the reply."""

    query: str = ""
    failure: str = ""
    """A sentence, if it failed."""


@dataclass(frozen=True, slots=True)
class TokensReported:
    """More of the text's tokens, with their probabilities."""

    tokens: tuple[TokenProbability, ...]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage so far; fields that are None change nothing."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the reply and its reason."""

    reason: FinishReason
    raw: str
    """The provider's name for the reason."""
    detail: str = ""
    """The provider's explanation, if any, such as why a prompt was blocked."""


StreamEvent: TypeAlias = (
    Started
    | Restarted
    | TextDelta
    | RefusalDelta
    | ReasoningDelta
    | ToolCallDelta
    | OtherBlock
    | MediaPart
    | SourceFound
    | Cited
    | Searched
    | TokensReported
    | UsageReport
    | Finished
)


def text_bytes(event: StreamEvent) -> int:
    """Return the bytes of text in an event, from which its tokens are estimated.

    Bytes, because an English letter is a fourth of a token and a Chinese one about a whole token.
    """
    match event:
        case TextDelta() | RefusalDelta() | ReasoningDelta():
            return len(event.text.encode("utf-8", "replace"))
        case ToolCallDelta():
            return len(event.arguments.encode("utf-8", "replace"))
        case _:
            return 0
