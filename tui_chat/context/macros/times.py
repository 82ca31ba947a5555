"""Times and durations in words, by the formats and the rounding of Moment.js."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone


def time_between(first: str, second: str) -> str:
    """Return when the first time is, seen from the second: “in a year”, “2 days ago”.

    Times are ISO 8601, UTC unless they say otherwise. Raises ValueError for other texts.
    """
    difference = _moment(first) - _moment(second)
    words = duration(abs(difference.total_seconds()))
    return f"in {words}" if difference > timedelta() else f"{words} ago"


def _moment(written: str) -> datetime:
    moment = datetime.fromisoformat(written.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def duration(seconds: float) -> str:
    """Return a duration in words: “a minute”, “3 days”."""
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


def _hour(moment: datetime) -> int:
    return moment.hour % 12 or 12


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"


def _offset(moment: datetime, colon: str = ":") -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{colon}{abs(minutes) % 60:02}"


# fmt: off
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_LONG = {
    "LTS": "h:mm:ss A", "LT": "h:mm A", "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A", "LL": "MMMM D, YYYY", "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A", "lll": "MMM D, YYYY h:mm A", "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
# fmt: on
"""Formats that stand for others."""
_FIELDS: Mapping[str, Callable[[datetime], str]] = {
    "YYYY": lambda at: f"{at.year:04}",
    "YY": lambda at: f"{at.year % 100:02}",
    "Y": lambda at: str(at.year),
    "Q": lambda at: str((at.month + 2) // 3),
    "MMMM": lambda at: _MONTHS[at.month - 1],
    "MMM": lambda at: _MONTHS[at.month - 1][:3],
    "MM": lambda at: f"{at.month:02}",
    "Mo": lambda at: _ordinal(at.month),
    "M": lambda at: str(at.month),
    "DDDD": lambda at: f"{at.timetuple().tm_yday:03}",
    "DDD": lambda at: str(at.timetuple().tm_yday),
    "DD": lambda at: f"{at.day:02}",
    "Do": lambda at: _ordinal(at.day),
    "D": lambda at: str(at.day),
    "dddd": lambda at: _DAYS[at.weekday()],
    "ddd": lambda at: _DAYS[at.weekday()][:3],
    "dd": lambda at: _DAYS[at.weekday()][:2],
    "d": lambda at: str(at.isoweekday() % 7),
    "e": lambda at: str(at.isoweekday() % 7),
    "E": lambda at: str(at.isoweekday()),
    "GGGG": lambda at: str(at.isocalendar().year),
    "WW": lambda at: f"{at.isocalendar().week:02}",
    "W": lambda at: str(at.isocalendar().week),
    "HH": lambda at: f"{at.hour:02}",
    "H": lambda at: str(at.hour),
    "hh": lambda at: f"{_hour(at):02}",
    "h": lambda at: str(_hour(at)),
    "kk": lambda at: f"{at.hour or 24:02}",
    "k": lambda at: str(at.hour or 24),
    "mm": lambda at: f"{at.minute:02}",
    "m": lambda at: str(at.minute),
    "ss": lambda at: f"{at.second:02}",
    "s": lambda at: str(at.second),
    "SSS": lambda at: f"{at.microsecond // 1000:03}",
    "A": lambda at: "AM" if at.hour < 12 else "PM",
    "a": lambda at: "am" if at.hour < 12 else "pm",
    "ZZ": lambda at: _offset(at, ""),
    "Z": _offset,
    "X": lambda at: str(int(at.timestamp())),
    "x": lambda at: str(int(at.timestamp() * 1000)),
}
"""The fields of a format, the longer of those that begin alike first."""
_FIELD = re.compile(r"\[([^\[\]]*)\]|\\(.)|" + "|".join((*_LONG, *_FIELDS)), re.DOTALL)


def time_text(moment: datetime, written: str) -> str:
    """Return a time in a format such as `YYYY-MM-DD HH:mm` or `LLLL`; text in `[]` is literal."""

    def field(found: re.Match[str]) -> str:
        if found[1] is not None or found[2] is not None:
            return found[1] if found[2] is None else found[2]
        if found[0] in _LONG:
            return time_text(moment, _LONG[found[0]])
        return _FIELDS[found[0]](moment)

    return _FIELD.sub(field, written)


_UTC = re.compile(r"UTC([+-]\d{1,3})")


def time_at(moment: datetime, offset: str) -> str:
    """Return the time of day, for an offset such as `UTC+2` there."""
    if found := _UTC.fullmatch(offset):
        # offsets below 16 are hours, others minutes
        number = int(found[1])
        ahead = timedelta(hours=number) if abs(number) < 16 else timedelta(minutes=number)
        moment = moment.astimezone(timezone(ahead))
    return time_text(moment, "LT")
