"""The foot of the inspector: a line with the number of notes by level, the worst one, the cache
forecast and the key for details; and, when it is opened, the notes below it, worst first.

Notes with the same sentence are one row with their number. Enter unfolds it: a row for each place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note
from tui_chat.models.request_edit import EDITED, NOT_APPLIED
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks, counted, cut, fitting
from tui_chat.ui.inspector.summary import compares, forecast_figures, forecast_style
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.row_list import RowList

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast

SYMBOLS = {Level.ERROR: "✖", Level.WARNING: "▲", Level.INFO: "●"}
SHORT = 40
"""Characters of an error that the header is wide enough for."""
OF_EDITS = (EDITED, NOT_APPLIED)
"""The codes of notes about edits by hand."""
MOST = 200
"""Most rows listed, and most places of a row; the count is of all."""

_COLORS = {Level.ERROR: "$text-error", Level.WARNING: "$text-warning", Level.INFO: "$text-accent"}


class NotesList(Vertical):
    """The line, and below it the notes if the user opened them."""

    DEFAULT_CSS = """
    NotesList {
        height: auto;
        background: $surface;
    }
    """

    expanded: reactive[bool] = reactive(False)
    """True if the notes themselves are shown."""

    @dataclass
    class NoteSelected(Message):
        """The user wants to see the place of a note, or the list of edits by hand."""

        note: Note

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.header = NotesHeader()
        self._rows = NoteRows()
        self._is_opened: bool | None = None
        """True or False as the user chose; None to open it for an error that the header cuts."""

    def compose(self) -> ComposeResult:
        yield self.header
        yield self._rows

    def show(self, notes: Sequence[Note], *, is_exact: bool = True) -> None:
        """Show notes, worst first; `is_exact` is False for a body that is not all that was sent."""
        self._rows.show(notes)
        self.header.is_cut, self.header.is_exact = self._rows.is_cut, is_exact
        self.header.notes = tuple(notes)
        self._settle()

    @property
    def current(self) -> Note | None:
        """The note under the cursor."""
        return self._rows.current

    def toggle(self) -> bool:
        """Open or close the list for the user; return False if there are no notes."""
        if not self.header.notes:
            return False
        self._is_opened = not self.expanded
        self._settle()
        if self.expanded:
            self._rows.focus()
        return True

    def _settle(self) -> None:
        notes = self.header.notes
        is_opened = self._is_opened
        if is_opened is None:
            is_opened = any(n.level is Level.ERROR and len(n.sentence) > SHORT for n in notes)
        self.expanded = bool(notes) and is_opened
        self.header.expanded = self.expanded
        self._rows.display = self.expanded


_Key: TypeAlias = tuple[Level, str, str]


@dataclass(frozen=True, slots=True)
class _NoteRow:
    """A note, several equal ones, or the place of one of them."""

    note: Note
    """The first of several."""
    text: str
    group: _Key | None = None
    """The common key of the equal notes that this row stands for."""
    is_place: bool = False


def _key(note: Note) -> _Key:
    """Return what equal notes have in common; those of edits by hand are one row."""
    return note.level, note.code, "" if note.code == EDITED else note.sentence


def _grouped(notes: Sequence[Note]) -> list[list[Note]]:
    """Return lists of equal notes, in the order of the first of each."""
    groups: dict[_Key, list[Note]] = {}
    for note in notes:
        groups.setdefault(_key(note), []).append(note)
    return list(groups.values())


def _place(note: Note) -> str:
    """Return where one of several equal notes applies."""
    label = note.origin.label if note.origin is not None else ""
    return " · ".join(filter(None, (label, note.place))) or note.sentence


def _sentence(note: Note) -> str:
    """Return the sentence of a note, with its origin if the sentence does not name it."""
    about = note.origin
    if about is None or about.kind in (OriginKind.GLUE, OriginKind.SETTING):
        return note.sentence
    called = about.name or about.id
    return note.sentence if called in note.sentence else f"{note.sentence} ({about.label})"


def _width(parts: Sequence[tuple[str, str]]) -> int:
    """Return the cells of texts with styles."""
    return sum(cell_len(text) for text, _ in parts)


_DETAILS = "i"
"""The key that shows the details of the inspector."""


class NotesHeader(Widget):
    """The number of notes by level and the worst one; the forecast; the key for details."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    NotesHeader {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    notes: reactive[tuple[Note, ...]] = reactive[tuple[Note, ...]](())
    expanded: reactive[bool] = reactive(False)
    is_cut: reactive[bool] = reactive(False)
    """True if not all rows are listed."""
    is_exact: reactive[bool] = reactive(True)
    """False for a body that is not all that was sent."""
    forecast: reactive[Forecast | None] = reactive["Forecast | None"](None)
    """The cache forecast; None for none."""
    are_details_open: reactive[bool] = reactive(False)
    """True if the inspector shows its details, the forecast among them."""

    @dataclass
    class Clicked(Message):
        """The user wants an action of the inspector."""

        action: str

    def render(self) -> Content:
        width = self.size.width
        notes = self._counts()
        left = _width(notes)
        forecast, key = self._right(width - left)
        right = _width(forecast) + _width(key)
        room = width - left - right - 1
        if self.notes and not self.expanded and room >= LEAST:
            notes.append((cut(_sentence(self.notes[0]), room), "$foreground 72%"))
            left = _width(notes)
        gap = [(" " * (width - left - right), "")] if right and width > left + right else []
        return Content.assemble(*notes, *gap, *forecast, *key)

    def _counts(self) -> list[tuple[str, str]]:
        """Return the number of notes by level, with styles."""
        if not self.notes:
            text = "✓ nothing changed or left out"
            text = text if self.is_exact and self.size.width >= len(text) else "✓ no notes"
            if self.forecast is not None and self.size.width < len(text) + 33:
                text = "✓ no notes"
            return [(text, "$foreground 72%")]
        numbers = Counter(note.level for note in self.notes)
        fold = "▾ " if self.expanded else "▸ "
        words = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
        parts: list[tuple[str, str]] = [(fold, "$foreground 72%")]
        for level, word in words.items():
            if numbers[level]:
                parts.append(
                    (f"{SYMBOLS[level]} {counted(numbers[level], word)}  ", _COLORS[level])
                )
        if self.is_cut and self.expanded:
            parts.append((fitting([f"the first {MOST} below"], 30), "$foreground 72%"))
        return parts

    def _right(self, room: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the forecast and the key for details, as far as they fit beside the notes.

        The words beside the key give way to a forecast that fits only without them; the key does
        not.
        """
        words = " less" if self.are_details_open else " more"
        gap, letter = ("  ", ""), (_DETAILS, "$text-accent")
        keys = [[gap, letter, (words, "$foreground 72%")], [gap, letter]]
        keys = [key for key in keys if _width(key) <= room]
        if not self.are_details_open and self.forecast and compares(self.forecast):
            for key in keys:
                figures = forecast_figures(self.forecast, room - _width(key) - len(gap[0]))
                if figures:
                    return [gap, (figures, forecast_style(self.forecast))], key
        return [], keys[0] if keys else []

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        width = self.size.width
        left = _width(self._counts())
        forecast, key = self._right(width - left)
        from_right = width - offset.x if offset is not None else width
        key_width = _width(key)
        action = "notes"
        if from_right <= key_width:
            action = "details"
        elif from_right <= key_width + _width(forecast):
            action = "difference"
        self.post_message(self.Clicked(action))


class NoteRows(RowList):
    """The notes, wrapped; one of them is under the cursor."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"notes--{level}" for level in Level),
        "notes--cursor",
        "notes--hover",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("up,k", "move(-1)", "↑↓", "Up"),
        pane_key("down,j", "move(1)", "↑↓", "Down"),
        pane_key("home,g", "first", "↑↓", "First"),
        pane_key("end,G", "last", "↑↓", "Last"),
        Binding("enter", "choose", "Show place, or unfold", tooltip="Show place, or unfold"),
    ]
    DEFAULT_CSS = """
    NoteRows {
        height: auto;
        max-height: 6;
        padding: 0 0 0 1;
        scrollbar-gutter: stable;
        & > .notes--error { color: $text-error; }
        & > .notes--warning { color: $text-warning; }
        & > .notes--info { color: $text-accent; }
        & > .notes--cursor { background: $panel; }
        & > .notes--hover { background: $foreground 5%; }
    }
    """

    def __init__(self) -> None:
        super().__init__("notes", classes="-raised")
        self._notes: tuple[Note, ...] = ()
        self._groups: list[list[Note]] = []
        self._unfolded: set[_Key] = set()
        self._rows: list[_NoteRow] = []
        self._lines: list[tuple[int, str]] = []
        """For each line the number of its row, and its text."""
        self._starts: list[int] = []
        """The first line of each row."""
        self._wrapped_for = 0

    @property
    def current(self) -> Note | None:
        """The note under the cursor."""
        return self._rows[self.cursor].note if self.cursor < len(self._rows) else None

    @property
    def is_cut(self) -> bool:
        """True if there are more different notes than are listed."""
        return len(self._groups) > MOST

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def lines_of(self, row: int) -> tuple[int, int]:
        ends = (*self._starts[1:], len(self._lines))
        return self._starts[row], ends[row] - self._starts[row]

    def row_at(self, line: int) -> int:
        return self._lines[line][0] if 0 <= line < len(self._lines) else -1

    def show(self, notes: Sequence[Note]) -> None:
        """Show notes; the cursor stays on its note if that is still there."""
        if tuple(notes) == self._notes:
            return
        before = self._rows[self.cursor] if self.cursor < len(self._rows) else None
        self._notes = tuple(notes)
        self._groups = _grouped(notes)
        self._set_rows(before)

    def _set_rows(self, before: _NoteRow | None) -> None:
        """Make the rows; the cursor stays on its row, or its note, if that is still there."""
        self._rows = [row for group in self._groups[:MOST] for row in self._rows_of(group)]
        self.cursor = 0
        if before in self._rows:
            self.cursor = self._rows.index(before)
        elif before is not None:
            numbers = (n for n, row in enumerate(self._rows) if _key(row.note) == _key(before.note))
            self.cursor = next(numbers, 0)
        self._lay_out()

    def _rows_of(self, group: Sequence[Note]) -> Iterator[_NoteRow]:
        first = group[0]
        if first.code == EDITED:
            yield _NoteRow(first, f"▸ {counted(len(group), 'edit')} by hand", _key(first))
            return
        if len(group) == 1:
            yield _NoteRow(first, _sentence(first))
            return
        key = _key(first)
        fold = "▾" if key in self._unfolded else "▸"
        yield _NoteRow(first, f"{fold} {len(group):,} × {first.sentence}", key)
        if key in self._unfolded:
            for note in group[:MOST]:
                yield _NoteRow(note, _place(note), is_place=True)
            if (more := len(group) - MOST) > 0:
                yield _NoteRow(group[MOST], f"… {more:,} more", is_place=True)

    def _lay_out(self) -> None:
        self._wrap(self.scrollable_content_region.width)
        self.update_extent()
        self.refresh(layout=True)

    def _wrap(self, width: int) -> None:
        self._wrapped_for = width
        room = max(width - 2, LEAST)
        self._lines, self._starts = [], []
        for number, row in enumerate(self._rows):
            text = sanitize(row.text, "exact")
            cuts = [0, *breaks(text, room, room), len(text)]
            self._starts.append(len(self._lines))
            self._lines += [(number, text[start:end]) for start, end in pairwise(cuts)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        width -= self.scrollbar_gutter.width
        if width != self._wrapped_for:
            self._wrap(width)
        return len(self._lines)

    def resized(self) -> None:
        width = self.scrollable_content_region.width
        if width != self._wrapped_for or self.virtual_size.height != len(self._lines):
            self._lay_out()

    def draw_line(self, line: int, width: int) -> Strip:
        """Render a line of a row; the first one begins with the symbol of its level."""
        width = self.size.width
        if line >= len(self._lines):
            return Strip.blank(width, self.palette())
        number, text = self._lines[line]
        emphasis = self.emphasis(number)
        if emphasis == "cursor" and not self.has_focus:
            emphasis = ""
        style = self.palette(emphasis)
        row = self._rows[number]
        is_marked = line == self._starts[number] and not row.is_place
        symbol = f"{SYMBOLS[row.note.level]} " if is_marked else "  "
        segments = [Segment(symbol, self.palette(emphasis, row.note.level)), Segment(text, style)]
        return Strip(segments).adjust_cell_length(width, style)

    def row_clicked(self, row: int, event: events.Click) -> None:
        super().row_clicked(row, event)
        self.action_choose()

    def action_choose(self) -> None:
        """Request the place of the note under the cursor; fold or unfold the row of equal ones."""
        if self.cursor >= len(self._rows):
            return
        row = self._rows[self.cursor]
        if row.group is None or row.note.code in OF_EDITS:
            self.post_message(NotesList.NoteSelected(row.note))
            return
        self._unfolded ^= {row.group}
        row_number = self.cursor
        self._set_rows(row)
        self.set_cursor(row_number)
