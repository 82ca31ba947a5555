"""What a request asks for, in words that belong to no provider.

Each provider's `hear` makes an `Asked` from a body; the models answer an `Asked` and never learn
which provider it came from, except to say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

ProtocolName = Literal["openai_chat", "openai_responses", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True)
class Words:
    """Ordinary text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning of an earlier reply, sent back."""

    text: str
    """What can be read of it; empty when only a signature or ciphertext came."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an earlier reply, sent back."""

    id: str
    """What the result refers to; empty where a provider matches by name and order."""
    name: str
    arguments: str
    """JSON as text."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered."""

    id: str
    name: str
    """Empty where the provider's form of a result has no name."""
    text: str


@dataclass(frozen=True, slots=True)
class Other:
    """Something that is not text: `image`, `audio`, `file` or the provider's own word for it."""

    kind: str


Part: TypeAlias = Words | Thought | Call | Result | Other


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as the provider received it."""

    role: str
    """The role as written on the wire (`developer`, `model`, `tool` ...)."""

    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The words alone, parts on lines of their own."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Words))

    @property
    def results(self) -> tuple[Result, ...]:
        """The tool results among the parts."""
        return tuple(part for part in self.parts if isinstance(part, Result))


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of the arguments, in the provider's spelling; empty if none was given."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a tool may or must be called."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str | None = None
    """The one tool to call, when the request names it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A whole request for a reply."""

    protocol: ProtocolName
    model: str
    system: tuple[str, ...]
    """Blocks that stand apart from the turns (`system`, `instructions`, `systemInstruction`)."""

    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...]
    choice: Choice
    body: Mapping[str, Any]
    """The request's JSON object, for the few things a provider repeats in its reply."""

    settings: tuple[tuple[str, str], ...]
    """Everything else in the body: name on the wire and compact JSON, in the order sent."""

    stream: bool
    limit: int | None
    """Most tokens the reply may have; None for no limit."""

    stops: tuple[str, ...]
    """Texts that end the reply before they are said."""

    size: int
    """Length of the body in bytes."""

    @property
    def characters(self) -> int:
        """How many characters of prompt there are: system, turns and tools."""
        return (
            sum(map(len, self.system))
            + sum(_length(part) for turn in self.turns for part in turn.parts)
            + sum(
                len(tool.name) + len(tool.description) + len(str(tool.schema))
                for tool in self.tools
            )
        )


def _length(part: Part) -> int:
    match part:
        case Words(text) | Thought(text):
            return len(text)
        case Call(_, name, arguments):
            return len(name) + len(arguments)
        case Result(_, name, text):
            return len(name) + len(text)
        case Other():
            return 1_000  # a picture costs a provider on the order of 250 tokens
