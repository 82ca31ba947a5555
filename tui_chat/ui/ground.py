"""What takes the size that a layout gives and has no more to ask; and what only holds other things.

On another width, Textual has each widget whose content got another size ask for a layout and be
drawn, though a layout gave it that size and the screen is being drawn: everything is laid out
and drawn twice. And each frame that holds panes is drawn row by row, though none of it is seen.
"""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


class Placed(Widget):
    """A widget that is where it is put; after `Vertical`, say, whose style it then has."""

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Take the size that a layout gives, without asking for another layout."""
        del layout
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def forgo_layout(self) -> None:
        """Ask for no layout after all: one is about to be made anyway."""
        self._layout_required = False

    def forgo_drawing(self) -> None:
        """Ask for no drawing after all: it was just drawn."""
        self._repaint_required = False


class Ground(Placed):
    """A frame without border and title: its rows are one colour, and others are drawn over them."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Give one row as often as it is wanted."""
        _, background = self.background_colors
        row = Strip.blank(crop.width, Style(bgcolor=background.rich_color))
        for each in self.get_line_filters():
            row = row.apply_filter(each, background)
        return [row] * crop.height
