"""The look of a line: a heading, or one of the two lines of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style

from tui_chat.models.session import SessionSummary
from tui_chat.models.visible import one_line
from tui_chat.ui.ago import ago
from tui_chat.ui.sidebar.layout import Heading

STATUS_MARKS = {"streaming": "●", "failed": "!", "interrupted": "~"}
LEAST_TAG = 4
"""Cells that a tag must have to be shown."""

Paint = Callable[..., Style]
"""From names of styles, the later over the earlier, to a style."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a session stands among the others."""

    is_open: bool = False
    is_chosen: bool = False
    """Whether it is one of several that were chosen."""
    is_streaming: bool = False
    shows_pin: bool = False
    lit: str = ""
    """`cursor`, `hover`, or nothing."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the styles that its whole line has."""
        return (self.lit,) if self.lit else (("chosen",) if self.is_chosen else ())

    @property
    def detail(self) -> str:
        """The style of what is said quietly."""
        return "cursor-detail" if self.lit == "cursor" else "detail"


def heading(line: Heading, width: int, lit: str, paint: Paint) -> list[Segment]:
    """Draw the name of a group; of a folded one how many it has."""
    names = (lit,) if lit else ()
    count = f"{len(line.group.sessions):,} " if line.is_folded else ""
    arrow = "▸ " if line.is_folded else "▾ "
    title = clipped(one_line(line.group.title), max(width - 3 - len(count), 1))
    gap = " " * max(width - 2 - cell_len(title) - len(count), 0)
    style = paint(*names, "heading")
    return [Segment(arrow, paint(*names, "detail")), Segment(f"{title}{gap}{count}", style)]


def first_line(
    summary: SessionSummary, look: Look, width: int, now: float, paint: Paint
) -> list[Segment]:
    """Draw the title, with the session's age and how its newest reply is."""
    names = look.names
    time = ago(summary.updated, now)
    status = "streaming" if look.is_streaming else summary.status
    mark = STATUS_MARKS.get(status, "")
    pin = "↑ " if look.shows_pin else ""
    right = f"{mark} " if mark else ""
    room = width - 2 - len(pin) - cell_len(right) - len(time) - 2
    title = clipped(one_line(summary.title) or "Untitled", max(room, 1))
    used = 2 + len(pin) + cell_len(title) + cell_len(right) + len(time) + 1
    strong = ("open",) if look.is_open else ("unread",) if summary.unread else ()
    style = paint(*names, *strong)
    segments = [
        *_gutter(summary, look, paint),
        Segment(pin, paint(*names, look.detail)),
        Segment(title, style),
        Segment(" " * max(width - used, 0), style),
    ]
    if mark:
        segments.append(Segment(right, paint(*names, status)))
    segments.append(Segment(f"{time} ", paint(*names, look.detail)))
    return segments


def second_line(summary: SessionSummary, look: Look, width: int, paint: Paint) -> list[Segment]:
    """Draw role and model, and of the tags as many as there is room for."""
    names = look.names
    facts = [one_line(fact, 80) for fact in (summary.role_name, summary.model) if fact]
    words = clipped(" · ".join(facts) or "no model yet", max(width - 3, 1))
    left = width - 3 - cell_len(words)
    tags = ""
    for tag in summary.tags:
        piece = f" #{one_line(tag, 40)}"
        if cell_len(tags) + min(cell_len(piece), LEAST_TAG + 2) > left:
            break
        tags = clipped(tags + piece, left)
    return [
        Segment("▌ " if look.is_open else "  ", paint(*names, "bar")),
        Segment(words, paint(*names, look.detail)),
        Segment(tags, paint(*names, "tag")),
    ]


def _gutter(summary: SessionSummary, look: Look, paint: Paint) -> list[Segment]:
    """Draw a bar beside the open session, and a mark for chosen and unread ones."""
    names = look.names
    mark = "✓" if look.is_chosen else "•" if summary.unread else " "
    style = "chosen-mark" if look.is_chosen else "unread-mark"
    return [
        Segment("▌" if look.is_open else " ", paint(*names, "bar")),
        Segment(mark, paint(*names, style)),
    ]


def clipped(text: str, width: int) -> str:
    """Cut a text to its room."""
    if cell_len(text) <= width:
        return text
    return f"{chop_cells(text, width - 1)[0]}…" if width > 1 else "…"[:width]
