"""Everything that can be wrong, said once; each provider then complains in its own words.

Refused
  whose fault: the request's   NotJson NoHeader Missing WrongType Empty OutOfRange Rule TooLarge
                               NoModel NoRoute BadMethod NoPrevious
  whose fault: the provider's  RateLimited Broken Overloaded   (the flaky models)
"""

from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where in the body: keys and indices from the root."""


@dataclass(frozen=True, slots=True)
class NotJson:
    """The body is not JSON that a provider would read."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoHeader:
    """A header that the provider insists on is absent."""

    name: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A required field is absent or null."""

    path: Path


@dataclass(frozen=True, slots=True)
class WrongType:
    """A field holds another kind of value."""

    path: Path
    expected: str
    """With its article: `a string`."""
    got: str
    """With its article: `an array`."""


@dataclass(frozen=True, slots=True)
class Empty:
    """An array that needs an element has none."""

    path: Path


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A number is below its minimum or above its maximum."""

    path: Path
    bound: float
    below: bool
    """True if the number is under the bound, False if it is over."""
    got: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one provider that the other problems do not cover."""

    path: Path
    message: str
    """In that provider's manner."""
    code: str | None = "invalid_value"
    """OpenAI's machine-readable code; the others have none."""


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The body is longer than the provider takes."""

    limit: int
    """In bytes."""


@dataclass(frozen=True, slots=True)
class NoModel:
    """There is no model of that name."""

    model: str
    version: str = "v1beta"
    """The API version in Gemini's URL, which its message repeats."""


@dataclass(frozen=True, slots=True)
class NoRoute:
    """There is nothing at that path."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class BadMethod:
    """The path exists, for another verb."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class NoPrevious:
    """`previous_response_id` names a response that is not remembered."""

    id: str


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Too many requests."""

    seconds: int
    """How long the provider says to wait."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The provider failed by itself."""


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The provider has no capacity at the moment."""


Problem: TypeAlias = (
    NotJson
    | NoHeader
    | Missing
    | WrongType
    | Empty
    | OutOfRange
    | Rule
    | TooLarge
    | NoModel
    | NoRoute
    | BadMethod
    | NoPrevious
    | RateLimited
    | Broken
    | Overloaded
)


class Refused(Exception):
    """Raised while a request is read, caught where the answer is made."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
