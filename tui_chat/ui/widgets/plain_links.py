"""Text with `@click` that looks as it is styled: Textual underlines it."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


class PlainLinks(Widget):
    """A widget that does not style what can be clicked."""

    @property
    def link_style(self) -> Style:
        """The style that is put over what can be clicked: none."""
        return Style.null()
