"""Where one types: an editor that grows with its text and sends it on Enter."""

from __future__ import annotations

from typing import ClassVar, cast

from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.document._document import EditResult, Location
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets import TextArea

from tui_chat.model.text import clean
from tui_chat.model.visible import masked
from tui_chat.ui.chat.pastes import Pastes

PLACEHOLDER = "Message …   Enter sends · Ctrl+J new line"

# TextArea's own, less F6 and F7: function keys are the app's.
_EDITING = [
    binding
    for binding in TextArea.BINDINGS
    if not (isinstance(binding, Binding) and binding.key in ("f6", "f7", "up"))
]


class Composer(TextArea, inherit_bindings=False):
    """The draft's editor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--chip"}
    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 40%;
        padding: 0 1;
        background: $background;
        border: round $foreground 25%;
        scrollbar-size-vertical: 1;

        &:focus { border: round $primary; background: $background; }
        & .text-area--placeholder { color: $foreground 45%; }
        & .composer--chip { color: $text-primary; background: $primary 20%; text-style: bold; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", priority=False),
        Binding("ctrl+j,shift+enter,alt+enter", "new_line", "New line", show=False),
        Binding("escape", "stop", "Stop", show=False),
        Binding("up", "up", "Cursor up", show=False),
        *_EDITING,
    ]

    class Submitted(Message):
        """The text is to be sent. The composer keeps it until it is told otherwise."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class StopRequested(Message):
        """Esc was pressed."""

    class HistoryRequested(Message):
        """Another text is asked for: the previous (-1) one, from an empty composer."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Changed(TextArea.Changed):
        """The text is another."""

        @property
        def text(self) -> str:
            """All of it, large pastes included."""
            return self.text_area.text

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        self._pastes = Pastes()
        super().__init__(
            id=id,
            classes=classes,
            soft_wrap=True,
            tab_behavior="focus",
            placeholder=PLACEHOLDER,
            highlight_cursor_line=False,
        )

    @property
    def text(self) -> str:
        """The whole text, large pastes included."""
        return self._pastes.expand(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self._pastes.clear()
        self.load_text(self._pastes.hold(_tidy(value)))
        self.move_cursor(self.document.end)

    def insert_text(self, text: str) -> None:
        """Put text at the cursor, in place of what is selected, as a paste does."""
        made = self._pastes.hold(_tidy(text))
        if result := self._replace_via_keyboard(made, *self.selection):
            self.move_cursor(result.end_location)

    def clear_text(self) -> None:
        """Begin anew; undo does not bring a sent text back."""
        self._pastes.clear()
        self.load_text("")

    # Keys

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            # The editor would take it for a new line; the binding sends.
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text(event.text)

    def action_submit(self) -> None:
        """Ask for the text to be sent."""
        text = self.text
        if text.strip():
            self.post_message(self.Submitted(text))

    def action_new_line(self) -> None:
        """Begin a new line."""
        self._replace_via_keyboard("\n", *self.selection)

    def action_stop(self) -> None:
        """Ask for the reply to be stopped, or whatever Esc means now."""
        self.post_message(self.StopRequested())

    def action_up(self) -> None:
        """Move up; from an empty composer, ask for an earlier text."""
        if self.document.text:
            self.action_cursor_up()
        else:
            self.post_message(self.HistoryRequested(-1))

    def action_paste(self) -> None:
        """Paste what was last copied in this program."""
        self.insert_text(self._clipboard.clipboard)

    def action_copy(self) -> None:
        """Copy what is selected, large pastes included."""
        if self.selected_text:
            self._clipboard.copy_to_clipboard(self._pastes.expand(self.selected_text))
        else:
            super().action_copy()

    @property
    def _clipboard(self) -> App[object]:
        return cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]

    def action_cut(self) -> None:
        """Cut what is selected, large pastes included."""
        chosen = self._pastes.expand(self.selected_text)
        super().action_cut()
        if chosen:
            self._clipboard.copy_to_clipboard(chosen)

    # Chips

    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; an edit that touches a chip's inside takes all of it."""
        # "Delete the line" reaches for the line after the last one.
        top, bottom = (
            min(place, self.document.end)
            for place in sorted((edit.from_location, edit.to_location))
        )
        edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        wide_top = self._outside(top, start=True)
        wide_bottom = self._outside(bottom, start=False)
        if (wide_top, wide_bottom) != (top, bottom):
            if top == bottom:
                # Typing into a chip types after it.
                wide_top = wide_bottom
            edit = Edit(edit.text, wide_top, wide_bottom, maintain_selection_offset=False)
        return super().edit(edit)

    def _outside(self, location: Location, *, start: bool) -> Location:
        row, column = location
        for low, high in self._pastes.chips(self.document[row]):
            if low < column < high:
                return row, low if start else high
        return location

    def get_line(self, line_index: int) -> Text:
        """Draw a line: chips stand out, and nothing in it is obeyed by the terminal."""
        line = super().get_line(line_index)
        plain = line.plain
        if (harmless := masked(plain)) != plain:
            line = Text(harmless, end="", no_wrap=True)
        for low, high in self._pastes.chips(plain):
            line.stylize(self.get_component_rich_style("composer--chip"), low, high)
        return line


def _tidy(text: str) -> str:
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
