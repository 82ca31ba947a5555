"""A stream of server-sent events that was kept in a file, split like one that arrives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import httpx


def recorded_events(stream: bytes) -> Iterator[tuple[str, str]]:
    """Yield each event's name (empty for none) and data; what is not UTF-8 becomes U+FFFD."""
    from httpx_sse import EventSource

    response = cast("httpx.Response", _Recorded(stream.decode("utf-8-sig", "replace")))
    for event in EventSource(response).iter_sse():
        yield event.event, event.data


@dataclass(frozen=True, slots=True)
class _Recorded:
    """As much of a response as httpx-sse looks at."""

    text: str
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})

    def iter_text(self) -> Iterator[str]:
        yield self.text
        yield "\n\n"  # the last event counts though no blank line follows it
