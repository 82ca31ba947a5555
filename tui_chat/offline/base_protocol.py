"""The interface of the offline protocols, which share no code with `tui_chat.protocols`."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies
from tui_chat.offline.prompt import PromptRequest, compact
from tui_chat.offline.reply import Content, Finish, Problem, WholeReply


@dataclass(frozen=True, slots=True)
class Operation:
    """The purpose of a request: a reply, the size of a prompt, or the models."""

    kind: Literal["reply", "count", "models"]
    model: str = ""
    """The model in the path, in Gemini's protocol or of a request for one model."""
    stream: bool = False
    """True if the path asks for a stream; only Gemini's does."""


class ResponseWriter(Protocol):
    """Writes one reply, as a stream of events or whole. Holds the state of that one reply."""

    id: str

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
        """Return the bytes of an error after the stream began."""
        ...

    def full_response(self, reply: WholeReply, finish: Finish) -> bytes:
        """Return the reply as one body; used instead of the other methods."""
        ...


FaultTable: TypeAlias = Mapping[str, tuple[int, str, str]]
"""Status, type and message by kind of fault; the faults of a client bring their own message."""


class OfflineProtocol(ABC):
    """One protocol."""

    name: str
    json_type = "application/json"
    stream_type = "text/event-stream; charset=utf-8"
    id_header = ""
    """The header with the request's id; empty for none."""
    faults: FaultTable

    @abstractmethod
    def owns(self, request: HttpRequest) -> bool:
        """Return True if a request is meant for this protocol's provider, whatever its path."""

    @abstractmethod
    def operation(self, request: HttpRequest) -> Operation | None:
        """Return what a request asks for; None if it is not one of this protocol's."""

    @abstractmethod
    def read(self, body: dict[str, Any], operation: Operation, size: int) -> PromptRequest:
        """Return the request of a body of `size` bytes."""

    @abstractmethod
    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        """Return a writer of one reply."""

    def count(self, tokens: int) -> dict[str, Any]:
        """Return the answer to the question for a prompt's size."""
        return {"input_tokens": tokens}

    def describe(self, fault: Problem) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of a fault."""
        status, kind, message = self.faults[fault.kind]
        words = fault.message or message.format(seconds=fault.seconds)
        return status, self.error(status, kind, words, fault)

    @abstractmethod
    def error(self, status: int, kind: str, message: str, fault: Problem) -> dict[str, Any]:
        """Return an error object."""

    def error_body(self, error: dict[str, Any], id: str) -> bytes:
        """Return the body around an error object."""
        return compact({"error": error}).encode()

    def error_headers(self, fault: Problem) -> Headers:
        """Return the headers of an error."""
        return (("retry-after", str(fault.seconds)),) if fault.seconds else ()

    @abstractmethod
    def models(self, names: Iterable[str], listed: bool) -> dict[str, Any]:
        """Return the body of a list of models, or of the one model."""
