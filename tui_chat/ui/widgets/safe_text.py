"""The last defense: control characters never reach the terminal, wherever they came from.

Text of others is spelled out where it is drawn (`models.sanitize`), so that the reader sees what
is in it. What was not, such as text pasted into a form field, loses its control characters here;
they take no cell, so nothing moves.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Offset
from textual.widgets import TextArea

from tui_chat.models.sanitize import sanitize
from tui_chat.ui.actions import UNDO_KEYS


class ControlCharacterFilter(LineFilter):
    """Removes control and bidi characters from segments that are about to be drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without them; the same list if there is nothing to remove."""
        if all(text.isprintable() for text, _, _ in segments):
            return segments
        safe = [Segment(sanitize(text, "removed"), style) for text, style, _ in segments]
        return segments if safe == segments else safe


class SafeTextArea(TextArea):
    """A text area that draws each hidden character of its text as a replacement character."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(UNDO_KEYS, "undo", show=False)]

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn; columns stay those of the text."""
        line = super().get_line(line_index)
        safe = sanitize(line.plain, "masked")
        return line if safe == line.plain else Text(safe, end="", no_wrap=True)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless it is behind the end of a text that an edit just shortened:
        TextArea may hide its scrollbar before it moves the cursor, and would raise ValueError.
        """
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)
