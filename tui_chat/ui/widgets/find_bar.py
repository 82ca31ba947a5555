"""The find bar: words to find in the conversation or the request, and the number of hits."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.safe_text import TextField


class FindBar(Horizontal):
    """Words to find; hidden while there is no search."""

    DEFAULT_CSS = """
    FindBar {
        height: 1;
        padding: 0 1 0 2;
        background: $panel;
        display: none;

        & > .find--label { width: auto; color: $label; }
        & > Input, & > Input:focus { width: 1fr; background: $panel; background-tint: $panel 0%; }
        & > .find--count { width: auto; color: $label; }
        & > .find--count.-none { color: $text-warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("down", "step(1)", "hits", "Next hit", shown=True),
        pane_key("up", "step(-1)", "hits", "Previous hit", shown=True),
        Binding("enter", "accept", "to the hits", tooltip="Go to the hits", priority=True),
        Binding("escape", "cancel", "close", tooltip="Stop finding", priority=True),
    ]

    @dataclass
    class WordsChanged(Message):
        """Find these words; an empty string ends the search."""

        words: str

    @dataclass
    class StepRequested(Message):
        """Go to the next hit (1) or the previous one (-1)."""

        step: int

    class Exited(Message):
        """The user left the bar for the hits, or ended the search."""

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self._input = TextField(placeholder=placeholder, compact=True)
        self._count = Static("", classes="find--count", markup=False)

    def compose(self) -> ComposeResult:
        yield Static("Find ", classes="find--label")
        yield self._input
        yield self._count

    def open(self, words: str = "") -> None:
        """Show the bar and focus the words; without words it has the last ones."""
        self.display = True
        if words:
            self._input.value = words
        self._input.select_all()
        self._input.focus()
        if self._input.value:
            self.post_message(self.WordsChanged(self._input.value))

    def show(self, number: int, count: int, is_on: bool) -> None:
        """Show the number of the current hit and the count of hits."""
        if not is_on and self.display and not self._input.has_focus:
            self.display = False
        is_missing = is_on and not count
        self._count.update(f"{number} of {count:,}" if count else "nothing" if is_missing else "")
        self._count.set_class(is_missing, "-none")

    @on(Input.Changed)
    def _words_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.WordsChanged(event.value))

    def on_click(self, event: events.Click) -> None:
        if event.widget is self._count:
            self.action_step(1)

    def action_step(self, step: int) -> None:
        self.post_message(self.StepRequested(step))

    def action_accept(self) -> None:
        """Go to the hits; the bar stays if it has words."""
        self.display = bool(self._input.value.strip())
        self.post_message(self.Exited())

    def action_cancel(self) -> None:
        self.close()
        self.post_message(self.Exited())

    def close(self) -> None:
        """Hide the bar and end the search; nothing happens if it is hidden."""
        if self.display:
            self.display = False
            self.post_message(self.WordsChanged(""))
