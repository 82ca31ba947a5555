"""The time since a moment, in as few characters as say it."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def ago(then: float, now: float) -> str:
    """Return `now`, `5m`, `3h`, a weekday within six days, a date before that."""
    passed = now - then
    if passed < _MINUTE:
        return "now"
    if passed < _HOUR:
        return f"{passed // _MINUTE:.0f}m"
    if passed < _DAY:
        return f"{passed // _HOUR:.0f}h"
    try:
        day = datetime.fromtimestamp(then, UTC).astimezone()
        today = datetime.fromtimestamp(now, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return ""
    if passed < 6 * _DAY:
        return f"{day:%a}"
    if day.year == today.year:
        return f"{day.day} {day:%b}"
    return f"{day:%b} {day.year}"
