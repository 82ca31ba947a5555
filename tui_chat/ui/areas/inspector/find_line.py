"""The line to find words in the body, with the number of hits."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tui_chat.lazy_dataclass import dataclass


class FindLine(Horizontal):
    """An input for words; hits are highlighted while the user types."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "End finding", show=False),
        Binding("down", "step(1)", "Next hit", show=False),
        Binding("up", "step(-1)", "Previous hit", show=False),
    ]
    DEFAULT_CSS = """
    FindLine {
        height: 1;
        background: $panel;
        Input, Input:focus { height: 1; width: 1fr; border: none; padding: 0 1; }
        Input, Input:focus { background: $panel; }
        Static { width: auto; padding: 0 1; color: $foreground 72%; }
    }
    """

    @dataclass
    class Typed(Message):
        """The words to find changed."""

        words: str

    @dataclass
    class Stepped(Message):
        """The user wants another hit."""

        step: int

    @dataclass
    class FindClosed(Message):
        """The line was closed; `kept` if the hits stay highlighted."""

        kept: bool

    def compose(self) -> ComposeResult:
        yield Input(placeholder="Find in the body")
        yield Static("")

    def ask(self) -> None:
        """Take the focus."""
        self.query_one(Input).focus()

    def show_count(self, number: int, count: int) -> None:
        """Show which hit the cursor is on, and their count."""
        words = bool(self.query_one(Input).value)
        self.query_one(Static).update(f"{number:,} of {count:,}" if count else "none" * words)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.FindClosed(kept=bool(event.value)))

    def action_step(self, step: int) -> None:
        """Go to another hit while typing."""
        self.post_message(self.Stepped(step))

    def action_close(self) -> None:
        self.post_message(self.FindClosed(kept=False))

    def on_click(self, event: events.Click) -> None:
        if isinstance(event.widget, Static):
            self.post_message(self.Stepped(1))
