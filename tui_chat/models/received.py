"""A response as it was received, kept beside the reply that was read from it."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 1024 * 1024
"""Of one response; of a longer one the newest are kept."""


@dataclass(frozen=True, slots=True)
class Received:
    """The body of a response. Headers are not kept but for the media type."""

    status: int
    """Of HTTP."""
    media: str
    """`text/event-stream`, `application/json`, ...; empty where the server did not say."""
    body: bytes
    """As it came, content encoding undone; the key that the request was sent with is hidden."""
    size: int
    """Bytes that came, of which `body` has the newest."""
    times: tuple[tuple[int, int], ...] = ()
    """Milliseconds after the request left, and how many bytes had come by then; at most one for
    `TICK` milliseconds."""

    @property
    def gone(self) -> int:
        """How many bytes at the beginning were not kept."""
        return self.size - len(self.body)


TICK = 10
"""Milliseconds between two `times`."""
