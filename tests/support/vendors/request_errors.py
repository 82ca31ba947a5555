"""Every error of a request, once; each provider then words it in its own way.

RequestRefused
  the client's fault    InvalidJson MissingHeader MissingField WrongType EmptyArray
                        NumberOutOfRange InvalidValue BodyTooLarge UnknownModel UnknownPath
                        WrongMethod UnknownResponse
  the vendor's fault    RateLimited; the offline provider words the others itself
"""

from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""A place in the body: keys and indices from the root."""


@dataclass(frozen=True)
class InvalidJson:
    """The body is not JSON that a provider would read."""

    reason: str


@dataclass(frozen=True)
class MissingHeader:
    """A required header is absent."""

    name: str


@dataclass(frozen=True)
class MissingField:
    """A required field is absent or null."""

    path: Path


@dataclass(frozen=True)
class WrongType:
    """A field holds a value of another type."""

    path: Path
    expected: str
    """With its article: `a string`."""
    got: str
    """With its article: `an array`."""


@dataclass(frozen=True)
class EmptyArray:
    """An array that needs an item has none."""

    path: Path


@dataclass(frozen=True)
class NumberOutOfRange:
    """A number is below its minimum or above its maximum."""

    path: Path
    bound: float
    below: bool
    """True if the number is under the bound, False if it is over."""
    got: float


@dataclass(frozen=True)
class InvalidValue:
    """A value breaks a rule of one provider that the other errors do not cover."""

    path: Path
    message: str
    """In that provider's wording."""
    code: str | None = "invalid_value"
    """OpenAI's machine-readable code; the other providers have none."""


@dataclass(frozen=True)
class BodyTooLarge:
    """The body exceeds the provider's limit."""

    limit: int
    """In bytes."""


@dataclass(frozen=True)
class UnknownModel:
    """There is no model of that name."""

    model: str
    version: str = "v1beta"
    """The API version in Gemini's URL, which its message repeats."""


@dataclass(frozen=True)
class UnknownPath:
    """There is nothing at that path."""

    method: str
    path: str


@dataclass(frozen=True)
class WrongMethod:
    """The path exists for another method."""

    method: str
    path: str


@dataclass(frozen=True)
class UnknownResponse:
    """`previous_response_id` names a response that is not stored."""

    id: str


@dataclass(frozen=True)
class RateLimited:
    """Too many requests."""

    seconds: int
    """The wait that the provider asks for."""


RequestError: TypeAlias = (
    InvalidJson
    | MissingHeader
    | MissingField
    | WrongType
    | EmptyArray
    | NumberOutOfRange
    | InvalidValue
    | BodyTooLarge
    | UnknownModel
    | UnknownPath
    | WrongMethod
    | UnknownResponse
    | RateLimited
)


class RequestRefused(Exception):
    """Raised while a request is read; becomes the provider's error response."""

    def __init__(self, error: RequestError) -> None:
        super().__init__(error)
        self.error = error
