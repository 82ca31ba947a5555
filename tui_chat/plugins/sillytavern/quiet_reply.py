"""The answer to a quiet prompt, while it arrives and afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Static

from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.widgets.safe_text import SafeTextArea

DRAW_SECONDS = 0.1
"""Seconds between two drawings of an answer while it arrives."""


class QuietReply(Dialog[str | None]):
    """Shows the answer; the result is its text if the user wants it in the composer."""

    DEFAULT_CSS = """
    QuietReply > Vertical { width: 110; }
    QuietReply TextArea, QuietReply TextArea:focus {
        height: auto;
        min-height: 4;
        max-height: 60vh;
        padding: 0 1;
        border: none;
        background: $boost;
    }
    QuietReply .about { margin-bottom: 1; color: $label; }
    """
    AUTO_FOCUS = "TextArea"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", show=False),
        Binding("i", "insert", show=False),
    ]

    def __init__(self, prompt: str, model: str, copy: Callable[[str], object]) -> None:
        super().__init__()
        self._copy = copy
        self._prompt = prompt
        self._model = model
        self.text = ""
        """The text that has arrived."""
        self.is_arriving = True
        self._timer: Timer | None = None
        """Runs until the answer is drawn again."""
        self.stop: Callable[[], object] = lambda: None
        """Stops the request."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, f"Quiet prompt: {one_line(self._prompt, 60)}")
            about = (
                f"{one_line(self._model, 60)} answers. The chat stores neither prompt nor answer."
            )
            yield Static(about, classes="about", markup=False)
            yield SafeTextArea(self.text, read_only=True)
            yield Static(self._hint, classes="hint", markup=False)

    @property
    def _hint(self) -> str:
        keys = "Esc stop" if self.is_arriving else "Esc close"
        return f"y copy · i insert into the draft · {keys}" if self.text else keys

    def show_text(self, text: str) -> None:
        """Show what has arrived."""
        self.text = text
        if self._timer is None and self.is_running:
            self._timer = self.set_timer(DRAW_SECONDS, self._draw)

    def end(self) -> None:
        """Show that the answer has ended."""
        self.is_arriving = False
        self._draw()

    def _draw(self) -> None:
        self._timer = None
        if self.is_mounted and self.is_attached:
            area = self.query_one(SafeTextArea)
            if area.text != self.text:
                area.text = self.text
            self.query_one(".hint", Static).update(self._hint)

    def on_mount(self) -> None:
        self._draw()

    def action_leave(self) -> None:
        """Stop the answer, keeping what has arrived; close the dialog once it has ended."""
        if self.is_arriving and self.text:
            self.stop()
        else:
            self.dismiss(None)

    def action_copy(self) -> None:
        if self.text:
            self._copy(self.text)
            self.notify(f"Copied {len(self.text):,} characters.", markup=False)

    def action_insert(self) -> None:
        if self.text:
            self.dismiss(self.text)
