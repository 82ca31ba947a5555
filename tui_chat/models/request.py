"""A request as it left, remembered so that any reply can show what produced it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.session import Entry


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What was sent, and the recipe it was made by. Never carries a key."""

    endpoint: str
    """Name of the endpoint that was asked."""
    protocol: Protocol
    method: str
    """`POST`, almost always."""
    url: str
    """Without user, password and key parameters: whoever makes the record leaves them out."""
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
class Sent:
    """A request among others, with the reply it produced."""

    message_id: str
    request: RequestRecord


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and the reply that is about to arrive, both stored."""

    user: Entry | None
    """None when a reply is asked for again and nothing new was said."""
    reply: Entry
    """Empty and `streaming`."""
