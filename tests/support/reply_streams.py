"""Feeding parsers the way the transport does: bytes through its splitter of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

import httpx

from tui_chat.models.reply import Reply, StreamEvent, advance
from tui_chat.protocols.common.reply_events import ReplyReader
from tui_chat.providers.client import JSON_LINES, IncomingResponse


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def sse_events(*pieces: bytes) -> list[tuple[str, str]]:
    """Split a stream of server-sent events that arrives in these pieces."""
    return _split(pieces, "text/event-stream; charset=utf-8")


def line_events(*pieces: bytes) -> list[tuple[str, str]]:
    """Split a stream of JSON lines that arrives in these pieces."""
    return _split(pieces, JSON_LINES)


def _split(pieces: Sequence[bytes], kind: str) -> list[tuple[str, str]]:
    async def split() -> list[tuple[str, str]]:
        response = httpx.Response(200, headers={"content-type": kind}, stream=_Pieces(pieces))
        return [event async for event in IncomingResponse(response).events()]

    return asyncio.run(split())


def parse(parser: ReplyReader, events: Iterable[tuple[str, str]]) -> list[StreamEvent]:
    """Feed all events and close."""
    parsed = [ours for event, data in events for ours in parser.feed(event, data)]
    return [*parsed, *parser.close()]


def fold(events: Iterable[StreamEvent]) -> Reply:
    """Fold events into a reply."""
    reply = Reply()
    for event in events:
        reply = advance(reply, event)
    return reply
