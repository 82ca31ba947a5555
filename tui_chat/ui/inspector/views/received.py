"""A response as it was received: its lines, each with the time at which it had come."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

from tui_chat.models.received import Received
from tui_chat.ui.inspector.figures import size_in_words
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.views.rows import Part, Row, line
from tui_chat.ui.inspector.wrap import LEAST, breaks

_TIME = 10
"""Cells for the time, and as many where there is none."""


def told(received: Received) -> str:
    """Say what it is, in a few words."""
    words = [f"HTTP {received.status}", received.media or "no media type"]
    words.append(size_in_words(received.size))
    if b"\r\n" in received.body:
        words.append("lines end in CR LF")
    return ", ".join(words)


def lines_of(received: Received, width: int) -> Iterator[Part]:
    """Yield the rows of a response; each is made when it is looked at."""
    if received.gone:
        words = f"The first {size_in_words(received.gone)} were not kept."
        yield line(("  ", ""), (words, "warning"))
    room = max(width - _TIME, LEAST)
    ends = [size for _, size in received.times]
    at, before = received.gone, -1
    for raw in received.body.split(b"\n"):
        number = bisect_right(ends, at)
        time = f"{received.times[number][0] / 1000:>8.2f}s " if number < len(ends) else ""
        text = shown(raw.removesuffix(b"\r").decode("utf-8", "replace"))
        cuts = [0, *breaks(text, room, room), len(text)]
        lead = time if number != before and text else ""
        yield len(cuts) - 1, _row(text, cuts, lead.ljust(_TIME))
        before = number if text else before
        at += len(raw) + 1


def _row(text: str, cuts: list[int], lead: str) -> Callable[[int], Row]:
    rows = list(pairwise(cuts))

    def row(number: int) -> Row:
        start, end = rows[number]
        head = lead if number == 0 else " " * _TIME
        return Row(((head, "bar"), (text[start:end], "muted")))

    return row
