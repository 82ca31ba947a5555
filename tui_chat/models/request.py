"""A request as it was sent and the response as it was received, kept so that any reply can show
what produced it.

A `SideRequest` is no part of a conversation: it asked a model for a title, a summary, the user's
next message, or the answer to a quiet prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.session import Entry
from tui_chat.models.usage import NO_USAGE, Usage

SideRequestKind = Literal["title", "summary", "impersonate", "quiet"]


@dataclass(frozen=True, slots=True)
class SideRequest:
    """One such request as it ended."""

    session_id: str
    """Empty for a new chat, which has no session yet; then only what it cost is kept."""
    kind: SideRequestKind
    endpoint: str
    model: str
    status: Literal["complete", "stopped", "failed"]
    body: bytes = b""
    """The exact bytes of the request; empty if they are not kept any more."""
    reply: str = ""
    usage: Usage = NO_USAGE
    cost: Decimal | None = None
    priced: str = ""
    """See `Entry.priced`."""
    error: str = ""
    created: float = 0.0
    """Seconds since the epoch, UTC; set by the store."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as another program sent it, with the credentials masked."""

    method: str
    url: str
    """With its query."""
    headers: tuple[tuple[str, str], ...] | None
    """In the order sent and as spelled there; None if they were not recorded."""
    body: bytes
    """Content encoding undone."""
    is_masked: bool = False
    """True if credentials are masked in the body, so that it is not the one that was sent."""
    source: str = ""
    """What rebuilt the body, as words of a sentence; empty if it was recorded."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that was sent and the recipe it was composed from. Never carries a key."""

    endpoint: str
    """Name of the endpoint."""
    protocol: Protocol
    method: str
    """`POST`, almost always."""
    url: str
    """Without user, password and key parameters, which the caller must remove."""
    sha256: str
    """Of the exact body, in hex; stays when the body itself is no longer kept."""
    recipe: Mapping[str, Any]
    """What the body was composed from (preset revision, head, draft, settings, versions), as
    JSON values."""
    body: bytes | None = None
    """The exact bytes; None for older requests."""
    created: float = 0.0
    """Seconds since the epoch, UTC; the store sets it."""


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request and the reply that it produced."""

    message_id: str
    """Of the reply."""
    request: RequestRecord


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user message and the reply that is about to arrive, both stored."""

    user: Entry | None
    """None when a reply is regenerated."""
    reply: Entry
    """Empty and `streaming`."""


MAX_RESPONSE_BYTES = 1024 * 1024
"""Bytes of one response that are kept; of a longer one the newest."""
ARRIVAL_TICK = 10
"""Least milliseconds between two of a response's `times`."""


@dataclass(frozen=True, slots=True)
class RawResponse:
    """The body of a response as it was received. Of its headers only the media type is kept."""

    status: int
    """The HTTP status."""
    media: str
    """`text/event-stream`, `application/json`, ...; empty if the server named none."""
    body: bytes
    """As received, content encoding undone; the request's key is masked."""
    size: int
    """Bytes received, of which `body` has the newest."""
    times: tuple[tuple[int, int], ...] = ()
    """Milliseconds after the request was sent, and bytes received by then; at most one entry
    every `ARRIVAL_TICK` milliseconds."""

    @property
    def gone(self) -> int:
        """How many bytes at the beginning were not kept."""
        return self.size - len(self.body)
