"""What each vendor implements: its paths, headers and errors, and a strict reader."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.vendors.json_reader import JsonNode
from tests.support.vendors.request_errors import RequestError
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies
from tui_chat.offline.prompt import PromptRequest, PromptTurn

_MODELS = re.compile(r"/(v1|v1beta)/models(?:/([^/]+))?")


@dataclass(frozen=True)
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


ParseRequest = Callable[[JsonNode, RequestContext], PromptRequest]
"""Reads and checks a body; raises RequestRefused."""


@dataclass(frozen=True)
class Generate:
    """The request asks for a reply, or if `counting`, for the size of a prompt."""

    parse_request: ParseRequest
    counting: bool = False
    model: str = ""
    """Gemini's model and version come from the path; the others' are in the body."""
    version: str = ""
    stream: bool = False


@dataclass(frozen=True)
class ListModels:
    """The request asks for the list of models, or for one model."""

    model: str | None
    version: str = ""


class Provider(ABC):
    """One vendor."""

    json_type = "application/json"
    """The content type of a body that is not streamed."""

    def owns(self, request: HttpRequest) -> bool:
        """Return True if a request is recognizably meant for this provider, whatever its path."""
        del request
        return False

    @abstractmethod
    def generation(self, request: HttpRequest) -> Generate | None:
        """Return the operation of a path that takes POST requests; None for other paths."""

    def operation(self, request: HttpRequest) -> Generate | ListModels | None:
        """Return what a request asks for; None for an unknown path."""
        if generate := self.generation(request):
            return generate
        listing = _MODELS.fullmatch(request.path)
        if listing is None or (request.method == "POST" and ":" in request.path):
            return None  # Gemini's paths end in :METHOD, and this is no known one
        return ListModels(listing.group(2), listing.group(1))

    def check_headers(self, request: HttpRequest) -> None:
        """Raise RequestRefused if a header is missing that a generation needs."""
        del request

    @abstractmethod
    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return a new id for a request, in the vendor's form."""

    @abstractmethod
    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return the headers of every response, except for the content type."""

    @abstractmethod
    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""

    @abstractmethod
    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""

    def error_headers(self, error: RequestError, dependencies: OfflineDependencies) -> Headers:
        """Return the headers that replace or extend `headers` in an error response."""
        del error, dependencies
        return ()
