"""What was merged, renamed, left out or is doubtful: a count, and the notes worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

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

from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks
from tui_chat.ui.inspector.text_fitting import counted, fitting
from tui_chat.ui.widgets.one_pass import OnePassContainer, OnePassWidget
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

SYMBOLS = {Level.ERROR: "✖", Level.WARNING: "▲", Level.INFO: "●"}
MOST = 200
"""Notes that are listed; the count tells of all."""

_COLOURS = {Level.ERROR: "$text-error", Level.WARNING: "$text-warning", Level.INFO: "$text-accent"}


class NotesList(Vertical, OnePassContainer):
    """A line that counts, and below it the notes where one of them is worth reading."""

    DEFAULT_CSS = """
    NotesList {
        height: auto;
        background: $surface;
    }
    """

    expanded: reactive[bool] = reactive(False)
    """Whether the notes themselves are shown."""

    class Chosen(Message):
        """The user wants to see what a note is about."""

        def __init__(self, note: Note) -> None:
            super().__init__()
            self.note = note

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._header = NotesHeader()
        self._rows = NoteRows()
        self._wanted: bool | None = None
        """What the user said about `expanded`; None: it depends on the notes."""
        self._room = True

    def compose(self) -> ComposeResult:
        """Count above, list below."""
        yield self._header
        yield self._rows

    def show(self, notes: Sequence[Note]) -> None:
        """Show notes, worst first."""
        self._header.notes = tuple(notes)
        self._rows.show(notes[:MOST])
        self._settle()

    @property
    def current(self) -> Note | None:
        """The note under the cursor."""
        return self._rows.current

    def make_room(self, room: bool) -> None:
        """Take whether there is room for more than the count."""
        self._room = room
        self._settle()

    def toggle(self) -> bool:
        """Open or close the list, on the user's word; whether there is one."""
        if not self._header.notes:
            return False
        self._wanted = not self.expanded
        self._settle()
        if self.expanded:
            self._rows.focus()
        return True

    def _settle(self) -> None:
        notes = self._header.notes
        serious = any(note.level is not Level.INFO for note in notes)
        wanted = (serious and self._room) if self._wanted is None else self._wanted
        self.expanded = bool(notes) and wanted
        self._header.expanded = self.expanded
        self._rows.display = self.expanded

    def on_notes_header_pressed(self, event: NotesHeader.Pressed) -> None:
        """Open or close the list."""
        event.stop()
        self.toggle()


def _told(note: Note) -> str:
    """Return a note's sentence, and what it is about where the sentence does not say."""
    about = note.origin
    if about is None or about.kind in (OriginKind.GLUE, OriginKind.SETTING):
        return note.sentence
    called = about.name or about.id
    return note.sentence if called in note.sentence else f"{note.sentence} ({about.label})"


class NotesHeader(OnePassWidget):
    """The count, by level."""

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

    class Pressed(Message):
        """The user clicked it."""

    def render(self) -> Content:
        """Draw the count."""
        if not self.notes:
            told = "✓ nothing changed or left out"
            told = told if self.size.width >= len(told) else "✓ no notes"
            return Content.styled(told, "$foreground 72%")
        numbers = Counter(note.level for note in self.notes)
        fold = "▾ " if self.expanded else "▸ "
        words = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
        parts: list[tuple[str, str]] = [(fold, "$foreground 72%")]
        for level, word in words.items():
            if numbers[level]:
                parts.append(
                    (f"{SYMBOLS[level]} {counted(numbers[level], word)}  ", _COLOURS[level])
                )
        if len(self.notes) > MOST:
            parts.append((fitting([f"the first {MOST} below"], 30), "$foreground 72%"))
        return Content.assemble(*parts)

    def on_click(self) -> None:
        """Say so."""
        self.post_message(self.Pressed())


class NoteRows(ThinScrollView, can_focus=True, inherit_bindings=False):
    """The notes, wrapped, one of them under the cursor."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"notes--{level}" for level in Level),
        "notes--cursor",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("home,g", "move(-1000)", "First", show=False),
        Binding("end,G", "move(1000)", "Last", show=False),
        Binding("enter", "choose", "Show place"),
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
    }
    """

    def __init__(self) -> None:
        super().__init__(classes="-raised")
        self._notes: tuple[Note, ...] = ()
        self._rows: list[tuple[int, bool, str]] = []
        """For each row: which note, whether it is its first row, its text."""
        self._cursor = 0
        self._laid_for = 0

    def show(self, notes: Sequence[Note]) -> None:
        """Show notes; the cursor stays on its note where it is still there."""
        if tuple(notes) == self._notes:
            return
        before = self._notes[self._cursor] if self._cursor < len(self._notes) else None
        self._notes = tuple(notes)
        self._cursor = self._notes.index(before) if before in self._notes else 0
        self._lay_out()

    @property
    def current(self) -> Note | None:
        """The note under the cursor."""
        return self._notes[self._cursor] if self._cursor < len(self._notes) else None

    def _lay_out(self) -> None:
        self._wrap(self.scrollable_content_region.width)
        self.virtual_size = Size(self._laid_for, len(self._rows))
        self.refresh(layout=True)

    def _wrap(self, width: int) -> None:
        self._laid_for = width
        room = max(self._laid_for - 2, LEAST)
        self._rows = []
        for number, note in enumerate(self._notes):
            text = shown(_told(note))
            cuts = [0, *breaks(text, room, room), len(text)]
            for row, (start, end) in enumerate(pairwise(cuts)):
                self._rows.append((number, row == 0, text[start:end]))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the notes take at a width."""
        width -= self.scrollbar_gutter.width
        if width != self._laid_for:
            self._wrap(width)
        return len(self._rows)

    def on_resize(self) -> None:
        """Wrap again where the width changed."""
        if (
            self.scrollable_content_region.width != self._laid_for
            or self.virtual_size.height != len(self._rows)
        ):
            self._lay_out()

    def render_line(self, y: int) -> Strip:
        """Draw one visible row."""
        width = self.size.width
        row = self.scroll_offset.y + y
        if row >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        number, first, text = self._rows[row]
        level = self._notes[number].level
        style = self.rich_style
        if number == self._cursor and self.has_focus:
            style += self.get_component_rich_style("notes--cursor", partial=True)
        sign = style + self.get_component_rich_style(f"notes--{level}", partial=True)
        symbol = f"{SYMBOLS[level]} " if first else "  "
        used = cell_len(symbol + text)
        return Strip(
            [Segment(symbol, sign), Segment(text, style), Segment(" " * (width - used), style)],
            width,
        )

    def on_click(self, event: events.Click) -> None:
        """Choose the note under the mouse."""
        offset = event.get_content_offset(self)
        row = self.scroll_offset.y + offset.y if offset is not None else len(self._rows)
        if row < len(self._rows):
            self._cursor = self._rows[row][0]
            self.action_choose()

    def action_move(self, step: int) -> None:
        """Move the cursor by notes."""
        self._cursor = max(0, min(self._cursor + step, len(self._notes) - 1))
        mine = [row for row, (number, _, _) in enumerate(self._rows) if number == self._cursor]
        top, height = self.scroll_offset.y, self.size.height
        if mine and mine[0] < top:
            self.scroll_to(y=mine[0], animate=False)
        elif mine and mine[-1] >= top + height:
            self.scroll_to(y=mine[-1] - height + 1, animate=False)
        self.refresh()

    def action_choose(self) -> None:
        """Say which note the user wants to see."""
        self.refresh()
        if (note := self.current) is not None:
            self.post_message(NotesList.Chosen(note))
