"""Widgets and containers that are laid out and drawn once when the terminal is resized.

When a layout gives a widget another size, Textual has the widget ask for a layout and a repaint
of its own, although a layout has just placed it and the screen is about to be drawn: everything
is laid out and drawn twice. Textual also renders every container row by row, although its
children cover it. Both are measured in `tests/tools/benchmarks/stage.py`.
"""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


@lru_cache(maxsize=256)
def _blank_row(width: int, background: Color) -> Strip:
    """Return a row of one color; the same strip remembers how it was divided and filtered."""
    return Strip.blank(width, Style(bgcolor=background.rich_color))


class OnePassWidget(Widget):
    """A widget that accepts its size from the layout without requesting another layout.

    As a second base it goes behind the Textual class whose CSS applies: `Vertical, OnePassWidget`.
    """

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Textual calls this for each widget of a finished layout; `layout=True` would request the
        # next one. There is no public switch.
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def cancel_layout(self) -> None:
        """Withdraw a requested layout, because one is about to be made anyway."""
        self._layout_required = False  # the flag behind `refresh(layout=True)`; no public reset

    def cancel_repaint(self) -> None:
        """Withdraw a requested repaint, because the widget was just drawn."""
        self._repaint_required = False  # the flag behind `refresh()`; no public reset

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the widget's rows. Those of a container without a border are one color, and
        Textual would render each by itself. A transparent one has none: its children and the
        nearest colored ancestor draw all that can be seen. So one that lies over other widgets
        needs a background.
        """
        if not self.is_container or any(kind for kind, _ in self.styles.border):
            return super().render_lines(crop)
        if self.styles.background.is_transparent:
            return []
        _, background = self.background_colors
        row = _blank_row(crop.width, background)
        for line_filter in self.get_line_filters():
            row = row.apply_filter(line_filter, background)
        return [row] * crop.height
