"""The line in which one types what is to be found in the body, and how often it is there."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FindLine(Horizontal):
    """Asks for words; the hits are marked while one types."""

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

    class Typed(Message):
        """These words are to be found."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Stepped(Message):
        """Another hit is to be shown."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Closed(Message):
        """Finding is over; `kept` if what was found stays marked."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def compose(self) -> ComposeResult:
        """Put the count beside what is typed."""
        yield Input(placeholder="Find in the body")
        yield Static("")

    def ask(self) -> None:
        """Take the focus."""
        self.query_one(Input).focus()

    def tell(self, number: int, count: int) -> None:
        """Say on which of how many hits the cursor is."""
        words = bool(self.query_one(Input).value)
        self.query_one(Static).update(f"{number:,} of {count:,}" if count else "none" * words)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Closed(kept=bool(event.value)))

    def action_step(self, step: int) -> None:
        """Show another hit while one types."""
        self.post_message(self.Stepped(step))

    def action_close(self) -> None:
        """Find nothing."""
        self.post_message(self.Closed(kept=False))

    def on_click(self, event: events.Click) -> None:
        """Show the next hit by a click on the count."""
        if isinstance(event.widget, Static):
            self.post_message(self.Stepped(1))
