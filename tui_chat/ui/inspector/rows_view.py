"""The list under every view but the payload: rows in parts, made when they come into sight.

A view returns its rows for a width (`build`), as parts: so many rows, and a function that makes
each of them. A context of 10,000 turns costs the rows on the screen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import ClassVar, TypeAlias, overload

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from tui_chat.errors import TuiChatError
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.ui.inspector.origins import origin_rules
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks, cut
from tui_chat.ui.inspector.views import InspectorState, reveal_origin
from tui_chat.ui.widgets.mouse_selection import MouseSelection, Span, Unit, column_at, unit_in
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.row_list import RowList

Piece: TypeAlias = tuple[str, str]
"""Text without line breaks, and the names of its styles, separated by spaces."""


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A row of a view, one line high."""

    pieces: tuple[Piece, ...]
    origin: Origin | None = None
    """The origin of what it shows."""
    action: str = ""
    """The action of Enter or a click: something that its view knows, or the name of an action.
    Without one they go to the origin.
    """
    hint: str = ""
    """A sentence about the row, for the status line."""

    @property
    def text(self) -> str:
        """The row without its styles."""
        return "".join(text for text, _ in self.pieces)


Part: TypeAlias = tuple[int, Callable[[int], ViewRow]]
"""A number of rows, and what makes each of them from its index in the part."""


class ViewRows(Sequence[ViewRow]):
    """Rows in parts; making one costs nothing for the others."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._starts: list[int] = []
        self._make: list[Callable[[int], ViewRow]] = []
        self._length = 0
        for count, make in parts:
            if count:
                self._starts.append(self._length)
                self._make.append(make)
                self._length += count

    def __len__(self) -> int:
        return self._length

    def parts(self) -> Iterator[tuple[range, Callable[[int], ViewRow]]]:
        """Yield the row numbers of each part, and what makes its rows."""
        stops = (*self._starts, self._length)[1:]  # empty if there are no parts
        for start, stop, make in zip(self._starts, stops, self._make, strict=True):
            yield range(start, stop), make

    def guarded(self, view: RowsView) -> ViewRows:
        """Return the same rows of a plugin's view: one that cannot be made is a sentence."""
        rows = ViewRows()
        rows._starts, rows._length = self._starts, self._length
        rows._make = [partial(_guarded_row, view, make) for make in self._make]
        return rows

    @overload
    def __getitem__(self, index: int) -> ViewRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ViewRow]: ...
    def __getitem__(self, index: int | slice) -> ViewRow | Sequence[ViewRow]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._length))]
        if not 0 <= index < self._length:
            raise IndexError(index)
        part = bisect_right(self._starts, index) - 1
        return self._make[part](index - self._starts[part])


def _guarded_row(view: RowsView, make: Callable[[int], ViewRow], index: int) -> ViewRow:
    try:
        with guard(view.plugin, view.part):
            row = make(index)
            for text, names in row.pieces:
                view.palette(*names.split())
                cell_len(text)
            return row
    except TuiChatError as error:
        if isinstance(error, PluginFailed):
            report(error.fault)
        return ViewRow(((str(error), "error"),))


def made_rows(rows: Sequence[ViewRow]) -> Part:
    """Return a part of rows that are already made."""
    return len(rows), rows.__getitem__


def line(*pieces: Piece, origin: Origin | None = None, action: str = "", hint: str = "") -> Part:
    """Return a part of one row."""
    return made_rows((ViewRow(pieces, origin, action, hint),))


BLANK = line(("", ""))


def spread(
    width: int, left: Sequence[Piece], right: str, style: str = "muted"
) -> tuple[Piece, ...]:
    """Return pieces with a text at the right edge; the left side is cut to make room for it, but
    keeps a third of the width.
    """
    needed = sum(cell_len(sanitize(text, "exact")) for text, _ in left)
    right = cut(right, width - 1 - min(needed, width // 3))
    room = width - cell_len(right) - 1
    fitted: list[Piece] = []
    for text, name in left:
        text = cut(text, room)
        fitted.append((text, name))
        room -= cell_len(text)
        if room <= 0:
            break
    return (*fitted, (" " * (max(room, 0) + 1), ""), (right, style))


_BARS = ("▎", "│", "┆")
"""Signs in front of a row's text, which are not copied with it."""
_TEXT_ROWS = 2_000
"""Most rows shown of one text."""


def text_rows(
    text: str, width: int, lead: str = "    ", style: str = "", origin: Origin | None = None
) -> list[ViewRow]:
    """Return a wrapped text as rows, each behind `lead`; hidden characters are marked."""
    room = max(width - len(lead), LEAST)
    rows: list[ViewRow] = []
    for paragraph in text.split("\n"):
        drawn = sanitize(paragraph, "exact")
        cuts = [0, *breaks(drawn, room, room), len(drawn)]
        rows += [
            ViewRow(((lead, "muted"), (drawn[start:end], style)), origin)
            for start, end in pairwise(cuts)
        ]
        if len(rows) > _TEXT_ROWS:
            more = ViewRow(((lead, ""), ("… and so on", "muted")), origin)
            return [*rows[:_TEXT_ROWS], more]
    return rows


def text_part(text: str, width: int, lead: str = "    ", style: str = "") -> Part:
    """Return the rows of a text as a part."""
    return made_rows(text_rows(text, width, lead, style))


def first_words(text: str, width: int) -> str:
    """Return how a text begins, on one line: at most twice `width` characters."""
    return sanitize(" ".join(text[: width * 4].split())[: width * 2], "exact")


_STYLES = ("muted", "strong", "heading", "warning", "error", "good", "link", "new", "gone")


class RowsView(RowList):
    """Shows the rows that `build` returns for a width."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"rows--{kind}" for kind in OriginKind),
        *(f"rows--{name}" for name in _STYLES),
        "rows--new-part",
        "rows--gone-part",
        "rows--bar",
        "rows--cursor",
        "rows--hover",
        "rows--focused",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("g", "first", "↑↓", "Top"),
        pane_key("G", "last", "↑↓", "End"),
        pane_key("enter,space", "choose", "open", "Open", shown=True),
    ]
    DEFAULT_CSS = (
        f"RowsView {{ {origin_rules('rows')} }}"
        + """
    RowsView {
        height: 1fr;
        scrollbar-gutter: stable;
        & > .rows--draft { text-style: bold; }
        & > .rows--muted { color: $foreground 72%; }
        & > .rows--strong { text-style: bold; }
        & > .rows--heading { text-style: bold; color: $text-primary; }
        & > .rows--warning { color: $text-warning; }
        & > .rows--error { color: $text-error; }
        & > .rows--good { color: $text-success; }
        & > .rows--link { color: $text-accent; text-style: underline; }
        & > .rows--new { background: $success 15%; }
        & > .rows--gone { background: $error 15%; }
        & > .rows--new-part { background: $success 40%; }
        & > .rows--gone-part { background: $error 40%; }
        & > .rows--bar { color: $foreground-disabled; }
        & > .rows--cursor { background: $surface; }
        & > .rows--hover { background: $foreground 5%; }
        & > .rows--focused { background: $panel; }
    }
    """
    )

    plugin: ClassVar[str] = ""
    """The plugin that adds it; empty for the core's."""
    part: ClassVar[str] = ""
    """What it is called in the sentence of an exception."""
    uses: ClassVar[frozenset[str]] = frozenset()
    """The fields of `InspectorState` beside the request whose change it draws at once."""
    has_places: ClassVar[bool] = False
    """True if it shows texts at places of their own, so that its cursor can follow another one."""
    finds: ClassVar[bool] = False
    """True if words can be found in it, with `find` and `action_hit`; else they are found in the
    body.
    """
    shows_request: ClassVar[bool] = True
    """False if the lines around it, which are about the request, have no place there."""

    @dataclass
    class RowHighlighted(Message):
        """The cursor moved to another row, or its row shows something else."""

        row: ViewRow | None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("rows", id=id)
        self.rows = ViewRows()
        self._at_end = False
        """True if the cursor stays on the last row, whatever is added."""
        self._highlighted: ViewRow | None = None
        self._built_for = 0
        """The width for which the rows were built; 0 before that."""
        self._mouse = MouseSelection(
            self, self._unit_under, lambda rows: self.scroll_to(y=self.scroll_offset.y + rows)
        )

    def build(self, width: int) -> ViewRows:
        """Return the rows for a width in cells."""
        raise NotImplementedError

    def show_state(self, state: InspectorState) -> None:
        """Show the request of a state, or what else the view shows of it."""

    def choose(self, row: ViewRow) -> bool:
        """Do what a row offers, if the view can do so itself; else return False."""
        return False

    def reveal(self, origin: Origin) -> bool:
        """Put the cursor on the row of an origin; return False if there is none."""
        del origin
        return False

    def point(self, origin: Origin | None) -> None:
        """Show the origin under the cursor of another pane; None if that pane was left."""
        if origin is not None:
            self.reveal(origin)

    @property
    def origin_at_cursor(self) -> Origin | None:
        """The origin of the row under the cursor."""
        return row.origin if (row := self.row_here) is not None else None

    def show_place(self, origin: Origin | None) -> None:
        """Put the cursor where that of the view before was; None if that followed the end."""
        if origin is not None:
            self.reveal(origin)

    async def action_open(self) -> None:
        """Go to where the row under the cursor came from."""
        await reveal_origin(self, self.origin_at_cursor or GLUE)

    def find(self, words: str) -> int:
        """Find words, none if they are empty; return the number of hits."""
        del words
        return 0

    def action_hit(self, step: int) -> None:
        """Go to another hit."""

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def row_here(self) -> ViewRow | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def forget(self) -> None:
        """Drop all rows, because another conversation is shown next."""
        self.rows, self.cursor, self._highlighted, self._built_for = ViewRows(), 0, None, 0
        self.strips.clear()

    def rebuild(self) -> None:
        """Build the rows again; the cursor keeps its row number, or stays at the end."""
        width = self._built_for = self.scrollable_content_region.width
        if width <= 0:  # not displayed; `resized` follows when it is
            return
        selected = self._mouse.text
        self.rows = self._built(width) if self.plugin else self.build(width)
        if self._mouse.text != selected:
            self._mouse.clear()
        self.update_extent()
        last = max(len(self.rows) - 1, 0)
        self.cursor = last if self._at_end else min(self.cursor, last)
        self._scroll_to_end()
        self.refresh_changed()
        self._post_highlighted()

    def _built(self, width: int) -> ViewRows:
        """Return the rows of a plugin's view, or the sentence of its exception."""
        try:
            with guard(self.plugin, self.part):
                rows = self.build(width)
                if not isinstance(rows, ViewRows):  # pyright: ignore[reportUnnecessaryIsInstance]  a plugin's
                    raise TypeError("build returns no ViewRows")
                return rows.guarded(self)
        except TuiChatError as error:
            if isinstance(error, PluginFailed):
                report(error.fault)
            return ViewRows((text_part(str(error), width, " ", "error"),))

    def show_fault(self, sentence: str) -> None:
        """Show a sentence in place of the rows."""
        width = max(self.scrollable_content_region.width, 40)
        self.rows, self.cursor = ViewRows((text_part(sentence, width, " ", "error"),)), 0
        self.update_extent()
        self.refresh_changed()

    def _scroll_to_end(self) -> None:
        if self._at_end:
            self.scroll_to(y=max(len(self.rows) - self.size.height, 0))

    def resized(self) -> None:
        if self.scrollable_content_region.width != self._built_for:
            self.rebuild()
        else:
            self._scroll_to_end()

    def draw_line(self, line: int, width: int) -> Strip:
        row = self.rows[line] if line < len(self.rows) else None
        pieces = () if row is None else row.pieces
        emphasis = "" if row is None else self.emphasis(line)
        if emphasis == "cursor" and self.has_focus:
            emphasis = "focused"
        width = self.size.width
        # By the pieces: the row itself would keep its message alive.
        strip = self.strips((pieces, emphasis, width), lambda: self._paint(pieces, emphasis, width))
        return self._mouse.highlight(strip, line, 0)

    def _paint(self, pieces: Sequence[Piece], emphasis: str, width: int) -> Strip:
        segments: list[Segment] = []
        used = 0
        for text, names in pieces:
            cells = cell_len(text)
            if used + cells > width:
                text, cells = set_cell_size(text, width - used), width - used
            segments.append(Segment(text, self.palette(*names.split(), emphasis)))
            used += cells
        segments.append(Segment(" " * (width - used), self.palette(emphasis)))
        return Strip(segments, width)

    def _post_highlighted(self) -> None:
        row = self.row_here
        if row != self._highlighted:
            self._highlighted = row
            self.post_message(self.RowHighlighted(row))

    def post_highlighted_again(self) -> None:
        """Post what the cursor is on, even if that did not change."""
        self._highlighted = None
        self._post_highlighted()

    def cursor_moved(self) -> None:
        """Leave the end if the cursor left it, and post the row."""
        self._at_end = self._at_end and self.cursor == max(len(self.rows) - 1, 0)
        self._post_highlighted()

    def action_choose(self) -> None:
        if (row := self.row_here) is not None and not self.choose(row):
            self.call_later(self._follow, row)

    async def _follow(self, row: ViewRow) -> None:
        """Run the action of a row, else go to its origin."""
        if row.action:
            await self.run_action(row.action)
        elif row.origin is not None:
            await reveal_origin(self, row.origin)
        else:
            self.notify("There is nothing to open on this row.")

    def row_clicked(self, row: int, event: events.Click) -> None:
        """Put the cursor on a row; do what it offers, on a double click if that is elsewhere."""
        self.set_cursor(row)
        if self.rows[row].action or event.chain == 2:
            self.action_choose()

    # Selecting with the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._mouse.press(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._mouse.drag(event)

    def on_mouse_up(self) -> None:
        self._mouse.release()

    def line_clicked(self, line: int, event: events.Click) -> None:
        """Leave a selection as it is: a drag ends with a click."""
        if not self._mouse.has_selected:
            super().line_clicked(line, event)

    def _unit_under(self, unit: Unit, offset: Offset) -> Span | None:
        number = min(max(self.scroll_offset.y + offset.y, 0), len(self.rows) - 1)
        if number < 0:
            return None
        row = self.rows[number]
        if unit != "character" and (row.action or row.origin):
            return None  # a double click goes there
        first, last = 0, len(row.text)
        if unit != "line":
            first, last = unit_in(unit, row.text, column_at(row.text, offset.x))
        return Offset(first, number), Offset(last, number)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines: list[str] = []
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else len(self.rows)
        for number in range(first, min(last + 1, len(self.rows))):
            if (span := selection.get_span(number)) is not None:
                start, end = span
                row = self.rows[number]
                bar, text = row.pieces[0][0] if row.pieces else "", row.text
                if bar.strip() in _BARS:
                    start = max(start, len(bar))
                lines.append(text[start : len(text) if end == -1 else end].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh_changed()
