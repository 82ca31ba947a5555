"""Texts of strangers as rows: what hides in them is marked, long lines are wrapped."""

from __future__ import annotations

from itertools import pairwise

from tui_chat.models.text import Origin
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.views.rows import Row
from tui_chat.ui.inspector.wrap import LEAST, breaks

MOST = 2_000
"""Rows of one text that are shown; it is told how many more there are."""


def said(
    text: str, width: int, lead: str = "    ", style: str = "", origin: Origin | None = None
) -> list[Row]:
    """Return the rows of a text, each behind `lead`."""
    room = max(width - len(lead), LEAST)
    rows: list[Row] = []
    for line in text.split("\n"):
        drawn = shown(line)
        cuts = [0, *breaks(drawn, room, room), len(drawn)]
        rows += [
            Row(((lead, "muted"), (drawn[start:end], style)), origin)
            for start, end in pairwise(cuts)
        ]
        if len(rows) > MOST:
            more = Row(((lead, ""), ("… and so on", "muted")), origin)
            return [*rows[:MOST], more]
    return rows


def first_words(text: str, most: int) -> str:
    """Return how a text begins, on one line."""
    return shown(" ".join(text[: most * 4].split())[: most * 2])
