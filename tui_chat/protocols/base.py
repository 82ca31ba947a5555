"""What each of the four protocols can do, as one interface.

All of it is pure and sans-IO: requests are encoded to a tree and decoded from bytes, replies
are parsed from events that somebody else split. The transport never looks into a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

from tui_chat.errors import Refused
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Note
from tui_chat.models.json_tree import Obj
from tui_chat.models.reply import Reply, StreamEvent


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A request as a protocol says it, not yet rendered."""

    path: str
    """To be put behind the endpoint's base URL, query included; begins with `/`."""
    tree: Obj
    """The body."""
    headers: tuple[tuple[str, str], ...] = ()
    """What the protocol demands beside content type and key (`anthropic-version`)."""
    key_header: tuple[str, str] = ("Authorization", "Bearer ")
    """The header that carries the key, and what stands before it."""
    notes: tuple[Note, ...] = ()
    """What was merged, hoisted, renamed or left out on the way."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Tools whose names the protocol forbids: our name, the name on the wire. The reply calls
    them by the latter; `tool_names.restore_names` gives them theirs back."""


class StreamParser(Interface):
    """Turns the events of one streamed reply into ours; one parser reads one reply."""

    def feed(self, event: str, data: str) -> Sequence[StreamEvent]:
        """Take one server-sent event (`event` is empty where the stream names none).

        Unknown events give nothing. Raises Refused for an error inside the stream.
        """
        ...

    def close(self) -> Sequence[StreamEvent]:
        """Tell the parser that the stream ended. Raises ReplyCut if the reply had not."""
        ...


class WireProtocol(Interface):
    """One protocol, both ways."""

    @property
    def protocol(self) -> Protocol:
        """Which one it is."""
        ...

    def encode(self, envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
        """Say the envelope the way this protocol wants it."""
        ...

    def decode(self, body: bytes) -> ChatEnvelope:
        """Read a captured request body. Raises InputError where it is none of this protocol."""
        ...

    def parser(self) -> StreamParser:
        """Return a fresh parser for a streamed reply."""
        ...

    def read(self, body: bytes) -> Reply:
        """Read a reply that came whole. Raises Refused for an error in a 200 body, and
        ReplyCut where the body is no reply at all.
        """
        ...

    def refusal(self, status: int, body: bytes) -> Refused:
        """Put an HTTP error into words: the provider's own, and what to do about it."""
        ...
