"""What every provider's folder offers, as types.

A house is a company: its headers, its errors, its list of models. A dialect is one of its
protocols: how a request is heard and how a reply is said. OpenAI is one house with two dialects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tui_chat.offline.asked import Asked, Turn
from tui_chat.offline.node import Node
from tui_chat.offline.pieces import Finish, Said
from tui_chat.offline.problems import Broken, Overloaded, Problem, RateLimited
from tui_chat.offline.world import World

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names in lower case, in the order sent."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error as a provider reports it."""

    status: int
    body: bytes
    headers: Headers = ()
    """What this error adds to the provider's usual headers."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """What a request says outside its body, and the body's size."""

    size: int
    """Bytes of body."""

    model: str = ""
    """The model in Gemini's URL; the others name it in the body."""

    stream: bool = False
    """Whether Gemini's URL asks for a stream; the others say so in the body."""

    array: bool = False
    """Gemini without `alt=sse` streams one JSON array."""

    counting: bool = False
    """Only the size of the prompt is asked for, so nothing about the reply is required."""

    recall: Callable[[str], tuple[Turn, ...] | None] = lambda _id: None
    """The turns of an earlier response, by its id."""


class House(Protocol):
    """One provider: a module with these functions."""

    def headers(self, request_id: str, world: World) -> Headers:
        """Headers on every reply, but for the content type."""
        ...

    def request_id(self, world: World) -> str:
        """Return a new id for a request, in the provider's form."""
        ...

    def complain(self, problem: Problem, request_id: str, world: World) -> Complaint:
        """Return the error reply for a problem."""
        ...

    def catalogue(self) -> bytes:
        """Return the body of the list of models."""
        ...

    def entry(self, name: str) -> bytes | None:
        """Return the body for one model; None if there is no such model."""
        ...

    @property
    def json_type(self) -> str:
        """The content type of a whole reply."""
        ...

    @property
    def stream_type(self) -> str:
        """The content type of a stream of events."""
        ...


class Voice(Protocol):
    """Says one reply, as a stream of events or whole. Holds the state of that one reply."""

    def begin(self) -> bytes:
        """Return what comes before the first piece."""
        ...

    def say(self, said: Said) -> bytes:
        """One piece."""
        ...

    def end(self, finish: Finish) -> bytes:
        """Return what comes after the last piece."""
        ...

    def fail(self, problem: RateLimited | Broken | Overloaded) -> bytes:
        """Return an error after the stream began."""
        ...

    def whole(self, pieces: Sequence[Said], finish: Finish) -> bytes:
        """Return the reply as one body, by itself: `begin`, `say` and `end` are not called."""
        ...

    @property
    def id(self) -> str:
        """The reply's id."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """One protocol."""

    house: House
    hear: Callable[[Node, Addressed], Asked]
    """Reads and checks a body; raises `Refused`."""

    voice: Callable[[Asked, World], Voice]
    """A new voice for one reply."""
