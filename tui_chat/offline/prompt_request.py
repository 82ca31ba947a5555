"""A request for a reply, in terms of no particular provider.

Each provider's `parse_request` makes a `PromptRequest` from a body; the models answer it and never
depend on which provider it came from, except to say so.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tui_chat.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PromptText:
    """Ordinary text."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptReasoning:
    """Reasoning of an earlier reply, sent back."""

    text: str
    """The readable part; empty if only a signature or ciphertext was sent."""


@dataclass(frozen=True, slots=True)
class PromptToolCall:
    """A tool call of an earlier reply, sent back."""

    id: str
    """The id that the result refers to; empty if a provider matches by name and order."""
    name: str
    arguments: str
    """JSON as text."""


@dataclass(frozen=True, slots=True)
class PromptToolResult:
    """The result of a tool call."""

    id: str
    name: str
    """Empty if the provider's form of a result has no name."""
    text: str


@dataclass(frozen=True, slots=True)
class PromptOther:
    """Content other than text: `image`, `audio`, `file` or the provider's own type."""

    kind: str


PromptPart: TypeAlias = (
    PromptText | PromptReasoning | PromptToolCall | PromptToolResult | PromptOther
)


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """One message as the provider received it."""

    role: str
    """The role in the request (`developer`, `model`, `tool` ...)."""

    parts: tuple[PromptPart, ...]

    @property
    def text(self) -> str:
        """The text parts, each on a line of its own."""
        return "\n".join(part.text for part in self.parts if isinstance(part, PromptText))

    @property
    def results(self) -> tuple[PromptToolResult, ...]:
        """The tool results among the parts."""
        return tuple(part for part in self.parts if isinstance(part, PromptToolResult))


@dataclass(frozen=True, slots=True)
class PromptTool:
    """A function that the model may call."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of the arguments, in the provider's spelling; empty if none was given."""


ToolMode: TypeAlias = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class PromptToolChoice:
    """The request's rule for calling tools."""

    mode: ToolMode = "auto"
    name: str | None = None
    """The one tool to call, if the request names it."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Tokens of a prompt that its provider's cache served, or took."""

    read: int = 0
    written: int = 0
    """Kept for five minutes."""
    written_1h: int = 0
    """Kept for an hour."""


NO_CACHE_USE = CacheUse()


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A complete request for a reply."""

    protocol: str
    """The protocol's name, as its provider calls it."""
    model: str
    system: tuple[str, ...]
    """Blocks outside the turns (`system`, `instructions`, `systemInstruction`)."""

    turns: tuple[PromptTurn, ...]
    tools: tuple[PromptTool, ...]
    choice: PromptToolChoice
    body: Mapping[str, Any]
    """The request's JSON object, for fields that a provider repeats in its reply."""

    settings: tuple[tuple[str, str], ...]
    """All other fields: name in the request and compact JSON, in the order sent."""

    stream: bool
    limit: int | None
    """Maximum tokens of the reply; None for no limit."""

    stops: tuple[str, ...]
    """Texts that end the reply before they are sent."""

    size: int
    """Length of the body in bytes."""

    cache: CacheUse = NO_CACHE_USE

    @property
    def characters(self) -> int:
        """The characters of the prompt: system, turns and tools."""
        return (
            sum(map(len, self.system))
            + sum(_length(part) for turn in self.turns for part in turn.parts)
            + sum(
                len(tool.name) + len(tool.description) + len(str(tool.schema))
                for tool in self.tools
            )
        )


def _length(part: PromptPart) -> int:
    match part:
        case PromptText(text) | PromptReasoning(text):
            return len(text)
        case PromptToolCall(_, name, arguments):
            return len(name) + len(arguments)
        case PromptToolResult(_, name, text):
            return len(name) + len(text)
        case PromptOther():
            return 1_000  # a picture costs a provider on the order of 250 tokens
