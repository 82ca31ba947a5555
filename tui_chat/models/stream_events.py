"""The events of a streamed reply, which protocols' parsers yield and `reply.advance` folds."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Extras, MediaBlock, OpaqueBlock
from tui_chat.models.sources import Source
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


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str
    extras: Extras | None = None
    """Those of a text that begins here, unless the one before has the same."""
    is_whole: bool = False
    """True if it is a text by itself, which has a signature: it is not joined with others."""


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
    """The next part of the signature, which the extras of the block have as `signature`."""
    extras: Extras | None = None
    """The other extras; the last ones count."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call; calls are numbered in order of arrival."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    """The next part of the arguments."""
    extras: Extras | None = None
    """The last ones count."""
    resets: bool = False
    """True if the arguments so far do not count: a server began with a placeholder for them."""


@dataclass(frozen=True, slots=True)
class OtherBlock:
    """A whole block that only the provider understands, such as a search it ran."""

    block: OpaqueBlock
    size: int
    """Characters of the block as compact JSON."""


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A whole picture, sound or file, with what the provider needs to get it back."""

    part: MediaBlock


@dataclass(frozen=True, slots=True)
class SourceFound:
    """A source of the reply, or more about one; sources are numbered in order of arrival."""

    index: int
    source: Source


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
    | TextDelta
    | RefusalDelta
    | ReasoningDelta
    | ToolCallDelta
    | OtherBlock
    | MediaPart
    | SourceFound
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
