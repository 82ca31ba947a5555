"""What a protocol consists of: its facts and its four functions, in one `ProtocolDefinition`.

All of it is pure and sans-IO: requests are encoded to a tree and decoded from bytes, replies
are parsed from events that somebody else split. The HTTP client never looks into a body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Note
from tui_chat.models.json_tree import Obj
from tui_chat.models.reply import Reply, StreamEvent

BEARER = ("Authorization", "Bearer ")
"""The header that most providers expect the key in, and what stands before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A request in the form of a protocol, not yet rendered."""

    path: str
    """To be appended to the endpoint's base URL, query included; begins with `/`."""
    tree: Obj
    """The body."""
    headers: tuple[tuple[str, str], ...] = ()
    """What the protocol demands beside content type and key (`anthropic-version`)."""
    key_header: tuple[str, str] = BEARER
    """The header that carries the key, and what stands before it."""
    notes: tuple[Note, ...] = ()
    """What was merged, hoisted, renamed or left out on the way."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Tools whose names the protocol forbids: the tool's own name, its name in the request. The
    reply calls them by the latter; `tool_names.restore_names` restores the former."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSigns:
    """What tells a captured request of this protocol from one of another."""

    unique_keys: frozenset[str] = frozenset()
    """Top-level keys that no other protocol has for its conversation: one of them decides. A
    protocol without any has its conversation in `messages`, as several do; the rest decides."""
    settings: frozenset[str] = frozenset()
    """Top-level keys that other protocols with `messages` lack."""
    roles: frozenset[str] = frozenset()
    message_keys: frozenset[str] = frozenset()
    block_types: frozenset[str] = frozenset()
    """Types of blocks in a message's content."""
    tool_keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolDefinition:
    """One protocol. Each package defines one, and `registry` lists them."""

    protocol: Protocol
    tab_labels: tuple[str, str, str]
    """Its name on a tab in wide, medium and narrow panes."""

    encode: Callable[[ChatEnvelope, Endpoint], Encoded]
    """Encode an envelope as a request."""
    decode: Callable[[bytes], ChatEnvelope]
    """Decode a captured request body. Raises InputError if it is not of this protocol."""
    parser: Callable[[], StreamParser]
    """Return a fresh parser for a streamed reply."""
    read_reply: Callable[[bytes], Reply]
    """Read a reply that came whole. Raises Refused for an error in a 200 body, and ReplyCut if
    the body is not a reply."""

    models_path: Callable[[Endpoint], str]
    """Path and query of an endpoint's model list."""
    signs: RequestSigns
    model_pattern: re.Pattern[str] | None = None
    """Beginnings of model names, in lower case, whose native protocol this is."""
    key_header: tuple[str, str] = BEARER
    """The header that carries the key, and what stands before it."""
    headers: Callable[[Endpoint], tuple[tuple[str, str], ...]] = lambda endpoint: ()
    """Headers beside content type and key that every request to an endpoint carries."""
    model_in_path: bool = False
    """True if the path names the model, so that the body may do without."""
