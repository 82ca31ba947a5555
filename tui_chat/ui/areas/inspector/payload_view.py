"""What keys and clicks do in the body: move, fold, find, open an origin, copy."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui_chat.models.json_tree import Arr, Obj
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.areas.inspector.drawn_row import BodyPosition, main_run, run_at
from tui_chat.ui.areas.inspector.payload_canvas import PayloadCanvas
from tui_chat.ui.areas.inspector.payload_places import find_rows, origin_rows, search_pattern
from tui_chat.ui.areas.inspector.row_painter import GUTTER, Highlights

MESSAGE_DEPTH = 2
"""The depth of messages in a body."""


class PayloadView(PayloadCanvas):
    """The body with keys and clicks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "top", "Top", show=False),
        Binding("end,G", "bottom", "End", show=False),
        Binding("left,h", "piece(-1)", "Piece left", show=False),
        Binding("right,l", "piece(1)", "Piece right", show=False),
        Binding("K", "item(-1)", "Message above", show=False),
        Binding("J", "item(1)", "Message below", show=False),
        Binding("space,z", "fold", "Fold", show=False),
        Binding("Z", "fold_all", "Fold all messages", show=False),
        Binding("slash", "find", "Find", show=False),
        Binding("n", "hit(1)", "Next hit or place", show=False),
        Binding("N", "hit(-1)", "Previous hit or place", show=False),
        Binding("f", "follow", "To the draft"),
        Binding("enter", "open", "Open origin"),
        Binding("y,ctrl+c", "copy", "Copy body"),
    ]

    class OriginSelected(Message):
        """The user wants to see the origin of this."""

        def __init__(self, origin: Origin, start: int | None) -> None:
            super().__init__()
            self.origin = origin
            self.start = start
            """Index in the origin's own text; None if it is not a quotation."""

    class BodyFindRequested(Message):
        """The user wants to type words to find."""

    class Marked(Message):
        """The highlighted places or the cursor changed: its number, from 1, and their count."""

        def __init__(self, number: int, count: int) -> None:
            super().__init__()
            self.number = number
            self.count = count

    class Copied(Message):
        """The body was copied to the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    # Finding

    def go_to(self, pointer: str) -> bool:
        """Put the cursor on the node of a JSON pointer; return False if there is none."""
        layout = self.layout_now
        if layout is None:
            return False
        layout.unfold_to(pointer)
        self.heights_changed()
        return self._go(layout.row_at(pointer))

    def jump(self, kind: OriginKind) -> bool:
        """Put the cursor on the next text of a kind of origin, round the end."""
        if self.layout_now is None:
            return False
        for after in (self.cursor_row, -1):
            for row, _ in self.layout_now.leaves(kind, after):
                return self._go(self._row_of_kind(row, kind))
        return False

    def reveal(self, origin: Origin) -> int:
        """Highlight all text of an origin, and put the cursor on the first place; return the
        number of places.
        """
        self.highlight(origin)
        self._reveals_later = self.layout_now is None
        rows = self._highlighted_rows()
        while rows and self.layout_now is not None and self.layout_now.spot(rows[0]).folded:
            self.layout_now.fold(rows[0])
            self.heights_changed()
            rows = self._highlighted_rows()
        self._go(rows[0] if rows else None)
        self.post_message(self.Marked(1 if rows else 0, len(rows)))
        return len(rows)

    _reveals_later = False
    """True if an origin is to be revealed once there is a layout."""

    def _lay_out(self) -> None:
        super()._lay_out()
        if (
            self._reveals_later
            and self.layout_now is not None
            and self.highlights.origin is not None
        ):
            self.reveal(self.highlights.origin)

    @property
    def origin_at_cursor(self) -> Origin | None:
        """The origin of the message under the cursor, else of the text itself; None while the view
        follows the draft.
        """
        if self._cursor is None or self.under is None:
            return None
        owner = self.under.owner
        return self.under.origin if owner.kind is OriginKind.GLUE else owner

    def point(self, origin: Origin | None) -> int:
        """Reveal the origin under the cursor of another pane; return the number of its places.

        None means that the pane was left: the draft is followed again if it was before.
        """
        if origin is not None:
            self._follows_after = self._follows_after or (self.following and self._cursor is None)
            return self.reveal(origin)
        self.highlight(None)
        if self._follows_after:
            self.action_follow()
        return 0

    _follows_after = False
    """True if the draft was followed before another pane's cursor led away from it."""

    def on_focus(self) -> None:
        """Stay here, because the user goes on in this pane."""
        self._follows_after = False

    def highlight(self, origin: Origin | None) -> None:
        """Highlight all text of an origin; None for nothing."""
        if origin != self.highlights.origin:
            self.highlights = Highlights(origin, self.highlights.words)
            self.refresh()

    def find(self, words: str) -> int:
        """Highlight words, and go to the next place; return the number of places."""
        self.highlights = Highlights(None, search_pattern(words) if words else None)
        self._words = words
        self.refresh()
        if not words:
            self.post_message(self.Marked(0, 0))
            return 0
        rows = self._highlighted_rows()
        self._step_to(rows, self.cursor_row, 0)
        return len(rows)

    _words = ""

    def _highlighted_rows(self) -> list[int]:
        layout = self.layout_now
        if layout is None:
            return []
        if self.highlights.words is not None:
            return find_rows(layout, self._words)
        return [] if self.highlights.origin is None else origin_rows(layout, self.highlights.origin)

    def _step_to(self, rows: list[int], row: int, step: int) -> None:
        """Go from a row to the next of some rows, round the end."""
        if not rows:
            self.post_message(self.Marked(0, 0))
            return
        if step < 0:
            index = max((i for i, at in enumerate(rows) if at < row), default=len(rows) - 1)
        else:
            ahead = (i for i, at in enumerate(rows) if at > row or (at == row and not step))
            index = next(ahead, 0)
        self._go(rows[index])
        self.post_message(self.Marked(index + 1, len(rows)))

    def action_find(self) -> None:
        """Request the words to find."""
        self.post_message(self.BodyFindRequested())

    def action_hit(self, step: int) -> None:
        """Go to the next or previous highlighted place."""
        self._step_to(self._highlighted_rows(), self.cursor_row, step)

    def _row_of_kind(self, row: int, kind: OriginKind) -> int:
        """Return the row of a line on which text of a kind begins."""
        spot, line = self._seen(row)
        for run in line.runs:
            if run.piece.origin.kind is kind and not run.piece.is_key:
                return row + sum(1 for cut in line.breaks if cut <= run.start)
        return row - spot.row

    # Folding

    def action_fold(self) -> None:
        """Fold the object or array around the cursor, or unfold it."""
        layout = self.layout_now
        row = layout.fold(self.cursor_row) if layout is not None else None
        if row is not None:
            self.heights_changed()
            self._set_cursor(row, None)

    def action_fold_all(self) -> None:
        """Fold every message, or unfold them all."""
        layout = self.layout_now
        if layout is None:
            return
        spot, line = self._seen(self.cursor_row)
        place = BodyPosition(spot.place.steps, spot.place.part, line.slice(spot.row)[0])
        layout.fold_all(MESSAGE_DEPTH)
        self.heights_changed()
        self._set_cursor(layout.row_of(place), None, middle=True)

    # Pointing

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse; open the origin on a double click."""
        offset = event.get_content_offset(self)
        layout = self.layout_now
        if offset is None or layout is None:
            return
        row = self.scroll_offset.y + offset.y
        if row >= layout.rows:
            return
        spot, line = self._seen(row)
        runs = line.runs_in(*line.slice(spot.row))
        found = run_at(spot, line, offset.x - GUTTER - layout.lead(spot))
        self._set_cursor(row, runs.index(found) if found in runs else None)
        if spot.folded or (event.chain == 1 and offset.x < GUTTER and spot.place.part == "open"):
            self.action_fold()
        elif event.chain == 2:
            self.action_open()

    # Moving

    def _go(self, row: int | None) -> bool:
        if row is None:
            return False
        self._set_cursor(row, None, middle=True)
        return True

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows; first into sight if it was scrolled away."""
        top, height = self.scroll_offset.y, self.size.height
        row = self._cursor_row
        if not top <= row < top + height:  # scrolled out of sight
            row = top if row < top else top + height - 1
            rows = 0
        self._set_cursor(row + rows, None)

    def action_page(self, pages: int) -> None:
        """Move by a page, less one row that stays in sight."""
        step = max(self.size.height - 1, 1) * pages
        self._scroll(self.scroll_offset.y + step)
        self._set_cursor(self._cursor_row + step, None)

    def action_top(self) -> None:
        """Go to the first row."""
        self._set_cursor(0, None)

    def action_bottom(self) -> None:
        """Go to the last row."""
        self._set_cursor(self.layout_now.rows - 1 if self.layout_now else 0, None)

    def action_follow(self) -> None:
        """Go back to the draft and follow it."""
        self._cursor, self._piece, self.following = None, None, True
        self._follows_after = False
        self._lay_out()

    def action_piece(self, step: int) -> None:
        """Go to the next piece of the row that has another origin."""
        if self.layout_now is None:
            return
        spot, line = self._seen(self._cursor_row)
        runs = line.runs_in(*line.slice(spot.row))
        now = main_run(runs, self._piece)
        if now is None:
            return
        ways = range(runs.index(now) + step, len(runs) if step > 0 else -1, step)
        for index in ways:
            if runs[index].piece.origin != now.piece.origin:
                self._set_cursor(self._cursor_row, index)
                return

    def action_item(self, step: int) -> None:
        """Go to the next message, or to the next key of the body."""
        layout = self.layout_now
        if layout is None:
            return
        steps = self._seen(self.cursor_row)[0].place.steps
        root = layout.payload.tree
        if len(steps) >= MESSAGE_DEPTH and steps[1].key is None:
            array = steps[0].child
            index = steps[1].index + step
            if isinstance(array, Arr) and 0 <= index < len(array.items):
                self._go_item((steps[0].key or "", str(index)))
                return
        if isinstance(root, Obj) and steps:
            index = steps[0].index + step
            if 0 <= index < len(root.items):
                key, value = root.items[index]
                into = isinstance(value, Arr) and value.items
                last = len(value.items) - 1 if isinstance(value, Arr) else 0
                self._go_item((key, str(0 if step > 0 else last)) if into else (key,))

    def _go_item(self, names: tuple[str, ...]) -> None:
        layout = self.layout_now
        pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)
        if layout is not None:
            self._go(layout.row_at(pointer))

    # Asking

    def action_open(self) -> None:
        """Request the origin of what the cursor is on."""
        if self.layout_now is None:
            return
        spot, line = self._seen(self._cursor_row)
        start, end = line.slice(spot.row)
        run = main_run(line.runs_in(start, end), self._piece)
        if run is not None:
            offset = line.source_offset(run, max(run.start, start))
            self.post_message(self.OriginSelected(run.piece.origin, offset))

    def action_copy(self) -> None:
        """Copy the exact body to the clipboard."""
        if self.payload is not None:
            body = self.payload.body.decode()
            self.app.copy_to_clipboard(body)  # pyright: ignore[reportUnknownMemberType]  # Textual's App is generic
            self.post_message(self.Copied(body))
