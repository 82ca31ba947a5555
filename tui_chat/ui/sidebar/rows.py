"""The rows of the session list: two lines each, and only those in sight are drawn."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_chat.model.session import SessionSummary
from tui_chat.model.visible import one_line
from tui_chat.ui.palette import Palette
from tui_chat.ui.sidebar.ago import ago

TALL = 2
"""Lines of a row."""
_MARKS = {"streaming": "●", "failed": "!", "interrupted": "~"}


class SessionRows(ScrollView, can_focus=True):
    """Sessions, one of which is open and one under the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"session-rows--{name}"
        for name in ("open", "detail", "bar", "streaming", "failed", "interrupted")
    } | {f"session-rows--{name}" for name in ("cursor", "hover", "empty", "cursor-detail")}
    DEFAULT_CSS = """
    SessionRows {
        height: 1fr;
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
        scrollbar-color: $foreground 15%;
        scrollbar-color-hover: $foreground 30%;
        scrollbar-color-active: $primary;

        & .session-rows--open { text-style: bold; }
        & .session-rows--detail { color: $foreground 50%; }
        & .session-rows--cursor-detail { color: $foreground 70%; }
        & .session-rows--bar { color: $primary; }
        & .session-rows--streaming { color: $text-success; }
        & .session-rows--failed { color: $text-error; text-style: bold; }
        & .session-rows--interrupted { color: $text-warning; text-style: bold; }
        & .session-rows--hover { background: $foreground 5%; }
        & .session-rows--cursor { background: $foreground 9%; }
        &:focus .session-rows--cursor { background: $primary 35%; }
        & .session-rows--empty { color: $foreground 50%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "first", "First", show=False),
        Binding("end", "last", "Last", show=False),
        Binding("enter", "open", "Open"),
    ]

    class Opened(Message):
        """A session was chosen."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    def __init__(self) -> None:
        super().__init__()
        self.summaries: tuple[SessionSummary, ...] = ()
        """What is shown, after filtering."""
        self.cursor = 0
        """Index of the row under the cursor."""
        self._current: str | None = None
        self._now: float | None = None
        self._empty = ""
        self._hover = -1
        self._palette = Palette(self, "session-rows")

    @property
    def chosen(self) -> SessionSummary | None:
        """The session under the cursor."""
        return self.summaries[self.cursor] if self.cursor < len(self.summaries) else None

    def show(
        self,
        summaries: tuple[SessionSummary, ...],
        current: str | None,
        now: float | None,
        empty: str,
    ) -> None:
        """Show sessions; the cursor stays on its session, else goes to the open one."""
        chosen = self.chosen.session_id if self.chosen else None
        moved = current != self._current
        self.summaries, self._current, self._now, self._empty = summaries, current, now, empty
        found = self._find(current) if moved or chosen is None else self._find(chosen)
        if found is None:
            found = self._find(current)
        self.cursor = min(self.cursor, max(len(summaries) - 1, 0)) if found is None else found
        self.virtual_size = Size(self.scrollable_content_region.width, len(summaries) * TALL)
        self._reveal()
        self.refresh()

    def _find(self, session_id: str | None) -> int | None:
        if session_id is None:
            return None
        for index, summary in enumerate(self.summaries):
            if summary.session_id == session_id:
                return index
        return None

    def put_cursor(self, index: int) -> None:
        """Put the cursor on a row and scroll it into sight."""
        self.cursor = min(max(index, 0), max(len(self.summaries) - 1, 0))
        self._reveal()
        self.refresh()

    def _reveal(self) -> None:
        height = self.scrollable_content_region.height
        if height <= 0:
            return
        top, first = round(self.scroll_y), self.cursor * TALL
        if first < top:
            self.scroll_y = self.scroll_target_y = first
        elif first + TALL > top + height:
            self.scroll_y = self.scroll_target_y = first + TALL - height

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.summaries) * TALL)
        self._reveal()

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme, or of the other focus."""
        self._palette.clear()
        super().notify_style_update()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line of a row."""
        width = self.scrollable_content_region.width
        plain = self._palette()
        if not self.summaries:
            return self._empty_line(y, width)
        index, second = divmod(y + round(self.scroll_y), TALL)
        if index >= len(self.summaries):
            return Strip.blank(width, plain)
        summary = self.summaries[index]
        lit = "cursor" if index == self.cursor else "hover" if index == self._hover else ""
        names = (lit,) if lit else ()
        draw = self._second if second else self._first
        strip = Strip(draw(summary, width, names))
        return strip.adjust_cell_length(width, self._palette(*names))

    def _first(self, summary: SessionSummary, width: int, names: tuple[str, ...]) -> list[Segment]:
        is_open = summary.session_id == self._current
        time = "" if self._now is None else ago(summary.updated, self._now)
        mark = _MARKS.get(summary.status, "")
        right = f"{mark} " if mark else ""
        room = width - 2 - cell_len(right) - len(time) - 2
        title = _clipped(one_line(summary.title) or "Untitled", max(room, 1))
        bar = "▌ " if is_open else "  "
        used = 2 + cell_len(title) + cell_len(right) + len(time) + 1
        style = self._palette(*names, "open") if is_open else self._palette(*names)
        pieces = [
            Segment(bar, self._palette(*names, "bar")),
            Segment(title, style),
            Segment(" " * max(width - used, 0), style),
        ]
        if mark:
            pieces.append(Segment(right, self._palette(*names, summary.status)))
        pieces.append(Segment(f"{time} ", self._palette(*names, self._detail(names))))
        return pieces

    def _second(self, summary: SessionSummary, width: int, names: tuple[str, ...]) -> list[Segment]:
        is_open = summary.session_id == self._current
        facts = [one_line(fact, 80) for fact in (summary.role_name, summary.model) if fact]
        words = " · ".join(facts) or "no model yet"
        style = self._palette(*names, self._detail(names))
        return [
            Segment("▌ " if is_open else "  ", self._palette(*names, "bar")),
            Segment(_clipped(words, max(width - 3, 1)), style),
        ]

    @staticmethod
    def _detail(names: tuple[str, ...]) -> str:
        return "cursor-detail" if "cursor" in names else "detail"

    def _empty_line(self, y: int, width: int) -> Strip:
        style = self._palette("empty")
        words = self._empty.split("\n")
        text = f"  {words[y - 1]}" if 0 < y <= len(words) else ""
        return Strip([Segment(_clipped(text, width), style)]).adjust_cell_length(width, style)

    # Keys and clicks

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self.put_cursor(self.cursor + step)

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screen."""
        rows = max(self.scrollable_content_region.height // TALL - 1, 1)
        self.put_cursor(self.cursor + direction * rows)

    def action_first(self) -> None:
        """Go to the first session."""
        self.put_cursor(0)

    def action_last(self) -> None:
        """Go to the last session."""
        self.put_cursor(len(self.summaries) - 1)

    def action_open(self) -> None:
        """Open the session under the cursor."""
        if self.chosen:
            self.post_message(self.Opened(self.chosen.session_id))

    def _row_at(self, event: events.MouseEvent) -> int:
        row = (event.get_content_offset_capture(self).y + round(self.scroll_y)) // TALL
        return row if 0 <= row < len(self.summaries) else -1

    def on_click(self, event: events.Click) -> None:
        """Open the session that was clicked."""
        row = self._row_at(event)
        if row >= 0:
            self.put_cursor(row)
            self.action_open()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light the row under the mouse."""
        row = self._row_at(event)
        if row != self._hover:
            self._hover = row
            self.refresh()

    def on_leave(self) -> None:
        """Put the light out."""
        self._hover = -1
        self.refresh()


def _clipped(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return f"{chop_cells(text, width - 1)[0]}…" if width > 1 else "…"[:width]
