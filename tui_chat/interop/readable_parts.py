"""What Markdown and HTML exports share: the active branch, captions of sessions and messages."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo

from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.models.transcript import Transcript

_NAMES = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_ENDINGS = {
    "stopped": "stopped",
    "failed": "failed",
    "interrupted": "interrupted",
    "streaming": "still arriving",
}


def title(transcript: Transcript) -> str:
    """Return the session's title on one line."""
    return one_line(transcript.session.title) or "Chat"


def about(transcript: Transcript, shown: int, zone: tzinfo) -> list[tuple[str, str]]:
    """Return facts about a session, each with its name; `shown` messages are on the branch."""
    session = transcript.session
    model = session.model or (transcript.role.model if transcript.role else "")
    count = len(transcript.entries)
    messages = str(shown) if shown == count else f"{shown}, and {count - shown} on other branches"
    facts = [
        ("Role", transcript.role.name if transcript.role else ""),
        ("Model", model),
        ("Endpoint", session.endpoint),
        ("Tags", ", ".join(session.tags)),
        ("Begun", format_time(session.created, zone)),
        ("Updated", format_time(session.updated, zone)),
        ("Messages", messages),
    ]
    return [(name, one_line(value)) for name, value in facts if value]


def speaker(message: Message, transcript: Transcript) -> str:
    """Return who speaks."""
    name = one_line(message.name, 80)
    if message.role == "assistant" and not name and transcript.role:
        name = one_line(transcript.role.name, 80)
    if message.role == "tool":
        return f"Tool: {name}" if name else "Tool"
    return name or _NAMES[message.role]


def beside(entry: Entry, place: int, siblings: int, zone: tzinfo) -> list[str]:
    """Return what is said beside the speaker; `place` among the `siblings`, from 0."""
    facts = [
        one_line(entry.model, 80) if entry.message.role == "assistant" else "",
        format_time(entry.message.timestamp, zone),
        f"{place + 1} of {siblings}" if siblings > 1 else "",
        "pinned" if entry.message.pinned else "",
        _ENDINGS.get(entry.status, ""),
    ]
    return [fact for fact in facts if fact]


def format_time(seconds: float | None, zone: tzinfo) -> str:
    """Return a point in time to the minute; empty where there is none."""
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def thoughts(message: Message) -> str:
    """Return the reasoning that can be read."""
    return "\n\n".join(block.text for block in message.semantics.reasoning if block.text)


def arguments(call: ToolCall) -> str:
    """Return the arguments of a call as JSON with a line for each, or as they are."""
    try:
        return json.dumps(json.loads(call.arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return call.arguments


def part_words(part: Part) -> str:
    """Return a picture or file in words."""
    name = one_line(part.name or part.mime, 120)
    return f"{part.kind}: {name}" if name else part.kind


def shown_branch(transcript: Transcript) -> tuple[Entry, ...]:
    """Return the entries from the first one to the head."""
    by_id = {entry.message.id: entry for entry in transcript.entries}
    last = transcript.entries[-1].message.id if transcript.entries else None
    at = transcript.session.head_id or last
    branch: list[Entry] = []
    while at is not None and at in by_id:
        entry = by_id.pop(at)
        branch.append(entry)
        at = entry.parent_id
    return tuple(reversed(branch))


def siblings(transcript: Transcript) -> dict[str | None, list[Entry]]:
    """Return the entries that follow each one, in their order; None for the first ones."""
    found: dict[str | None, list[Entry]] = {}
    for entry in transcript.entries:
        found.setdefault(entry.parent_id, []).append(entry)
    return found
