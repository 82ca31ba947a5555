"""A view that is a list of rows: only those in sight are made; one of them has the cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, TypeAlias, overload

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks
from tui_chat.ui.inspector.text_fitting import cut
from tui_chat.ui.widgets.palette import Palette
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

Piece: TypeAlias = tuple[str, str]
"""Text without line breaks, and the names of its styles, parted by blanks."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the screen."""

    pieces: tuple[Piece, ...]
    origin: Origin | None = None
    """Where what it shows came from."""
    does: str = ""
    """What Enter or a click asks for; empty where there is nothing to ask for."""
    says: str = ""
    """More of it in a sentence, for the line below."""

    @property
    def text(self) -> str:
        """The row without its colours."""
        return "".join(text for text, _ in self.pieces)


Part: TypeAlias = tuple[int, Callable[[int], Row]]
"""So many rows, and what makes each by its number in the part."""


class Rows(Sequence[Row]):
    """Rows in parts; making one costs nothing for the others."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._starts: list[int] = []
        self._make: list[Callable[[int], Row]] = []
        self._length = 0
        for count, make in parts:
            if count:
                self._starts.append(self._length)
                self._make.append(make)
                self._length += count

    def __len__(self) -> int:
        return self._length

    def parts(self) -> Iterator[tuple[range, Callable[[int], Row]]]:
        """Yield the numbers of each part's rows, and what makes them."""
        stops = (*self._starts, self._length)[1:]  # nothing, where there are no parts
        for start, stop, make in zip(self._starts, stops, self._make, strict=True):
            yield range(start, stop), make

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._length))]
        if not 0 <= index < self._length:
            raise IndexError(index)
        part = bisect_right(self._starts, index) - 1
        return self._make[part](index - self._starts[part])


def one(row: Row) -> Part:
    """Return a part of a row that is already made."""
    return 1, lambda _: row


def many(rows: Sequence[Row]) -> Part:
    """Return a part of rows that are already made."""
    return len(rows), rows.__getitem__


def line(*pieces: Piece, origin: Origin | None = None, does: str = "", says: str = "") -> Part:
    """Return a part of one row."""
    return one(Row(pieces, origin, does, says))


BLANK = line(("", ""))


def sides(width: int, left: Sequence[Piece], right: str, style: str = "muted") -> tuple[Piece, ...]:
    """Return pieces with a text at the right edge, where there is room for both."""
    room = width - cell_len(right) - 1
    fitted: list[Piece] = []
    for text, name in left:
        text = cut(text, room)
        fitted.append((text, name))
        room -= cell_len(text)
        if room <= 0:
            break
    return (*fitted, (" " * (max(room, 0) + 1), ""), (right, style))


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


_STYLES = ("muted", "strong", "heading", "warning", "error", "good", "link", "new", "gone")


class RowsView(ThinScrollView, can_focus=True, inherit_bindings=False):
    """Shows the rows that `build` makes for a width."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"rows--{kind}" for kind in OriginKind),
        *(f"rows--{name}" for name in _STYLES),
        "rows--new-part",
        "rows--gone-part",
        "rows--bar",
        "rows--cursor",
        "rows--focused",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "go(0)", "Top", show=False),
        Binding("end,G", "go(-1)", "End", show=False),
        Binding("enter,space", "choose", "Open", show=False),
    ]
    DEFAULT_CSS = """
    RowsView {
        height: 1fr;
        scrollbar-gutter: stable;
        & > .rows--system { color: $origin-system; }
        & > .rows--preset { color: $origin-preset; }
        & > .rows--profile { color: $origin-profile; }
        & > .rows--lore { color: $origin-lore; }
        & > .rows--history { color: $origin-history; }
        & > .rows--draft { color: $origin-draft; text-style: bold; }
        & > .rows--macro { color: $origin-macro; }
        & > .rows--setting { color: $origin-setting; }
        & > .rows--glue { color: $origin-glue; }
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
        & > .rows--focused { background: $panel; }
    }
    """

    class Pointed(Message):
        """The cursor is on another row, or its row shows something else."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    class Chosen(Message):
        """The user asks for what a row offers."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = Rows()
        self.cursor = 0
        self._at_end = False
        """Whether the cursor stays on the last row, whatever comes."""
        self._pointed: Row | None = None
        self._palette = Palette(self, "rows")
        self._built_for = 0
        self._drawn: dict[int, tuple[tuple[Row | None, str, int], Strip]] = {}
        """What stands on each line of the screen, and what it shows."""

    def build(self, width: int) -> Rows:
        """Return the rows for a width in cells."""
        raise NotImplementedError

    def choose(self, row: Row) -> bool:
        """Do what a row offers, where the view can by itself; False leaves it to the owner."""
        return False

    @property
    def room(self) -> int:
        """Cells that a row has."""
        return self.scrollable_content_region.width

    def forget(self) -> None:
        """Let go of what is shown; what is shown next is of another conversation."""
        self.rows, self.cursor, self._pointed, self._built_for = Rows(), 0, None, 0
        self._drawn.clear()

    def rebuild(self) -> None:
        """Show what there is now; the cursor stays where it is, or at the end."""
        width = self._built_for = self.room
        if width <= 0:  # out of sight, also where it just comes back: then `on_resize` lays it out
            return
        self.rows = self.build(width)
        self.virtual_size = Size(width, len(self.rows))
        last = max(len(self.rows) - 1, 0)
        self.cursor = last if self._at_end else min(self.cursor, last)
        if self._at_end:
            self.scroll_to(y=max(len(self.rows) - self.size.height, 0), animate=False, force=True)
        for y in range(self.size.height):
            before = self._drawn.get(y)
            if self.render_line(y) is not (before[1] if before else None):
                self.refresh(Region(0, y, self.size.width, 1))
        self._tell()

    def on_resize(self) -> None:
        """Lay out again where the width changed."""
        if self.room != self._built_for:
            self.rebuild()
        elif self._at_end:
            self.scroll_to(y=max(len(self.rows) - self.size.height, 0), animate=False, force=True)

    def notify_style_update(self) -> None:
        """Forget colours that a theme or a focus changed."""
        super().notify_style_update()
        self._palette.clear()
        self._drawn.clear()

    def render_line(self, y: int) -> Strip:
        """Draw one visible row."""
        number = self.scroll_offset.y + y
        row = self.rows[number] if number < len(self.rows) else None
        over = ""
        if number == self.cursor and number < len(self.rows):
            over = "focused" if self.has_focus else "cursor"
        shows = row, over, self.size.width
        before = self._drawn.get(y)
        if before is None or before[0] != shows:
            self._drawn[y] = before = shows, self._paint(*shows)
        return before[1]

    def _paint(self, row: Row | None, over: str, width: int) -> Strip:
        plain = self._palette(over)
        if row is None:
            return Strip.blank(width, plain)
        segments: list[Segment] = []
        used = 0
        for text, names in row.pieces:
            cells = cell_len(text)
            if used + cells > width:
                text, cells = set_cell_size(text, width - used), width - used
            segments.append(Segment(text, self._palette(*names.split(), over)))
            used += cells
        segments.append(Segment(" " * (width - used), plain))
        return Strip(segments, width)

    def _tell(self) -> None:
        row = self.row_here
        if row != self._pointed:
            self._pointed = row
            self.post_message(self.Pointed(row))

    def tell_again(self) -> None:
        """Say what the cursor is on, also where that did not change."""
        self._pointed = None
        self._tell()

    @property
    def row_here(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def set_cursor(self, number: int) -> None:
        """Put the cursor on a row and have it in sight."""
        last = max(len(self.rows) - 1, 0)
        self.cursor = max(0, min(number, last))
        self._at_end = self._at_end and self.cursor == last
        top, height = self.scroll_offset.y, self.size.height
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)
        self.refresh()
        self._tell()

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows."""
        self.set_cursor(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move by a pane, less one row that stays as a guide."""
        self.set_cursor(self.cursor + max(self.size.height - 1, 1) * pages)

    def action_go(self, number: int) -> None:
        """Go to a row; -1 is the last."""
        self.set_cursor(number if number >= 0 else len(self.rows) - 1)

    def action_choose(self) -> None:
        """Do what the row under the cursor offers."""
        if self.cursor < len(self.rows):
            row = self.rows[self.cursor]
            if not self.choose(row):
                self.post_message(self.Chosen(row))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the mouse; what unfolds does so at once, the rest on a double."""
        offset = event.get_content_offset(self)
        number = self.scroll_offset.y + offset.y if offset is not None else len(self.rows)
        if number < len(self.rows):
            self.set_cursor(number)
            if self.rows[number].does or event.chain == 2:
                self.action_choose()

    def rows_shown(self) -> Iterator[str]:
        """Yield the text of the visible rows, for tests and for screen readers."""
        for y in range(self.size.height):
            yield self.render_line(y).text.rstrip()
