"""Text with `@click` that looks as it is styled: Textual underlines it."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget
from textual.widgets import TextArea


class PlainLinks(Widget):
    """A widget that does not style what can be clicked."""

    @property
    def link_style(self) -> Style:
        """The style that is put over what can be clicked: none."""
        return Style.null()


def is_text_edited(widget: Widget) -> bool:
    """Return True if a text is being edited: a click to read something leaves the focus there, so
    that what is typed next is text and not keys of another pane.
    """
    return isinstance(widget.screen.focused, TextArea)
