"""The two lines over the sessions: one begins a session, one narrows the list."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from tui_chat.ui.widgets.one_pass import OnePassWidget


class NewSession(OnePassWidget):
    """The row at the top that begins a session."""

    DEFAULT_CSS = """
    NewSession {
        height: 1;
        padding: 0 1;
        color: $text-primary;
        background: $panel;
        pointer: pointer;
        &:hover { background: $primary 30%; }
    }
    """

    class Pressed(Message):
        """It was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self._aside = ""

    def show(self, aside: str) -> None:
        """Say something at the right: how many sessions there are."""
        if aside != self._aside:
            self._aside = aside
            self.refresh()

    def render(self) -> Content:
        """Draw the row."""
        width = self.content_size.width
        words = "+ New session"
        gap = width - len(words) - cell_len(self._aside)
        if gap < 1:
            return Content.styled(words[: max(width, 1)], "bold")
        return Content.assemble((words, "bold"), " " * gap, (self._aside, "$foreground 72%"))

    def on_click(self) -> None:
        """Tell the list."""
        self.post_message(self.Pressed())


class Filter(Input):
    """What sessions must contain; Esc clears it and leaves."""

    DEFAULT_CSS = """
    Filter {
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 8%; }
        & .input--placeholder { color: $foreground 67%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Show all sessions again", show=False),
        Binding("down", "rows", "From the filter to the sessions", show=False),
        Binding("pagedown", "rows", "From the filter to the sessions", show=False),
    ]

    class Left(Message):
        """The rows are to be focused."""

    def action_leave(self) -> None:
        """Show all sessions again, and go to the rows."""
        self.value = ""
        self.action_rows()

    def action_rows(self) -> None:
        """Go to the rows."""
        self.post_message(self.Left())
