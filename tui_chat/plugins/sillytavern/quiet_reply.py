"""The answer to a quiet prompt, while it arrives and afterwards."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.widgets.safe_text import SafeTextArea


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
        Binding("i", "insert", show=False),
    ]

    def __init__(self, prompt: str, model: str) -> None:
        super().__init__()
        self._prompt = prompt
        self._model = model
        self.text = ""
        """The text that has arrived."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, f"Quiet prompt: {one_line(self._prompt, 60)}")
            about = (
                f"{one_line(self._model, 60)} answers. The chat stores neither prompt nor answer."
            )
            yield Static(about, classes="about", markup=False)
            yield SafeTextArea(read_only=True)
            yield Static("i insert into the draft · Esc close", classes="hint", markup=False)

    def on_mount(self) -> None:
        self.query_one(SafeTextArea).text = self.text  # what came before

    def show_text(self, text: str) -> None:
        """Show what has arrived."""
        self.text = text
        if self.is_mounted and self.is_attached:
            self.query_one(SafeTextArea).text = text

    def action_insert(self) -> None:
        if self.text:
            self.dismiss(self.text)
