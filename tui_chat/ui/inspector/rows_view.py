"""The list under every view but the payload: rows of styled text, made when they come into sight.

A view returns its rows for a width (`build`), in parts. A row is a `ViewRow`, or a `LaterRow` where
there may be thousands: a context of 10,000 turns costs the rows on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import ClassVar, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from tui_chat.errors import TuiChatError
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks, cut
from tui_chat.ui.inspector.views import InspectorState, reveal_origin
from tui_chat.ui.widgets.mouse_selection import (
    MouseSelection,
    Span,
    character_at,
    column_at,
)
from tui_chat.ui.widgets.pane_key import MOVES, pane_key
from tui_chat.ui.widgets.row_list import RowList
from tui_chat.ui.widgets.typed_app import app_of

STYLES: dict[str, str] = {
    **{kind.value: f"$origin-{kind}" for kind in OriginKind},
    OriginKind.DRAFT.value: f"bold $origin-{OriginKind.DRAFT}",
    "muted": "$label",
    "strong": "bold",
    "heading": "bold $text-primary",
    "warning": "$text-warning",
    "error": "$text-error",
    "good": "$text-success",
    "link": "underline $text-accent",
    "bar": "$foreground-disabled",
    "new": "on $success 15%",
    "gone": "on $error 15%",
    "new-part": "on $success 40%",
    "gone-part": "on $error 40%",
}
"""The styles of a row's text by their names."""

Piece: TypeAlias = tuple[str, str]
"""Text without line breaks, and the names of its styles, separated by spaces."""


def styled(*pieces: Piece | Content) -> Content:
    """Return pieces as one text, in which hidden characters are marked."""
    parts = (
        piece
        if isinstance(piece, Content)
        else (sanitize(piece[0], "exact"), " ".join(STYLES.get(n, "") for n in piece[1].split()))
        for piece in pieces
    )
    return Content.assemble(*parts)


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A row of a view, one line high."""

    content: Content
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
        return self.content.plain


@dataclass(frozen=True, slots=True)
class LaterRow:
    """A row that is made when it comes into sight."""

    make: Callable[[], ViewRow]
    origin: Origin | None = None
    """The origin of what it shows."""


Part: TypeAlias = "Sequence[ViewRow | LaterRow]"


def line(
    *pieces: Piece | Content, origin: Origin | None = None, action: str = "", hint: str = ""
) -> list[ViewRow]:
    """Return a part of one row."""
    return [ViewRow(styled(*pieces), origin, action, hint)]


BLANK = line()


def spread(
    width: int, left: Sequence[Piece | Content], right: str, style: str = "muted"
) -> Content:
    """Return pieces with a text at the right edge; the left side is cut to make room for it, but
    keeps a third of the width.
    """
    content = styled(*left)
    right = cut(right, width - 1 - min(content.cell_length, width // 3))
    room = max(width - cell_len(right) - 1, 0)
    return styled(content.truncate(room, ellipsis=True, pad=True), (" ", ""), (right, style))


_LEAD = re.compile("▎|┆ ?|  │ ")
"""Signs in front of a row's text, which are not copied with it."""
_TEXT_ROWS = 2_000
"""Most rows shown of one text."""


def text_rows(
    text: str,
    width: int,
    lead: str = "    ",
    style: str = "",
    origin: Origin | None = None,
    *,
    action: str = "",
    hint: str = "",
) -> list[ViewRow]:
    """Return a wrapped text as rows, each behind `lead`; hidden characters are marked."""
    rows: list[ViewRow] = []
    for paragraph in text.split("\n"):
        rows += [
            ViewRow(styled((lead, "muted"), part), origin, action, hint)
            for part in wrapped(styled((paragraph, style)), width - len(lead))
        ]
        if len(rows) > _TEXT_ROWS:
            return [*rows[:_TEXT_ROWS], *line((f"{lead}… and so on", "muted"), origin=origin)]
    return rows


def wrapped(content: Content, width: int) -> list[Content]:
    """Return a text in lines of at most `width` cells; joined they are the text."""
    room = max(width, LEAST)
    cuts = breaks(content.plain, room, room)
    return content.divide(cuts) if cuts else [content]


def first_words(text: str, width: int) -> str:
    """Return how a text begins, on one line: at most twice `width` characters."""
    return " ".join(text[: width * 4].split())[: width * 2]


class RowsView(RowList):
    """Shows the rows that `build` returns for a width."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--hover", "rows--focused"}
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("g", "first", MOVES, "Top"),
        pane_key("G", "last", MOVES, "End"),
        pane_key("enter,space", "choose", "open", "Open", shown=True),
    ]
    DEFAULT_CSS = """
    RowsView {
        height: 1fr;
        scrollbar-gutter: stable;
        & > .rows--cursor { background: $foreground 8%; }
        & > .rows--hover { background: $foreground 5%; }
        & > .rows--focused { background: $primary 12%; }
    }
    """

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
        self.state = InspectorState()
        """What is shown."""
        self.rows: list[ViewRow | LaterRow] = []
        self._at_end = False
        """True if the cursor stays on the last row, whatever is added."""
        self._highlighted: ViewRow | None = None
        self._built_for = 0
        """The width for which the rows were built; 0 before that."""
        self._origin_due: Origin | None = None
        """The origin to go to once there are rows."""
        self._mouse = MouseSelection(
            self, self._character_under, lambda rows: self.scroll_to(y=self.scroll_offset.y + rows)
        )

    def build(self, width: int) -> Iterable[Part]:
        """Return the rows for a width in cells."""
        raise NotImplementedError

    def show_state(self, state: InspectorState) -> None:
        """Show the request of a state, or what else the view shows of it."""
        self.state = state
        self.rebuild()

    def choose(self, row: ViewRow) -> bool:
        """Do what a row offers, if the view can do so itself; else return False."""
        return False

    def reveal(self, origin: Origin) -> bool:
        """Put the cursor on the row of an origin; return False if there is none."""
        if not self._built_for:
            self._origin_due = origin
            return False
        number = next((n for n, row in enumerate(self.rows) if _is_of(row.origin, origin)), None)
        if number is not None:
            self._at_end = False
            self.set_cursor(number)
        return number is not None

    def point(self, origin: Origin | None) -> None:
        """Show the origin under the cursor of another pane; None if that pane was left."""
        if origin is not None:
            self.reveal(origin)

    @property
    def origin_at_cursor(self) -> Origin | None:
        """The origin of the row under the cursor, or of the nearest row above it that has one; None
        while the cursor stays at the end.
        """
        above = (row.origin for row in reversed(self.rows[: self.cursor + 1]))
        return None if self._at_end else next((each for each in above if each is not None), None)

    def show_place(self, origin: Origin | None) -> None:
        """Put the cursor where that of the view before was; None if that followed the end."""
        if origin is not None:
            self.reveal(origin)

    async def action_open(self) -> None:
        """Go to where the row under the cursor came from."""
        row = self.row_here
        await reveal_origin(self, row.origin if row is not None and row.origin else GLUE)

    def find(self, words: str) -> int:
        """Find words, none if they are empty; return the number of hits."""
        del words
        return 0

    def action_hit(self, step: int) -> None:
        """Go to another hit."""

    # Rows

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def row_here(self) -> ViewRow | None:
        """The row under the cursor."""
        return self.row(self.cursor) if self.cursor < len(self.rows) else None

    def row(self, number: int) -> ViewRow:
        """Return a row, made if it is the first time. Raises IndexError outside."""
        row = self.rows[number]
        if isinstance(row, LaterRow):
            make = row.make
            row = self.rows[number] = self._guarded(lambda: [make()])[0]
        assert isinstance(row, ViewRow)
        return row

    def _guarded(self, make: Callable[[], list[ViewRow | LaterRow]]) -> list[ViewRow | LaterRow]:
        """Return rows; if a plugin's view raises, the sentence of its exception."""
        if not self.plugin:
            return make()
        try:
            with guard(self.plugin, self.part):
                rows = make()
                for row in rows:
                    if not isinstance(row, ViewRow | LaterRow):  # pyright: ignore[reportUnnecessaryIsInstance]  a plugin's
                        raise TypeError(f"{type(row).__name__} is no row")
                return rows
        except TuiChatError as error:
            if isinstance(error, PluginFailed):
                report(error.fault)
            return [*text_rows(str(error), self._built_for, " ", "error")]

    def show_fault(self, sentence: str) -> None:
        """Show a sentence in place of the rows."""
        width = max(self.scrollable_content_region.width, 40)
        self.rows = list[ViewRow | LaterRow](text_rows(sentence, width, " ", "error"))
        self.cursor = 0
        self.update_extent()
        self.refresh_changed()

    def forget(self) -> None:
        """Drop all rows, because another conversation is shown next."""
        self.state, self.rows, self.cursor = InspectorState(), [], 0
        self._highlighted, self._built_for, self._origin_due = None, 0, None

    def rebuild(self) -> None:
        """Build the rows again; the cursor stays on its origin, its number or the end."""
        width = self._built_for = self.scrollable_content_region.width
        if width <= 0:  # not displayed; `resized` follows when it is
            return
        selected = self._mouse.text
        origin = self.rows[self.cursor].origin if self.cursor < len(self.rows) else None
        self.rows = self._guarded(lambda: [*chain.from_iterable(self.build(width))])
        if self._mouse.text != selected:
            self._mouse.clear()
        self.update_extent()
        last = max(len(self.rows) - 1, 0)
        self.cursor = last if self._at_end else self._nearest(origin, min(self.cursor, last))
        if self._at_end:
            self.scroll_to(y=max(len(self.rows) - self.size.height, 0))
        self.refresh_changed()
        self._post_highlighted()
        wanted, self._origin_due = self._origin_due, None
        if wanted is not None:
            self.reveal(wanted)

    def _nearest(self, origin: Origin | None, number: int) -> int:
        """Return the number of the row of an origin that is nearest to a number, else that."""
        if origin is None or (self.rows and _is_of(self.rows[number].origin, origin)):
            return number
        same = (n for n, row in enumerate(self.rows) if _is_of(row.origin, origin))
        return min(same, key=lambda other: abs(other - number), default=number)

    def resized(self) -> None:
        if self.scrollable_content_region.width != self._built_for:
            self.rebuild()
        elif self._at_end:
            self.scroll_to(y=max(len(self.rows) - self.size.height, 0))

    def draw_line(self, line: int, width: int) -> Strip:
        names: tuple[str, ...] = ()
        content = Content()
        if line < len(self.rows):
            content = self.row(line).content
            emphasis = self.emphasis(line)
            is_focused = emphasis == "cursor" and self.has_focus
            names = (f"rows--{'focused' if is_focused else emphasis}",) if emphasis else ()
        ground, parse_style = self.get_visual_style(*names), app_of(self).stylesheet.parse_style
        content = content.truncate(self.size.width, ellipsis=True, pad=True)
        styles = content.render(ground, end="", parse_style=parse_style)
        strip = Strip([Segment(text, style.rich_style) for text, style in styles])
        return self._mouse.highlight(strip, line, 0)

    # Cursor, keys and mouse

    def _post_highlighted(self) -> None:
        row = self.row_here
        if row != self._highlighted:
            self._highlighted = row
            self.refresh_bindings()  # what Enter does
            self.post_message(self.RowHighlighted(row))

    def post_highlighted_again(self) -> None:
        """Post what the cursor is on, even if that did not change."""
        self._highlighted = None
        self._post_highlighted()

    def cursor_moved(self) -> None:
        """Leave the end if the cursor left it, and post the row."""
        self._at_end = self._at_end and self.cursor == max(len(self.rows) - 1, 0)
        self._post_highlighted()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable Enter where there is nothing to open."""
        row = self.row_here
        if action == "choose" and row is not None and not row.action and row.origin is None:
            return None
        return super().check_action(action, parameters)

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
        if self.row(row).action or event.chain == 2:
            self.action_choose()

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

    def _character_under(self, offset: Offset) -> Span | None:
        number = min(max(self.scroll_offset.y + offset.y, 0), len(self.rows) - 1)
        if number < 0:
            return None
        text = self.row(number).text
        return character_at(text, column_at(text, offset.x), number)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines: list[str] = []
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else len(self.rows)
        for number in range(first, min(last + 1, len(self.rows))):
            if (span := selection.get_span(number)) is not None:
                start, end = span
                text = self.row(number).text
                lead = _LEAD.match(text)
                start = max(start, lead.end() if lead is not None else 0)
                lines.append(text[start : len(text) if end == -1 else end].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh_changed()


def _is_of(origin: Origin | None, wanted: Origin) -> bool:
    return origin is not None and origin.id == wanted.id and origin.kind is wanted.kind
