"""The request body on the screen: exact, coloured by origin, and cheap at any length.

1. Only visible rows become text (`render_line`); everything else is numbers in a
   `PayloadLayout`.
2. The view follows the draft until the user scrolls away, and again after scrolling back.
   While it does not follow, its top row stays in place, whatever comes or goes above.
3. The cursor is a row and a piece on it. Until the user moves it, it is on the draft.
4. It posts what is under the cursor or the mouse (`TargetChanged`), and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import ClassVar

from textual import events, work
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui_chat.models.envelope import Level, Note
from tui_chat.models.payload import Payload
from tui_chat.models.text import OriginKind
from tui_chat.ui.areas.inspector.drawn_row import (
    BodyPosition,
    BodyRow,
    CursorTarget,
    DrawnLine,
    run_at,
    target_at,
)
from tui_chat.ui.areas.inspector.payload_layout import PayloadLayout, lay_out_in_thread
from tui_chat.ui.areas.inspector.payload_places import (
    NotePlaces,
    draft_row,
    origin_rows,
    position_at,
)
from tui_chat.ui.areas.inspector.row_painter import GUTTER, Highlights, RowPainter
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

LONG_BODY = 4_000
"""Rows from which a body is laid out in a thread when the width changes."""


class PayloadCanvas(ThinScrollView, can_focus=True, inherit_bindings=False):
    """The body, laid out for reading."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"payload--{kind}" for kind in OriginKind),
        *(f"payload--note-{level}" for level in Level),
        "payload--key",
        "payload--mark",
        "payload--cursor",
        "payload--piece",
        "payload--lit",
        "payload--hit",
    }
    DEFAULT_CSS = """
    PayloadCanvas {
        scrollbar-gutter: stable;
        & > .payload--system { color: $origin-system; }
        & > .payload--preset { color: $origin-preset; }
        & > .payload--profile { color: $origin-profile; }
        & > .payload--lore { color: $origin-lore; }
        & > .payload--history { color: $origin-history; }
        & > .payload--draft { color: $origin-draft; text-style: bold; }
        & > .payload--macro { color: $origin-macro; }
        & > .payload--setting { color: $origin-setting; }
        & > .payload--glue { color: $origin-glue; }
        & > .payload--key { color: $origin-glue; }
        & > .payload--mark { color: $text-warning; background: $warning-muted; }
        & > .payload--cursor { background: $surface; }
        &:focus > .payload--cursor { background: $panel; }
        & > .payload--piece { text-style: underline; }
        & > .payload--lit { background: $primary 12%; text-style: bold; }
        & > .payload--hit { color: $background; background: $warning; }
        & > .payload--note-error { color: $text-error; }
        & > .payload--note-warning { color: $text-warning; }
        & > .payload--note-info { color: $text-accent; }
    }
    """

    class TargetChanged(Message, namespace="payload_view"):
        """What is under the cursor or the mouse changed."""

        def __init__(self, under: CursorTarget | None) -> None:
            super().__init__()
            self.under = under

    class LaidOut(Message, namespace="payload_view"):
        """The body was laid out for another width; until then its size is unknown."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.payload: Payload | None = None
        self.layout_now: PayloadLayout | None = None
        """The layout of the payload; None until there is a width."""
        self.following = True
        """True if the view keeps the draft in sight."""
        self._form = ""
        self._layouts: dict[str, PayloadLayout] = {}
        """The last layout of each form, reused when the form is shown again."""
        self._cursor: BodyPosition | None = None
        self._cursor_row = 0
        self._piece: int | None = None
        """Index of the piece under the cursor; None for the main one of the row."""
        self._mouse: tuple[int, int] | None = None
        self._under: CursorTarget | None = None
        self._settling = False
        self._painter = RowPainter(self, "payload")
        self._drawn: dict[int, Strip] = {}
        """The strip on each line of the screen."""
        self.highlights = Highlights()
        """What is highlighted."""
        self._notes = NotePlaces()
        self._notes_moved = False
        """True if the notes changed and are not drawn yet."""
        self._resizing = False
        """True while it is laid out for another width, and shown at the old one."""
        self._cancelled = Event()
        """Set when the width that is being laid out is no longer wanted."""

    # Showing

    def show(self, payload: Payload | None, form: str = "", notes: Sequence[Note] = ()) -> None:
        """Show another payload; what is read stays in place.

        `form` names the shape of the body: its protocol. In another form the cursor goes to the
        text of the same origin.
        """
        self.payload = payload
        if notes != self._notes.notes:
            self._notes, self._notes_moved = NotePlaces(notes), True
        self._mouse = None
        if form == self._form or self.layout_now is None:
            self._form = form
            self._lay_out()
            return
        was = self._under
        away = self._cursor is not None or not self.following
        self._form, self._cursor, self._piece = form, None, None
        self._lay_out()
        if was is not None and away:
            self._seek(was)

    def forget(self) -> None:
        """Drop the bodies shown, because another conversation follows. A visible one stays until
        then.
        """
        self._layouts.clear()
        self._painter.forget()
        self._cursor, self._piece, self.following = None, None, True
        if not self.is_on_screen:
            self.payload = self.layout_now = self._under = None
            self._notes = NotePlaces()
            self._drawn.clear()

    def _seek(self, was: CursorTarget) -> None:
        """Go to the text of the same origin in another form."""
        layout = self.layout_now
        if layout is None:
            return
        for origin in (was.origin, was.owner):
            if origin.kind is not OriginKind.GLUE and (rows := origin_rows(layout, origin)):
                self._set_cursor(rows[0], None, middle=True)
                return

    @property
    def under(self) -> CursorTarget | None:
        """What is under the mouse, else under the cursor."""
        return self._under

    @property
    def cursor_row(self) -> int:
        """The row of the cursor."""
        return self._cursor_row

    # Laying out

    def _lay_out(self) -> None:
        """Lay the payload out for the present width, and scroll to follow or keep the position."""
        width = self.scrollable_content_region.width - GUTTER
        if self.payload is None or width <= 0:
            self.layout_now = None
            self._layouts.clear()
            self.virtual_size = Size(0, 0)
            self._post_target()
            self.refresh()
            return
        if self._resizing and self.layout_now is not None:
            width = self.layout_now.width
        top = position_at(self.layout_now, self.scroll_offset.y) if self.layout_now else None
        was, was_at, was_on = self.layout_now, self.scroll_offset.y, self._cursor_row
        followed = self._layouts.get(self._form)
        self.layout_now = layout = PayloadLayout(self.payload, width, followed)
        self._layouts[self._form] = layout
        self._settling = True
        try:
            self._take_size(Size(width + GUTTER, layout.rows))
            if self._cursor is None:
                self._cursor_row = self._home_row()
            else:
                self._cursor_row = layout.row_of(self._cursor)
            if self.following or top is None:
                self.scroll_to(y=self._follow_top(), animate=False, force=True)
            else:
                self.scroll_to(y=layout.row_of(top), animate=False, force=True)
        finally:
            self._settling = False
        self._post_target()
        if self.scroll_offset.y == was_at:
            follows = was is followed and not self._notes_moved
            self._refresh_changed(layout.same_rows if follows else 0, was_on)
        else:
            self.refresh()
        self._notes_moved = False

    def _take_size(self, size: Size) -> None:
        """Set the size of the body. The panes around it are laid out again only if a scroll bar
        comes or goes, not whenever the draft gains a row.
        """
        if size != self.virtual_size:
            self.set_extent(size)
            self._scroll_update(size)

    def _refresh_changed(self, same: int, was_on: int) -> None:
        """Repaint the rows that changed. The first `same` rows are unchanged, except where the
        cursor was or is.
        """
        top = self.scroll_offset.y
        for y in range(self.size.height):
            row = top + y
            if row < same and (was_on == self._cursor_row or row not in (was_on, self._cursor_row)):
                continue
            before = self._drawn.get(y)
            if self.render_line(y) != before:
                self.refresh_line(row)

    def _home_row(self) -> int:
        return draft_row(self.layout_now) if self.layout_now is not None else 0

    def _follow_top(self) -> int:
        """Return the top row at which the end of the draft is in sight."""
        layout, height = self.layout_now, self.size.height
        if layout is None:
            return 0
        end = max(layout.rows - height, 0)
        below = height // 3
        return min(end, max(self._home_row() + 1 + below - height, 0))

    def on_resize(self) -> None:
        """Lay out again if the width changed; keep following if only the height did."""
        width = self.scrollable_content_region.width - GUTTER
        was = self.layout_now
        if was is not None and was.width != width > 0 and was.rows >= LONG_BODY:
            self._resizing = True
            self._lay_out_later(was.payload, width, self._form)
        elif was is None or was.width != width or self._resizing:
            self._resized()
        elif self.following:
            self._scroll(self._follow_top())

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Cancel the layout for another width.

        Overrides Textual's internal, because `on_resize` comes only after the frame is drawn.
        """
        if size.width != self._size.width:
            self._cancelled.set()
        return super()._size_updated(size, virtual_size, container_size, layout)

    @work(group="layout", exclusive=True, description="lay out")
    async def _lay_out_later(self, payload: Payload, width: int, form: str) -> None:
        """Lay out in a thread, and show the result if the width is still the same."""
        self._cancelled = Event()
        layout = await lay_out_in_thread(payload, width, self._cancelled)
        if layout is not None and width == self.scrollable_content_region.width - GUTTER:
            self._layouts[form] = layout
            self._resized()

    def _resized(self) -> None:
        self._resizing = False
        self._lay_out()
        self.post_message(self.LaidOut())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the draft again, or stop following it, when the user scrolls."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling and self.layout_now is not None and old_value != new_value:
            self.following = round(new_value) >= self._follow_top()
            if self.following and self._cursor is None:
                self._cursor_row = self._home_row()
            self._post_target()

    def _scroll(self, y: int) -> None:
        self._settling = True
        try:
            self.scroll_to(y=y, animate=False, force=True)
        finally:
            self._settling = False

    # Drawing

    def render_line(self, y: int) -> Strip:
        """Render a visible row."""
        self._drawn[y] = strip = self._row(self.scroll_offset.y + y)
        return strip

    def _row(self, row: int) -> Strip:
        if self.layout_now is None or row >= self.layout_now.rows:
            return Strip.blank(self.size.width, self.rich_style)
        spot = self.layout_now.spot(row)
        here = row == self._cursor_row
        piece = self._piece if here and self.has_focus else -1
        note = self._notes.at(self.layout_now, spot)
        level = note.level if note is not None else None
        return self._painter.row(self.layout_now, spot, here, piece, level, self.highlights)

    @property
    def note_here(self) -> Note | None:
        """The note of the row under the cursor."""
        layout = self.layout_now
        if layout is None or self._cursor_row >= layout.rows:
            return None
        return self._notes.at(layout, layout.spot(self._cursor_row))

    def heights_changed(self) -> None:
        """Update the extent after something was folded or unfolded."""
        layout = self.layout_now
        if layout is None or layout.rows == self.virtual_size.height:
            return
        self._settling = True
        try:
            self._take_size(Size(layout.width + GUTTER, layout.rows))
        finally:
            self._settling = False
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget the styles of the old theme or focus."""
        super().notify_style_update()
        self._painter.forget()

    # Pointing

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Post what the mouse is over."""
        offset = event.get_content_offset(self)
        self._mouse = None if offset is None else (offset.x, offset.y)
        self._post_target()

    def on_leave(self) -> None:
        """Post what the cursor is on again."""
        self._mouse = None
        self._post_target()

    def _post_target(self) -> None:
        """Post what is under the mouse or the cursor, if that changed."""
        under = self._target()
        if under != self._under:
            self._under = under
            self.post_message(self.TargetChanged(under))

    def _target(self) -> CursorTarget | None:
        layout = self.layout_now
        if layout is None:
            return None
        if self._mouse is not None and self.scroll_offset.y + self._mouse[1] < layout.rows:
            spot, line = self._seen(self.scroll_offset.y + self._mouse[1])
            run = run_at(spot, line, self._mouse[0] - GUTTER - layout.lead(spot))
            return target_at(spot, line, run, None)
        spot, line = self._seen(min(self._cursor_row, layout.rows - 1))
        return target_at(spot, line, None, self._piece)

    def _seen(self, row: int) -> tuple[BodyRow, DrawnLine]:
        assert self.layout_now is not None
        spot = self.layout_now.spot(row)
        return spot, self.layout_now.line(spot)

    def _set_cursor(self, row: int, piece: int | None, *, middle: bool = False) -> None:
        layout = self.layout_now
        if layout is None:
            return
        row = max(0, min(row, layout.rows - 1))
        spot, line = self._seen(row)
        self._cursor = BodyPosition(spot.place.steps, spot.place.part, line.slice(spot.row)[0])
        before, self._cursor_row, self._piece = self._cursor_row, row, piece
        self._mouse = None
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height:
            if middle:
                top = row - height // 3
            else:
                top = row if row < top else row - height + 1
            self._scroll(max(top, 0))
        self.following = self.scroll_offset.y >= self._follow_top()
        self.refresh_line(before)
        self.refresh_line(row)
        self._post_target()
