"""A request that is no part of a conversation: it asked a model for a title, a summary, the user's
next message, or the answer to a quiet prompt.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
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
