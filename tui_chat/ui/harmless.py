"""The last line of defence: what a terminal obeys does not reach it, wherever it came from.

Text of others is spelled out where it is drawn (`model.visible`), so that one can read what is in
it. Whatever was not, such as what was pasted into a field of a form, loses it here: none of it
takes a cell, so nothing moves.
"""

from __future__ import annotations

import re
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter
from textual.widgets import TextArea

from tui_chat.models.visible import masked
from tui_chat.ui.actions import UNDO_KEYS

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
"""Control characters, and those that turn the text of a line around."""


class Harmless(LineFilter):
    """Takes them out of what is about to be drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments, the same ones where there is nothing to take out."""
        del background
        if all(text.isprintable() or not _OBEYED.search(text) for text, _, _ in segments):
            return segments
        return [Segment(_OBEYED.sub("", text), style) for text, style, _ in segments]


class TextBox(TextArea):
    """An editor in a dialog; what its text has of them is seen, each in a cell of its own."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding(UNDO_KEYS, "undo", show=False)]

    def get_line(self, line_index: int) -> Text:
        """Draw a line."""
        line = super().get_line(line_index)
        harmless = masked(line.plain)
        return line if harmless == line.plain else Text(harmless, end="", no_wrap=True)
