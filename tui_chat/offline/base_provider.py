"""The types that each provider's folder implements.

A `Provider` is a company: its headers, errors and list of models. A `ProtocolHandler` is one of its
protocols: how a request is parsed and a reply written. OpenAI is one provider with two protocols.
A further provider is a folder and an entry in `service.PROVIDERS`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.http_messages import Headers, HttpRequest
from tui_chat.offline.json_reader import JsonNode
from tui_chat.offline.prompt_request import PromptRequest, PromptTurn
from tui_chat.offline.reply_pieces import Content, Finish
from tui_chat.offline.request_errors import RequestError


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The parts of a request outside its body, and the body's size."""

    size: int
    """Bytes of body."""

    model: str = ""
    """The model in Gemini's URL; the others name it in the body."""

    stream: bool = False
    """True if Gemini's URL asks for a stream; the others say so in the body."""

    counting: bool = False
    """True if only the size of the prompt is asked for: nothing about the reply is required."""

    stored_turns: Callable[[str], tuple[PromptTurn, ...] | None] = lambda _id: None
    """Returns the turns up to an earlier response, by its id."""


class ResponseWriter(Protocol):
    """Writes one reply, as a stream of events or whole. Holds the state of that one reply."""

    @property
    def id(self) -> str:
        """The reply's id."""
        ...

    def start(self) -> bytes:
        """Return the bytes before the first piece."""
        ...

    def piece(self, piece: Content) -> bytes:
        """Return the bytes of one piece."""
        ...

    def end(self, finish: Finish) -> bytes:
        """Return the bytes after the last piece."""
        ...

    def error(self, error: dict[str, Any]) -> bytes:
        """Return the bytes of an error after the stream began; `error` is the provider's object."""
        ...

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the reply as one body; used instead of the other methods."""
        ...


@dataclass(frozen=True, slots=True)
class ProtocolHandler:
    """One protocol of a provider."""

    provider: "Provider"
    parse_request: Callable[[JsonNode, RequestContext], PromptRequest]
    """Reads and checks a body; raises RequestRefused."""

    writer: Callable[[PromptRequest, OfflineDependencies], ResponseWriter]
    """Returns a new writer for one reply."""

    stream_type: str = "text/event-stream; charset=utf-8"
    """The content type of a stream."""

    stores_responses: bool = False
    """True if a later request can refer to a response by its id."""


@dataclass(frozen=True, slots=True)
class Generate:
    """The request asks for a reply."""

    handler: ProtocolHandler
    model: str = ""
    """Gemini's model and version come from the path; the others' are in the body."""
    version: str = ""
    stream: bool = False


@dataclass(frozen=True, slots=True)
class CountTokens:
    """The request asks for the size of a prompt."""

    handler: ProtocolHandler
    result_key: str
    """The key of the number in the response."""
    model: str = ""
    version: str = ""
    kind: str = ""
    """The value of `object` in the response; empty for none."""


@dataclass(frozen=True, slots=True)
class ListModels:
    """The request asks for the list of models, or for one model."""

    model: str | None
    version: str = ""


Operation: TypeAlias = Generate | CountTokens | ListModels

_MODELS = re.compile(r"/(v1|v1beta)/models(?:/([^/]+))?")


class Provider(ABC):
    """One provider."""

    json_type = "application/json"
    """The content type of a body that is not streamed."""

    def owns(self, request: HttpRequest) -> bool:
        """Return True if a request is recognisably meant for this provider, whatever its path."""
        del request
        return False

    @abstractmethod
    def generation(self, request: HttpRequest) -> Generate | CountTokens | None:
        """Return the operation of a path that takes POST requests; None for other paths."""

    def operation(self, request: HttpRequest) -> Operation | None:
        """Return what a request asks for; None for an unknown path."""
        if found := self.generation(request):
            return found
        listing = _MODELS.fullmatch(request.path)
        if listing is None or (request.method == "POST" and ":" in request.path):
            return None  # Gemini's paths end in :METHOD, and this is no known one
        return ListModels(listing.group(2), listing.group(1))

    def check_headers(self, request: HttpRequest) -> None:
        """Raise RequestRefused if a header is missing that a generation needs."""
        del request

    @abstractmethod
    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return a new id for a request, in the provider's form."""

    @abstractmethod
    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return the headers of every response, except for the content type."""

    @abstractmethod
    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""

    @abstractmethod
    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""

    def error_headers(
        self, status: int, error: RequestError, dependencies: OfflineDependencies
    ) -> Headers:
        """Return the headers that replace or extend `headers` in an error response."""
        del status, error, dependencies
        return ()

    @abstractmethod
    def model_list(self) -> bytes:
        """Return the body of the list of models."""

    @abstractmethod
    def model_entry(self, name: str) -> bytes | None:
        """Return the body for one model; None if there is no such model."""
