"""Fields for text, in which a character is what people see as one, and the last defense: control
characters never reach the terminal, wherever they came from.

Text of others is spelled out where it is drawn (`models.sanitize`), so that the reader sees what
is in it. What was not, such as text pasted into a form field, loses its control characters here;
they take no cell, so nothing moves.
"""

from __future__ import annotations

from typing import ClassVar, cast

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.document._document import Document, EditResult, Location
from textual.filter import LineFilter
from textual.geometry import Offset
from textual.strip import Strip
from textual.widgets import Input, TextArea
from textual.widgets.input import Selection as InputSelection

from tui_chat.models.sanitize import sanitize
from tui_chat.ui.verbs import UNDO_KEYS
from tui_chat.ui.widgets.graphemes import (
    boundary_after,
    boundary_before,
    is_boundary,
    whole_graphemes,
)


class ControlCharacterFilter(LineFilter):
    """Removes control and bidi characters from segments that are about to be drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without them; the same list if there is nothing to remove."""
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        safe = [Segment(sanitize(text, "removed"), style) for text, style, _ in segments]
        return segments if safe == segments else safe


class TextField(Input):
    """A field of one line whose keys take a character as people see it."""

    def validate_selection(self, selection: InputSelection) -> InputSelection:
        """Keep the cursor out of the inside of a character."""
        text = self.value
        places = (
            place if is_boundary(text, place) else boundary_before(text, place)
            for place in super().validate_selection(selection)
        )
        return InputSelection(*places)

    def action_cursor_right(self, select: bool = False) -> None:
        """Move the cursor behind the next character."""
        start, end = self.selection
        target = boundary_after(self.value, end)
        if select:
            self.selection = InputSelection(start, target)
        elif self.selection.is_empty and not self.cursor_at_end:
            self.cursor_position = target
        else:
            super().action_cursor_right(select)

    def delete(self, start: int, end: int) -> None:
        """Delete a range, extended to whole characters."""
        start, end = sorted((max(start, 0), min(end, len(self.value))))
        super().delete(*whole_graphemes(self.value, start, end))


class SafeTextArea(TextArea):
    """A text area whose keys take a character as people see it; a hidden one is drawn as a
    replacement character.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding(UNDO_KEYS, "undo", show=False)]

    @property
    def indices(self) -> Document:
        """The document, which tells places from indices of characters."""
        return cast("Document", self.document)

    def clamp_visitable(self, location: Location) -> Location:
        """Keep the cursor out of the inside of a character."""
        row, column = super().clamp_visitable(location)
        line = self.document[row]
        return row, column if is_boundary(line, column) else boundary_before(line, column)

    def get_cursor_right_location(self) -> Location:
        """Return the place behind the next character."""
        row, column = self.cursor_location
        line = self.document[row]
        if column >= len(line):
            return super().get_cursor_right_location()
        return row, boundary_after(line, column)

    def _delete_via_keyboard(self, start: Location, end: Location) -> EditResult | None:
        """Delete a range, extended to whole characters: an accent goes with its word."""
        (top, first), (bottom, last) = sorted((start, end))
        first = whole_graphemes(self.document[top], first, first)[0]
        if bottom < self.document.line_count:  # deleting the last line ends behind the text
            last = whole_graphemes(self.document[bottom], last, last)[1]
        return super()._delete_via_keyboard((top, first), (bottom, last))

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn; columns stay those of the text."""
        line = super().get_line(line_index)
        safe = sanitize(line.plain, "masked")
        return line if safe == line.plain else Text(safe, end="", no_wrap=True)

    def render_line(self, y: int) -> Strip:
        """Draw a row; in no cells nothing, as TextArea cannot wrap its placeholder there."""
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless it is behind the end of a text that an edit just shortened:
        TextArea may hide its scrollbar before it moves the cursor, and would raise ValueError.
        """
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)
