"""What a reply is made of, before any provider's form is put on it.

A model is a plain generator of `Piece`s: it neither waits nor writes. `meter` turns them into
`Metered` pieces, a token at a time; a `Voice` turns those into bytes; `play` waits.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_chat.offline.problems import Broken, Overloaded, RateLimited


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the tokens after it are said."""

    tokens_per_second: int | None
    """None for as fast as they are read."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Some of the reasoning that goes before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """Some of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole tool call."""

    name: str
    arguments: str
    """A JSON object as text."""

    id: str = ""
    """24 letters and digits, given by `meter`; each provider puts its prefix before them."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing ever again, with the connection open."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends here, without the end of the reply."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The provider fails: with a status if nothing was said yet, else inside the stream."""

    problem: RateLimited | Broken | Overloaded


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a reply and what it cost."""

    reason: Literal["stop", "stop_sequence", "length", "tool_calls"]
    stop: str | None
    """The stop sequence that was met."""

    output: int
    """Tokens of the reply, reasoning and tool calls included."""

    reasoning: int
    """Tokens of reasoning among them."""


Said: TypeAlias = Reasoning | Text | ToolCall
Piece: TypeAlias = Pace | Said | Stall | Cut | Failure
Metered: TypeAlias = Said | Wait | Stall | Cut | Failure | Finish
