"""The request body on the screen: exact, colored by origin, and cheap at any length.

1. Only visible rows become text; everything else is numbers in a `PayloadLayout`.
2. The view follows the draft until the user scrolls away, and again after scrolling back.
   While it does not follow, its top row stays in place, whatever comes or goes above.
3. It posts what is under the cursor or the mouse (`TargetChanged`), and decides nothing.
4. A selection ends when one of its rows changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.payload import Payload
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_row import BodyRow, CursorTarget, data_in
from tui_chat.ui.inspector.edit_place import EditPlace, place_of
from tui_chat.ui.inspector.origins import is_colorless, origin_rules
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import (
    BodyCursor,
    NotePlaces,
    draft_row,
    origin_rows,
    place_at,
    position_at,
    selected_text,
    target_under,
)
from tui_chat.ui.inspector.row_painter import GUTTER, Highlights, RowLook, paint_row
from tui_chat.ui.inspector.views import InspectorState, copy_text, reveal_origin
from tui_chat.ui.verbs import bindings
from tui_chat.ui.widgets.line_view import LineView
from tui_chat.ui.widgets.mouse_selection import MouseSelection, Span
from tui_chat.ui.widgets.pane_key import MOVES, pane_key
from tui_chat.ui.widgets.typed_app import is_text_edited


class PayloadView(LineView):
    """The body, laid out for reading."""

    uses: ClassVar[frozenset[str]] = frozenset()
    has_places = finds = shows_request = True
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("up,k", "move(-1)", MOVES, "Up"),
        pane_key("down,j", "move(1)", MOVES, "Down"),
        pane_key("pageup", "page(-1)", MOVES, "Page up"),
        pane_key("pagedown", "page(1)", MOVES, "Page down"),
        pane_key("home,g", "top", MOVES, "Top"),
        pane_key("end,G", "bottom", MOVES, "End"),
        pane_key("space", "fold", "fold", "Fold"),
        pane_key("n", "hit(1)", "find", "Next hit or place"),
        pane_key("N", "hit(-1)", "find", "Previous hit or place"),
        pane_key("enter", "enter", "origin", "Go to the origin", shown=True),
        pane_key("ctrl+c", "copy", "copy", "Copy what is selected, else the body"),
        *bindings("body"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"payload--{kind}" for kind in OriginKind),
        *(f"payload--note-{level}" for level in Level),
        "payload--key",
        "payload--mark",
        "payload--cursor",
        "payload--lit",
        "payload--hit",
    }
    DEFAULT_CSS = (
        f"PayloadView {{ {origin_rules('payload')} }}"
        + """
    PayloadView {
        scrollbar-gutter: stable;
        & > .payload--draft { text-style: bold; }
        & > .payload--key { color: $origin-glue; }
        & > .payload--mark { color: $text-warning; background: $warning-muted; }
        & > .payload--cursor { background: $foreground 8%; }
        &:focus > .payload--cursor { background: $primary 12%; }
        & > .payload--lit { background: $primary 12%; }
        & > .payload--hit { color: $background; background: $warning; }
        & > .payload--note-error { color: $text-error; }
        & > .payload--note-warning { color: $text-warning; }
        & > .payload--note-info { color: $text-accent; }
    }
    """
    )

    @dataclass
    class TargetChanged(Message):
        """Another piece is under the cursor or the mouse."""

        under: CursorTarget | None

    @dataclass
    class Marked(Message):
        """The highlighted places or the cursor changed: its number, from 1, and their count."""

        number: int
        count: int

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__("payload", id=id, classes=classes)
        self.payload: Payload | None = None
        self.layout_now: PayloadLayout | None = None
        """The layout of the payload; None until there is a width."""
        self.following = True
        """True if the view keeps the draft in sight."""
        self.highlights = Highlights()
        """The highlighted origin, piece and words."""
        self.under: CursorTarget | None = None
        """The piece under the mouse, else under the cursor."""
        self.cursor = BodyCursor()
        self._mouse: tuple[int, int] | None = None
        self._selection = MouseSelection(self, self._character_under, self.scroll_by)
        self._form = ""
        self._toggled: dict[str, set[str]] = {}
        """The JSON pointers of what is folded or unfolded by the user, by form."""
        self._notes = NotePlaces()
        self._by_letter: bool | None = None
        """True if letters stand for colors; None if not known yet."""
        self._settling = False
        """True while it is scrolled by itself and not by the user."""
        self._reveals_later = False
        """True if an origin is to be revealed once there is a layout."""
        self._follows_after = False
        """True if the draft was followed before another pane's cursor led away from it."""
        self._is_left = False
        """True if the body is of a conversation that was left: the next one keeps nothing of it."""

    def focus_on_click(self) -> bool:
        return not is_text_edited(self)

    # Showing

    def show_state(self, state: InspectorState) -> None:
        if (composed := state.composed) is None:
            self.show(None)
        else:
            self.show(composed.payload, composed.protocol, composed.notes)

    def show_place(self, origin: Origin | None) -> None:
        """Put the cursor where that of the view before was; None if that followed the end."""
        if origin is None:
            self.action_follow()
        else:
            self.point(origin)

    def show(self, payload: Payload | None, form: str = "", notes: Sequence[Note] = ()) -> None:
        """Show another payload; what is read stays in place.

        `form` names the shape of the body: its protocol. In another form the cursor goes to the
        text of the same origin.
        """
        self.payload = payload
        if self._is_left:
            self.layout_now, self._is_left = None, False
        if notes != self._notes.notes:
            self._notes = NotePlaces(notes)
        self._mouse = None
        if form == self._form or self.layout_now is None:
            self._form = form
            self._lay_out()
            return
        was = self.under
        away = not (self.cursor.is_on_draft and self.following)
        self._form = form
        self.cursor.return_to_draft()
        self._lay_out()
        if was is not None and away:
            self._seek(was)

    def _seek(self, was: CursorTarget) -> None:
        """Go to the text of the same origin in another form."""
        for origin in (was.origin, was.owner):
            if self.layout_now is not None and origin.kind is not OriginKind.GLUE:
                rows = origin_rows(self.layout_now, origin)
                if self._go(rows[0] if rows else None):
                    return

    def forget(self) -> None:
        """Drop the bodies shown, because another conversation follows. A visible one stays until
        then.
        """
        self._selection.clear()
        self._toggled.clear()
        self.strips.clear()
        self.cursor.return_to_draft()
        self.following = self._is_left = True
        if not self.is_on_screen:
            self.payload = self.layout_now = self.under = None
            self._notes = NotePlaces()

    # Laying out

    def _lay_out(self) -> None:
        """Lay the payload out for the present width, and scroll to follow or keep the position."""
        width = self.scrollable_content_region.width - GUTTER
        if width <= 0 and self.layout_now is not None:  # hidden
            width = self.layout_now.width
        if self.payload is None or width <= 0:
            self.layout_now = None
            self._selection.clear()
            self.set_extent(0)
            self._post_target()
            self.refresh()
            return
        was, was_at, selected = self.layout_now, self.scroll_offset.y, self._selection.text
        top = position_at(was, was_at) if was is not None else None
        toggled = self._toggled.setdefault(self._form, set())
        self.layout_now = layout = PayloadLayout(self.payload, width, was, toggled)
        self.cursor.follow(layout)
        self._settle(self._follow_top() if self.following or top is None else layout.row_of(top))
        self._post_target()
        if self._selection.text != selected:
            self._selection.clear()
        self.refresh_changed()
        if self._reveals_later and self.highlights.origin is not None:
            self.reveal(self.highlights.origin)

    def _settle(self, top: int) -> None:
        """Take over the number of rows, and scroll."""
        self._settling = True
        try:
            self.set_extent(self.layout_now.rows if self.layout_now is not None else 0)
            self.scroll_to(y=top)
        finally:
            self._settling = False

    def _follow_top(self) -> int:
        """Return the top row at which the end of the draft is in sight."""
        layout, height = self.layout_now, self.size.height
        if layout is None:
            return 0
        end = max(layout.rows - height, 0)
        below = height // 3
        return min(end, max(draft_row(layout) + 1 + below - height, 0))

    def resized(self) -> None:
        """Lay out again if the width changed; keep following if only the height did."""
        width = self.scrollable_content_region.width - GUTTER
        if self.layout_now is None or self.layout_now.width != width:
            self._lay_out()
        elif self.following:
            self._settle(self._follow_top())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the draft again, or stop following it, when the user scrolls."""
        super().watch_scroll_y(old_value, new_value)
        self._selection.scrolled()
        if not self._settling and self.layout_now is not None and old_value != new_value:
            self.following = round(new_value) >= self._follow_top()
            if self.following and self.cursor.is_on_draft:
                self.cursor.follow(self.layout_now)
            self._post_target()

    # Drawing

    def draw_row(self, y: int) -> Strip:
        layout, row = self.layout_now, self.scroll_offset.y + y
        if layout is None or row >= layout.rows:
            return Strip.blank(self.size.width, self.palette())
        if self._by_letter is None:
            self._by_letter = is_colorless(self)
        spot, line = layout.seen(row)
        note = self._notes.at(layout, spot)
        is_current = row == self.cursor.row
        look = RowLook(
            self.size.width,
            layout.lead(spot),
            _fold_mark(spot),
            is_current,
            note.level if note is not None else None,
            self.highlights,
            self._by_letter,
        )
        shown = (line, spot.row, spot.owner.kind, look)
        strip: Strip = self.strip(shown, lambda: paint_row(spot, line, look, self.palette))
        return self._selection.highlight(strip, row, GUTTER + look.lead)

    @property
    def note_here(self) -> Note | None:
        """The note of the row under the cursor."""
        layout, row = self.layout_now, self.cursor.row
        if layout is None or row >= layout.rows:
            return None
        return self._notes.at(layout, layout.spot(row))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._by_letter = None

    # Finding

    def go_to(self, pointer: str) -> bool:
        """Put the cursor on the node of a JSON pointer; return False if there is none."""
        layout = self.layout_now
        if layout is None:
            return False
        layout.unfold_to(pointer)
        self._refold()
        return self._go(layout.row_at(pointer))

    def reveal(self, origin: Origin) -> int:
        """Highlight all text of an origin, and put the cursor on the first place; return the
        number of places.
        """
        self.highlight(origin)
        self._reveals_later = self.layout_now is None
        rows = self._highlighted_rows()
        while rows and self.layout_now is not None:
            spot = self.layout_now.spot(rows[0])
            if not spot.folded or data_in(spot.node):
                break
            self.layout_now.fold(rows[0])
            self._refold()
            rows = self._highlighted_rows()
        self._go(rows[0] if rows else None)
        self.post_message(self.Marked(1 if rows else 0, len(rows)))
        return len(rows)

    @property
    def edit_place(self) -> EditPlace | None:
        """The value of the row under the cursor; None without a layout."""
        layout, row = self.layout_now, self.cursor.row
        return None if layout is None or row >= layout.rows else place_of(layout.spot(row))

    @property
    def origin_at_cursor(self) -> Origin | None:
        """The origin of the message under the cursor, else of the text itself; None while the view
        follows the draft.
        """
        if self.cursor.is_on_draft or self.under is None:
            return None
        owner = self.under.owner
        return self.under.origin if owner.kind is OriginKind.GLUE else owner

    def point(self, origin: Origin | None) -> int:
        """Reveal the origin under the cursor of another pane; return the number of its places.

        None means that the pane was left: the draft is followed again if it was before.
        """
        if origin is not None:
            is_followed = self.following and self.cursor.is_on_draft
            self._follows_after = self._follows_after or is_followed
            return self.reveal(origin)
        self.highlight(None)
        if self._follows_after:
            self.action_follow()
        return 0

    def on_focus(self) -> None:
        """Stay here, because the user goes on in this pane."""
        self._follows_after = False

    def highlight(self, origin: Origin | None) -> None:
        """Highlight all text of an origin; None for nothing."""
        if origin != self.highlights.origin:
            self._mark(Highlights(origin, self.highlights.words))
            if origin is None and not self.highlights.words:
                self.post_message(self.Marked(0, 0))

    def find(self, words: str) -> int:
        """Highlight words, and go to the next place; return the number of places."""
        self._mark(Highlights(words=words))
        if not words:
            self.post_message(self.Marked(0, 0))
            return 0
        rows = self._highlighted_rows()
        self._step_to(rows, 0)
        return len(rows)

    def _mark(self, highlights: Highlights) -> None:
        self.highlights = highlights
        self.refresh_changed()

    def _highlighted_rows(self) -> list[int]:
        return [] if self.layout_now is None else self.highlights.rows(self.layout_now)

    def _step_to(self, rows: list[int], step: int) -> None:
        """Go from the cursor to the next of some rows, round the end, and unfold what hides it."""
        layout, row = self.layout_now, self.cursor.row
        if layout is None or not rows:
            self.post_message(self.Marked(0, 0))
            return
        if step < 0:
            index = max((i for i, at in enumerate(rows) if at < row), default=len(rows) - 1)
        else:
            ahead = (i for i, at in enumerate(rows) if at > row or (at == row and not step))
            index = next(ahead, 0)
        while rows and layout.spot(folded := rows[index]).folded:
            layout.fold(folded)
            self._refold()
            rows = self._highlighted_rows()
            index = min(bisect_left(rows, folded), len(rows) - 1)
        self._go(rows[index] if rows else None)
        self.post_message(self.Marked(index + 1, len(rows)))

    def action_hit(self, step: int) -> None:
        rows = self._highlighted_rows()
        if not rows:
            self.notify("Nothing is highlighted. / finds words in the request.")
        self._step_to(rows, step)

    # Folding

    def _refold(self) -> None:
        """Take over the number of rows after something was folded or unfolded."""
        layout = self.layout_now
        if layout is not None and layout.rows != self.virtual_size.height:
            self._selection.clear()
            self._settle(self.scroll_offset.y)
            self.refresh_changed()

    def action_fold(self) -> None:
        """Fold the object or array around the cursor, or unfold it."""
        layout = self.layout_now
        row = layout.fold(self.cursor.row) if layout is not None else None
        if row is not None:
            self._refold()
            self._set_cursor(row)
        else:
            self.notify("Nothing folds here.")

    # Cursor

    def _go(self, row: int | None) -> bool:
        """Put the cursor on a row, a third of the screen below the top if it was out of sight."""
        if row is None:
            return False
        self._set_cursor(row, middle=True)
        return True

    def _set_cursor(self, row: int, *, middle: bool = False) -> None:
        layout = self.layout_now
        if layout is None:
            return
        self.cursor.put(layout, row)
        self._mouse, row = None, self.cursor.row
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height:
            if middle:
                top = row - height // 3
            else:
                top = row if row < top else row - height + 1
            self._settle(max(top, 0))
        self.following = self.scroll_offset.y >= self._follow_top()
        self.refresh_changed()
        self._post_target()

    def _post_target(self) -> None:
        """Post what is under the mouse or the cursor, if that changed."""
        under = self._target()
        if under != self.under:
            self.under = under
            self.post_message(self.TargetChanged(under))

    def _target(self) -> CursorTarget | None:
        layout = self.layout_now
        if layout is None:
            return None
        if self._mouse is not None:
            row = self.scroll_offset.y + self._mouse[1]
            if row < layout.rows:
                return target_under(layout, row, self._mouse[0] - GUTTER)
        return self.cursor.target(layout)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        offset = event.get_content_offset(self)
        self._mouse = None if offset is None else (offset.x, offset.y)
        self._post_target()
        self._selection.drag(event)

    def on_leave(self) -> None:
        self._mouse = None
        self._post_target()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse, and fold or unfold what it is on."""
        offset = event.get_content_offset(self)
        layout, row = self.layout_now, self.line_under(event)
        if offset is None or layout is None or row >= layout.rows or self._selection.has_selected:
            return
        spot = layout.spot(row)
        self._set_cursor(row)
        is_mark = offset.x < GUTTER + layout.lead(spot) and spot.place.part == "open"
        if spot.folded or is_mark:
            self.action_fold()

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows; first into sight if it was scrolled away."""
        top, height = self.scroll_offset.y, self.size.height
        row = self.cursor.row
        if not top <= row < top + height:  # scrolled out of sight
            row = top if row < top else top + height - 1
            rows = 0
        self._set_cursor(row + rows)

    def action_page(self, pages: int) -> None:
        """Move by a page, less one row that stays in sight."""
        step = max(self.size.height - 1, 1) * pages
        self._settle(self.scroll_offset.y + step)
        self._set_cursor(self.cursor.row + step)

    def action_top(self) -> None:
        self._set_cursor(0)

    def action_bottom(self) -> None:
        self._set_cursor(self.layout_now.rows - 1 if self.layout_now else 0)

    def action_follow(self) -> None:
        """Go back to the draft and follow it."""
        self.cursor.return_to_draft()
        self.following, self._follows_after = True, False
        self._lay_out()

    # Selecting

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._selection.press(event)

    def on_mouse_up(self) -> None:
        self._selection.release()

    def scroll_by(self, rows: int) -> None:
        """Scroll by rows, up if they are negative."""
        self.scroll_to(y=self.scroll_offset.y + rows)

    def _character_under(self, offset: Offset) -> Span | None:
        layout, top = self.layout_now, self.scroll_offset.y
        if layout is None:
            return None
        row = min(max(top + offset.y, 0), layout.rows - 1)
        return place_at(layout, row, offset.x - GUTTER)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return (
            None if self.layout_now is None else (selected_text(self.layout_now, selection), "\n")
        )

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh_changed()

    # Asking

    async def action_enter(self) -> None:
        """Unfold what the cursor is on, else go to where it came from."""
        layout, row = self.layout_now, self.cursor.row
        if layout is not None and row < layout.rows and layout.spot(row).folded:
            self.action_fold()
        else:
            await self.action_open()

    async def action_open(self) -> None:
        """Go to where what the cursor is on came from."""
        layout = self.layout_now
        if layout is not None and (origin := self.cursor.source(layout)) is not None:
            await reveal_origin(self, origin)

    def action_copy(self) -> None:
        """Copy what is selected, else the exact body."""
        if selected := self._selection.text:
            copy_text(self, selected, "the selection")
        elif self.payload is not None:
            copy_text(self, self.payload.body.decode(), "the body")


def _fold_mark(spot: BodyRow) -> str:
    """Return the mark of a row that folds something, or that opens a value of the body."""
    if spot.folded:
        return "▸"
    return "▾" if spot.place.part == "open" and spot.depth == 1 and not spot.row else ""
