"""A question that is answered with some lines of text: an edited message, a tool's answer."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static, TextArea

from tui_chat.ui.dialogs import Dialog, entitle
from tui_chat.ui.widgets.safe_text import SafeTextArea


class Written(NamedTuple):
    """What was written, and what is to be done with it."""

    text: str
    send: bool
    """Whether the conversation is to go on with it at once."""


class Write(Dialog[Written | None]):
    """Asks for a text of several lines; Enter goes on with it, Esc leaves all as it was."""

    DEFAULT_CSS = """
    Write > Vertical { width: 110; }
    Write TextArea, Write TextArea:focus {
        height: auto;
        min-height: 4;
        max-height: 40vh;
        padding: 0 1;
        border: none;
        background: $boost;
    }
    Write VerticalScroll { max-height: 25vh; margin-bottom: 1; }
    """
    AUTO_FOCUS = "TextArea"  # from the first: what is typed ahead goes where the focus comes
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer(True)", show=False, priority=True),
        Binding("ctrl+s", "answer(False)", show=False, priority=True),
        Binding("ctrl+j,shift+enter", "new_line", show=False, priority=True),
    ]

    def __init__(self, title: str, text: str, *, about: str = "", sends: bool = False) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._about = about
        self._sends = sends

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        enter = "Enter sends it · Ctrl+S only keeps it" if self._sends else "Enter keeps it"
        with Vertical() as box:
            entitle(box, self._title)
            if self._about:
                with VerticalScroll():
                    yield Static(self._about, markup=False)
            yield SafeTextArea(self._text)
            yield Static(f"{enter} · Ctrl+J new line · Esc leaves all as it was", classes="hint")

    def on_mount(self) -> None:
        """Put the cursor where one goes on writing."""
        editor = self.query_one(TextArea)
        editor.move_cursor(editor.document.end)

    def action_new_line(self) -> None:
        """Begin a new line."""
        self.query_one(TextArea).insert("\n")

    def action_answer(self, send: bool) -> None:
        """Answer with what is written, if anything is."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(Written(text, send and self._sends))
