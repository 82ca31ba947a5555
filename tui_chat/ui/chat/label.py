"""What stands above a message: who spoke, when, and at what cost."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from rich.cells import cell_len

from tui_chat.models.reply import Usage
from tui_chat.models.session import Entry
from tui_chat.models.timing import NO_TIMING, Timing
from tui_chat.models.visible import one_line
from tui_chat.ui.chat.lines import Action, Line, Run, clipped, run, wrap
from tui_chat.ui.chat.progress import Fact, Live, pace

_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3]|[^\s\u2e80-\u9fff\uac00-\ud7a3]+")


def count_words(text: str) -> int:
    """Count words; where none are written apart, characters."""
    return len(_WORD.findall(text))


def number(value: int) -> str:
    """Write a number as people read it."""
    return f"{value:,}"


def lasted(seconds: float) -> str:
    """Write a duration in as few characters as say it."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


def day_of(entry: Entry) -> str:
    """Return the local day on which the message was written, or nothing."""
    at = _local(entry)
    return f"{at:%A} {at.day} {at:%B %Y}" if at else ""


def head(
    entry: Entry, width: int, day: str, live: Live | None, timing: Timing = NO_TIMING
) -> list[Line]:
    """Lay out what stands above a message; `day` is given where a new day begins.

    `timing` is of a reply that has ended.
    """
    lines = [Line(bare=True)]
    if day:
        words = f" {day} "
        side = "─" * max(2, (width - cell_len(words)) // 2)
        runs = (Run(side, ("rule",)), run(words, "meta"), Run(side, ("rule",)))
        lines += [Line(wrap(runs, width)[0].runs, bare=True), Line(bare=True)]
    name = clipped(one_line(_speaker(entry), 80), max(width - 8, 4))
    left = [Run(name, (_SPEAKER_STYLE[entry.message.role],))]
    if entry.siblings > 1 and width > 20:
        left += _siblings(entry)
    if entry.message.pinned:
        left.append(Run("  ◆ pinned", ("pinned",)))
    if live is not None:
        left += [Run("  ● ", ("live",)), Run(_elapsed(live.seconds), ("meta",))]
    room = width - sum(cell_len(piece.text) for piece in left)
    if room < 0:
        left, room = left[:1], width - cell_len(name)
    facts = _facts(entry, timing) if live is None else pace(live.timing, live=True)
    meta = _fitted(facts, room - 2)
    right = [Run(" " * (room - cell_len(meta))), Run(meta, ("meta",))] if meta else []
    return [*lines, Line((*left, *right))]


def _elapsed(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else lasted(seconds)


_SPEAKER_STYLE = {
    "user": "speaker-user",
    "assistant": "speaker-assistant",
    "system": "speaker-small",
    "tool": "speaker-small",
}


def _speaker(entry: Entry) -> str:
    message = entry.message
    match message.role:
        case "user":
            return message.name or "You"
        case "assistant":
            return entry.model or message.name or "Assistant"
        case "system":
            return "System"
        case "tool":
            return f"Result of {message.name}" if message.name else "Tool result"


def _siblings(entry: Entry) -> list[Run]:
    """Say which of several versions this is, with arrows to the others."""
    older, newer = Action("older"), Action("newer")
    first, last = entry.sibling == 0, entry.sibling >= entry.siblings - 1
    return [
        Run("  "),
        Run("‹ ", ("meta" if first else "arrow",), action=older),
        Run(f"{entry.sibling + 1}/{entry.siblings}", ("siblings",)),
        Run(" ›", ("meta" if last else "arrow",), action=newer),
    ]


def _facts(entry: Entry, timing: Timing) -> list[Fact]:
    """Return the facts at the right."""
    facts: list[Fact] = []
    if entry.usage.input is not None or entry.usage.output is not None:
        facts.append((3, _tokens(entry.usage)))
    facts += pace(timing, live=False)
    if entry.seconds is not None:
        facts.append((5, lasted(entry.seconds)))
    if at := _local(entry):
        facts.append((6, f"{at:%H:%M}"))
    return facts


def _fitted(facts: list[Fact], room: int) -> str:
    """Put facts in a row, the lightest left out where there is no room."""
    while facts:
        words = " · ".join(fact for _, fact in facts)
        if cell_len(words) <= room:
            return words
        facts.remove(min(facts, key=lambda fact: fact[0]))
    return ""


def _tokens(usage: Usage) -> str:
    came = "?" if usage.input is None else number(usage.input)
    went = "?" if usage.output is None else number(usage.output)
    return f"{came} → {went} tokens"


def _local(entry: Entry) -> datetime | None:
    stamp = entry.message.timestamp
    if stamp is None:
        return None
    try:
        return datetime.fromtimestamp(stamp, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return None
