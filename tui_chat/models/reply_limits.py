"""The limits of a reply, and what of an event they admit. See `models.reply`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tui_chat.models.stream_events import (
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
)

if TYPE_CHECKING:
    from tui_chat.models.reply import PieceSoFar, Reply

REPLY_SIZE = 8_000_000
"""Maximum characters of a reply: text, reasoning, tool calls and opaque blocks together."""
MEDIA_SIZE = 28_000_000
"""Maximum characters of a reply's parts together, in base64: 20 MB of bytes, as in a request."""
MOST_PARTS = 1_000
"""Maximum parts of a reply: pictures, sounds and files."""
TEXT_SIZE = 2_000_000
"""Maximum characters of a reply's text, refusal and reasoning. The longest replies of today's
models, 128,000 tokens, have 0.6 million."""
ARGUMENTS_SIZE = 4_000_000
"""Maximum characters of one tool call's arguments."""
MOST_CALLS = 1_000
"""Maximum tool calls of a reply."""
MOST_PIECES = 10_000
"""Maximum pieces of a reply: runs of text, reasoning blocks, parts, calls and opaque blocks."""

_REST_DROPPED = "the rest was dropped."

Words: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta
Content: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta | OtherBlock


def size_of(event: Content) -> int:
    """Return how many characters an event adds to the reply."""
    match event:
        case TextDelta():
            return len(event.text) + len(event.signature) + len(event.id) + len(event.phase)
        case RefusalDelta():
            return len(event.text)
        case ReasoningDelta():
            opaque = len(event.signature) + len(event.encrypted)
            return len(event.text) + opaque + len(event.id) + len(event.kind)
        case ToolCallDelta():
            names = len(event.id) + len(event.name) + len(event.item_id)
            return len(event.arguments) + len(event.signature) + names
        case OtherBlock():
            return len(event.data) + len(event.name)


def admitted_part(reply: Reply, event: Content) -> tuple[Content | None, str]:
    """Return the part of an event that the limits admit (None if no part of it), and a sentence
    about the limit that it exceeds, or an empty one.

    Text is cut. Opaque data is useless in part and is dropped.
    """
    if isinstance(event, ToolCallDelta) and event.index >= MOST_CALLS:
        words = f"The reply has more than {MOST_CALLS:,} tool calls; the first {MOST_CALLS:,}"
        return None, f"{words} are kept."
    if len(reply.pieces) >= MOST_PIECES and _begins_piece(reply, event):
        words = f"The reply has more than {MOST_PIECES:,} parts; the first {MOST_PIECES:,}"
        return None, f"{words} are kept."
    if isinstance(event, ToolCallDelta):
        known = len(reply.calls[event.index].arguments) if event.index < len(reply.calls) else 0
        room = min(ARGUMENTS_SIZE - known, REPLY_SIZE - reply.size)
        if len(event.arguments) > ARGUMENTS_SIZE - known:
            most = f"{ARGUMENTS_SIZE:,}"
            words = f"The arguments of a tool call are longer than {most} characters"
            return replace(event, arguments=event.arguments[:room]), f"{words}; {_REST_DROPPED}"
    room, most, what = REPLY_SIZE - reply.size, REPLY_SIZE, "reply"
    if isinstance(event, Words) and TEXT_SIZE - reply.text_size < room:
        room, most, what = TEXT_SIZE - reply.text_size, TEXT_SIZE, "text of the reply"
    if size_of(event) <= room:
        return event, ""
    excess = f"The {what} is longer than {most:,} characters; {_REST_DROPPED}"
    match event:
        case TextDelta() | RefusalDelta():
            kept = replace(event, text=event.text[:room])
        case ReasoningDelta():
            kept = ReasoningDelta(event.index, event.text[:room], kind=event.kind)
        case ToolCallDelta():
            kept = ToolCallDelta(event.index, arguments=event.arguments[:room])
        case OtherBlock():
            return None, excess
    return (kept if size_of(kept) <= room else None), excess


def part_excess(reply: Reply, size: int) -> str:
    """Return a sentence about the limit that a further part of `size` characters exceeds; empty if
    it exceeds none.
    """
    most = min(MOST_PARTS, len(reply.parts) + MOST_PIECES - len(reply.pieces))
    if len(reply.parts) >= most:
        words = f"The reply has more than {most:,} pictures, sounds and files; the first {most:,}"
        return f"{words} are kept."
    if size > MEDIA_SIZE - reply.media_size:
        words = f"The pictures, sounds and files of the reply have more than {MEDIA_SIZE:,}"
        return f"{words} characters; {_REST_DROPPED}"
    return ""


def _begins_piece(reply: Reply, event: Content) -> bool:
    """Return True if the event adds to `Reply.pieces`."""
    match event:
        case TextDelta():
            return not continues(reply.pieces, event)
        case RefusalDelta():
            return False
        case ReasoningDelta():
            return event.index >= len(reply.reasoning)
        case ToolCallDelta():
            return event.index >= len(reply.calls)
        case OtherBlock():
            return True


def continues(pieces: tuple[PieceSoFar, ...], delta: TextDelta) -> bool:
    """True if the delta continues the last piece."""
    if delta.signature:
        return False
    if pieces and (last := pieces[-1]).kind == "text" and not last.signature:
        return delta.id in ("", last.id)
    return not (delta.text or delta.id)
