"""Parts of exports for people to read: the active branch, captions of sessions and messages."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo

from tui_chat.models.blocks import CallBlock, MediaBlock, ReasoningBlock
from tui_chat.models.media import describe
from tui_chat.models.message import Message
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.models.transcript import SessionTranscript

_NAMES = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_ENDINGS = {
    "stopped": "stopped",
    "failed": "failed",
    "interrupted": "interrupted",
    "streaming": "still arriving",
}


def title(transcript: SessionTranscript) -> str:
    """Return the session's title on one line."""
    return one_line(transcript.session.title) or "Chat"


def about(transcript: SessionTranscript, shown: int, zone: tzinfo) -> list[tuple[str, str]]:
    """Return facts about a session with their names; `shown` is the length of the active branch."""
    session = transcript.session
    model = session.model or (transcript.role.model if transcript.role else "")
    count = len(transcript.entries)
    messages = str(shown) if shown == count else f"{shown}, and {count - shown} on other branches"
    facts = [
        ("Role", transcript.role.name if transcript.role else ""),
        ("Model", model),
        ("Endpoint", session.endpoint),
        ("Tags", ", ".join(session.tags)),
        ("Created", format_time(session.created, zone)),
        ("Updated", format_time(session.updated, zone)),
        ("Messages", messages),
    ]
    return [(name, one_line(value)) for name, value in facts if value]


def sender(message: Message, transcript: SessionTranscript) -> str:
    """Return the name of the sender."""
    settings, name = transcript.session.settings, message.name or message.tool_name
    if message.role == "assistant":
        by_role = transcript.role.name if transcript.role else ""
        name = name or settings.char_name or by_role or transcript.character
    elif message.role == "user":
        name = name or settings.user_name or transcript.user
    name = one_line(name, 80)
    if message.role == "tool":
        return f"Tool: {name}" if name else "Tool"
    return name or _NAMES[message.role]


def captions(entry: Entry, place: int, siblings: int, zone: tzinfo) -> list[str]:
    """Return the facts beside the sender; `place` is the index among `siblings` versions."""
    facts = [
        one_line(entry.model, 80) if entry.message.role == "assistant" else "",
        format_time(entry.message.timestamp, zone),
        f"{place + 1} of {siblings}" if siblings > 1 else "",
        "pinned" if entry.message.pinned else "",
        muted_words(entry.message),
        _summary(entry.message),
        one_line(brought.words) if (brought := entry.message.about.brought) else "",
        _ENDINGS.get(entry.status, ""),
    ]
    return [fact for fact in facts if fact]


def muted_words(message: Message) -> str:
    """Return what of a message is muted; empty for nothing."""
    muted = message.muted
    if muted.whole:
        return "muted, not sent"
    blocks = message.muted_blocks
    names = ["reasoning"] * any(isinstance(block, ReasoningBlock) for block in blocks)
    names += [one_line(part_words(b), 80) for b in blocks if isinstance(b, MediaBlock)]
    return f"muted: {', '.join(names)}" if names else ""


def _summary(message: Message) -> str:
    summary = message.about.summary
    if summary is None:
        return ""
    return f"summary of {summary.messages:,} messages" + ("" if summary.enabled else ", off")


def format_time(seconds: float | None, zone: tzinfo) -> str:
    """Return a time to the minute; empty if there is none."""
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def arguments(call: CallBlock) -> str:
    """Return the arguments of a call as indented JSON, or unchanged if they are not JSON."""
    try:
        return json.dumps(json.loads(call.arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return call.arguments


def part_words(part: MediaBlock) -> str:
    """Describe an image or file: its kind, name or type, and size."""
    about = one_line(describe(part), 120)
    return f"{part.media}: {about}" if about else part.media


def active_branch(transcript: SessionTranscript) -> tuple[Entry, ...]:
    """Return the entries from the first one to the head."""
    by_id = {entry.message.id: entry for entry in transcript.entries}
    last = transcript.entries[-1].message.id if transcript.entries else None
    entry_id = transcript.session.head_id or last
    branch: list[Entry] = []
    while entry_id is not None and entry_id in by_id:
        entry = by_id.pop(entry_id)
        branch.append(entry)
        entry_id = entry.parent_id
    return tuple(reversed(branch))


def siblings(transcript: SessionTranscript) -> dict[str | None, list[Entry]]:
    """Return the children of each entry in their order; under None the first entries."""
    children: dict[str | None, list[Entry]] = {}
    for entry in transcript.entries:
        children.setdefault(entry.parent_id, []).append(entry)
    return children
