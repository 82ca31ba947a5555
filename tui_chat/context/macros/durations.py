"""The time between two moments in words, rounded as SillyTavern's library for times does."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta


def time_between(first: str, second: str) -> str:
    """Return when the first time is, seen from the second: “in a year”, “2 days ago”.

    Times are ISO 8601, UTC unless they say otherwise. Raises ValueError for other texts.
    """
    difference = _moment(first) - _moment(second)
    words = _duration(abs(difference.total_seconds()))
    return f"in {words}" if difference > timedelta() else f"{words} ago"


def _moment(written: str) -> datetime:
    moment = datetime.fromisoformat(written.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(seconds: float) -> str:
    days = seconds / 86_400
    units = (
        (seconds, 45, "a few seconds", ""),
        (seconds / 60, 45, "a minute", "minutes"),
        (seconds / 3_600, 22, "an hour", "hours"),
        (days, 26, "a day", "days"),
        (days * 4_800 / 146_097, 11, "a month", "months"),
    )
    for amount, limit, one, many in units:
        number = _rounded(amount)
        if number < limit:
            return f"{number} {many}" if number > 1 and many else one
    years = _rounded(days * 400 / 146_097)
    return "a year" if years <= 1 else f"{years} years"


def _rounded(amount: float) -> int:
    return math.floor(amount + 0.5)
