"""The way through a transcript's tree that its reader sees."""

from __future__ import annotations

from tui_chat.models.session import Entry
from tui_chat.models.transcript import Transcript


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
