"""Timestamps in the notations of other programs.

One program alone may have used five. A time without a time zone is taken as UTC: the file does not
say where it was written, and must give the same result on every machine.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import isfinite

_HUMANIZED = re.compile(
    # 2023-6-3@15h36m15s, 2024-07-12@01h31m37s123ms, 2024-6-5 @14h 56m 50s 682ms
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?"
)
_NAMED_MONTH = re.compile(
    # June 19, 2023 4:13pm, and the same on a 24 hour clock
    r"([A-Za-z]{3})[a-z]* (\d{1,2}), (\d{4}) (\d{1,2}):(\d{2})(?: ?([ap])m)?",
    re.IGNORECASE,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LATEST = 253_402_300_800.0  # the year 10000
_IN_MILLISECONDS = 100_000_000_000.0  # as seconds, this is the year 5138


def parse_timestamp(value: object) -> float | None:
    """Return seconds since the epoch; None if the value is not a time."""
    match value:
        case bool():
            return None
        case int() | float():
            return _seconds(value)
        case str():
            return _read(value.strip())
        case _:
            return None


def _seconds(number: float) -> float | None:
    try:
        seconds = float(number)
    except OverflowError:
        return None
    if seconds >= _IN_MILLISECONDS:
        seconds /= 1000
    return seconds if isfinite(seconds) and 0 < seconds < _LATEST else None


def _read(text: str) -> float | None:
    if len(text) > 60:
        return None
    try:
        if text.isascii() and text.isdigit():
            return _seconds(int(text))
        if "@" in text and (match := _HUMANIZED.fullmatch(text)):
            year, month, day, hour, minute, second, milli = (int(n or 0) for n in match.groups())
            return _stamp(datetime(year, month, day, hour, minute, second, milli * 1000, UTC))
        if "," in text and (match := _NAMED_MONTH.fullmatch(text)):
            month = _MONTHS.index(match[1].lower()) + 1
            hour = int(match[4])
            if half := match[6]:
                hour = hour % 12 + (12 if half.lower() == "p" else 0)
            return _stamp(
                datetime(int(match[3]), month, int(match[2]), hour, int(match[5]), tzinfo=UTC)
            )
        time = datetime.fromisoformat(text)
        return _stamp(time if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _stamp(time: datetime) -> float | None:
    return _seconds(time.timestamp())
