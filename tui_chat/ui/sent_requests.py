"""A request that was sent, as the inspector shows it and as its banner names it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.workspace import SentRequest


def told_of(sent: SentRequest) -> str:
    """Say what is known of a request that was sent."""
    at = f"as sent at {time_of(sent.record.created)}"
    match sent.how:
        case "kept" if sent.is_exact:
            return f"{at} · exact bytes"
        case "kept":
            return f"{at} · read from the kept bytes. {sent.why}"
        case "rebuilt":
            return f"{at} · rebuilt, same SHA-256"
        case _:
            return f"{at} · rebuilt, NOT the same bytes. {sent.why}"


def time_of(seconds: float) -> str:
    """Return the local time of day."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%H:%M")
