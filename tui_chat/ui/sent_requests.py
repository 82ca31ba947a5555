"""A request that was sent, as the inspector shows it and as its banner names it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.compose import Composed
    from tui_chat.desk import SentRequest


def shown_of(sent: SentRequest) -> Composed | None:
    """Return what the inspector shows of a request that was sent: the very bytes, wherever they
    are known.
    """
    if sent.composed is not None and (sent.is_exact or sent.body is None):
        return sent.composed
    if sent.how == "kept" and sent.body is not None:
        from tui_chat.analysis import read_captured
        from tui_chat.compose import encode

        captured = read_captured(sent.body.decode("utf-8", "replace"), sent.record.protocol)
        if sent.composed is not None:
            return encode(captured.envelope, sent.composed.endpoint)
    return sent.composed


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
