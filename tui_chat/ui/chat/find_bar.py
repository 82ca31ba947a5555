"""The line that asks for words to find in the conversation, and says how many there are."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FindBar(Horizontal):
    """Words to find; hidden while nothing is being found."""

    DEFAULT_CSS = """
    FindBar {
        height: 1;
        padding: 0 1 0 2;
        background: $panel;
        display: none;

        & > .find--label { width: auto; color: $foreground 72%; }
        & > Input, & > Input:focus { width: 1fr; background: $panel; background-tint: $panel 0%; }
        & > .find--count { width: auto; color: $foreground 72%; }
        & > .find--count.-none { color: $text-warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", "Next hit", show=False),
        Binding("up", "step(-1)", "Previous hit", show=False),
        Binding("enter", "accept", "Go to the hits", show=False, priority=True),
        Binding("escape", "cancel", "Stop finding", show=False, priority=True),
    ]

    class Changed(Message):
        """Other words are to be found; none, where finding has ended."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class StepRequested(Message):
        """The next hit is to be shown, or the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Left(Message):
        """Keys are to go to the conversation."""

    def __init__(self) -> None:
        super().__init__()
        self._input = Input(placeholder="words in this conversation", compact=True)
        self._count = Static("", classes="find--count", markup=False)

    def compose(self) -> ComposeResult:
        """Put label, words and count beside each other."""
        yield Static("Find ", classes="find--label")
        yield self._input
        yield self._count

    def open(self) -> None:
        """Ask for words."""
        self.display = True
        self._input.select_all()
        self._input.focus()
        if self._input.value:
            self.post_message(self.Changed(self._input.value))

    def show(self, number: int, count: int, is_on: bool) -> None:
        """Say which hit is shown, of how many."""
        if not is_on and self.display and not self._input.has_focus:
            self.display = False
        none = is_on and not count
        keys = "  n N go on · Esc ends" if count and self.size.width > 60 else ""
        self._count.update(f"{number} of {count:,}{keys}" if count else "nothing" if none else "")
        self._count.set_class(none, "-none")

    @on(Input.Changed)
    def _words_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    def action_step(self, step: int) -> None:
        """Show another hit, and stay here."""
        self.post_message(self.StepRequested(step))

    def action_accept(self) -> None:
        """Leave the words and go where the hits are."""
        self.display = bool(self._input.value.strip())
        self.post_message(self.Left())

    def action_cancel(self) -> None:
        """End finding, and give the keys back to the conversation."""
        self.close()
        self.post_message(self.Left())

    def close(self) -> None:
        """Hide the bar and end finding. Does nothing while the bar is hidden."""
        if self.display:
            self.display = False
            self.post_message(self.Changed(""))
