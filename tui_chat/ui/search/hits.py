"""What was found: three lines each, of which only the visible ones are drawn."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui_chat.models.search import Hit, HitPlace
from tui_chat.models.visible import one_line
from tui_chat.ui.ago import ago
from tui_chat.ui.search.lines import marked, wrapped
from tui_chat.ui.widgets.palette import Palette
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

TALL = 3
"""Lines of a hit: where it is, and two of its words."""
PLACES: dict[HitPlace, str] = {
    "reasoning": "Reasoning",
    "call": "Tool call",
    "refusal": "Refusal",
}
"""Where in a message, if not in its text."""
WRITERS = {"user": "You", "assistant": "Reply", "tool": "Tool", "system": "System", None: "Title"}


class HitList(ThinScrollView):
    """Hits, one of them under the cursor. Keys go to the words above it."""

    can_focus = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"hit-list--{name}"
        for name in ("title", "detail", "user", "mark", "cursor", "hover", "empty")
    }
    DEFAULT_CSS = """
    HitList {
        & .hit-list--title { text-style: bold; }
        & .hit-list--detail { color: $foreground 67%; }
        & .hit-list--user { color: $text-primary; }
        & .hit-list--mark { color: $text-warning; text-style: bold underline; }
        & .hit-list--hover { background: $foreground 5%; }
        & .hit-list--cursor { background: $primary 20%; }
        & .hit-list--empty { color: $foreground 72%; }
    }
    """

    class Moved(Message):
        """Another hit is under the cursor."""

    class Taken(Message):
        """The hit under the cursor was clicked."""

    def __init__(self, now: float) -> None:
        super().__init__(classes="-raised")
        self.hits: tuple[Hit, ...] = ()
        self.cursor = 0
        self._now = now
        self._empty = ""
        self._hover = -1
        self._palette = Palette(self, "hit-list")

    @property
    def hit(self) -> Hit | None:
        """The one under the cursor."""
        return self.hits[self.cursor] if self.cursor < len(self.hits) else None

    def show(self, hits: tuple[Hit, ...], empty: str) -> None:
        """Show hits, or these words where there are none."""
        self.hits, self._empty = hits, empty
        self.virtual_size = Size(self.scrollable_content_region.width, len(hits) * TALL)
        self.put_cursor(0)

    def put_cursor(self, index: int) -> None:
        """Put the cursor on a hit and scroll it into sight."""
        self.cursor = min(max(index, 0), max(len(self.hits) - 1, 0))
        height = self.scrollable_content_region.height
        top, first = round(self.scroll_y), self.cursor * TALL
        if first < top:
            self.scroll_y = self.scroll_target_y = first
        elif height and first + TALL > top + height:
            self.scroll_y = self.scroll_target_y = first + TALL - height
        self.post_message(self.Moved())
        self.refresh()

    def page(self, direction: int) -> None:
        """Move the cursor by a screen."""
        seen = max(self.scrollable_content_region.height // TALL - 1, 1)
        self.put_cursor(self.cursor + direction * seen)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.hits) * TALL)
        self.put_cursor(self.cursor)

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme."""
        self._palette.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        width = self.scrollable_content_region.width
        if not self.hits:
            style = self._palette("empty")
            words = self._empty.split("\n")
            text = f"  {words[y - 1]}" if 0 < y <= len(words) else ""
            return Strip([Segment(text, style)]).adjust_cell_length(width, style)
        index, line = divmod(y + round(self.scroll_y), TALL)
        if index >= len(self.hits):
            return Strip.blank(width, self._palette())
        lit = "cursor" if index == self.cursor else "hover" if index == self._hover else ""
        hit = self.hits[index]
        drawn = self._head(hit, width, lit) if line == 0 else self._words(hit, width, lit, line - 1)
        return Strip(drawn).adjust_cell_length(width, self._palette(lit))

    def _head(self, hit: Hit, width: int, lit: str) -> list[Segment]:
        who = PLACES.get(hit.place, WRITERS[hit.message_role])
        time = ago(hit.created, self._now)
        aside = f" · {time} "
        room = max(width - 1 - cell_len(who) - cell_len(aside) - 2, 1)
        title = one_line(hit.title) or "Untitled"
        [shown] = wrapped([(title, self._palette(lit, "title"))], room, most=1)
        used = 1 + sum(segment.cell_length for segment in shown)
        gap = " " * max(width - used - cell_len(who) - cell_len(aside), 1)
        whose = "user" if hit.message_role == "user" else "detail"
        return [
            Segment(" ", self._palette(lit)),
            *shown,
            Segment(gap, self._palette(lit)),
            Segment(who, self._palette(lit, whose)),
            Segment(aside, self._palette(lit, "detail")),
        ]

    def _words(self, hit: Hit, width: int, lit: str, line: int) -> list[Segment]:
        plain, mark = self._palette(lit), self._palette(lit, "mark")
        lines = wrapped(marked(hit.snippet, hit.marks, plain, mark), max(width - 4, 8), most=2)
        return [Segment("   ", plain), *(lines[line] if line < len(lines) else ())]

    # Clicks

    def _row_at(self, event: events.MouseEvent) -> int:
        row = (event.get_content_offset_capture(self).y + round(self.scroll_y)) // TALL
        return row if 0 <= row < len(self.hits) else -1

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on what was clicked; a second click takes it."""
        row = self._row_at(event)
        if row >= 0:
            again = row == self.cursor
            self.put_cursor(row)
            if again or event.chain > 1:
                self.post_message(self.Taken())

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light the hit under the mouse."""
        row = self._row_at(event)
        if row != self._hover:
            self._hover = row
            self.refresh()

    def on_leave(self) -> None:
        """Put the light out."""
        self._hover = -1
        self.refresh()
