"""Points in time as a person writes them."""

from __future__ import annotations

from datetime import UTC, datetime

from tui_chat.errors import InputError


def moment(words: str, source: str) -> datetime:
    """Read an ISO 8601 time; one without an offset is taken as UTC. Raises InputError.

    UTC and not the zone of this machine, so that the same words give the same bytes everywhere.
    """
    try:
        found = datetime.fromisoformat(words.strip())
    except ValueError as error:
        raise InputError(
            f"{source}: “{words}” is not a time; write it as 2025-06-30T18:05 or "
            "2025-06-30T18:05:00+02:00"
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
