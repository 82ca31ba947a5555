"""What the editor's forms share: a base that posts every change at once, and their fields."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input


class EditForm(Vertical):
    """A form below or beside the list. It posts changes and makes none."""

    DEFAULT_CSS = """
    EditForm {
        display: none;
        height: 1fr;
        background: $background;
        border-top: solid $foreground 20%;
        & > Horizontal { height: 1; }
        .label { width: auto; color: $foreground 72%; padding: 0 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "List", show=True)]

    class FormClosed(Message):
        """Esc was pressed."""

    class FieldsChanged(Message):
        """The user changed fields of what is shown."""

        def __init__(self, form: EditForm, fields: dict[str, Any], key: str) -> None:
            super().__init__()
            self.form = form
            self.fields = fields
            self.key = key
            """The field being typed into, whose edits merge; empty for a choice."""

    def post_change(self, fields: dict[str, Any], key: str = "") -> None:
        """Post the new values of fields; `key` names a field being typed into."""
        self.post_message(self.FieldsChanged(self, fields, key))

    def action_leave(self) -> None:
        """Return to the list."""
        self.post_message(self.FormClosed())

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.focus_next()  # pyright: ignore[reportUnknownMemberType] Textual types it Screen[Unknown]


class FormField(Input):
    """A line of text in a form; with the class `-number`, a whole number."""

    DEFAULT_CSS = """
    FormField {
        height: 1;
        width: 1fr;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 9%; }
        &.-invalid, &.-invalid:focus { background: $error 30%; }
        &.-number { width: 8; }
    }
    """

    def fill(self, value: str) -> None:
        """Set the value, unless the text means the same or is an unfinished number."""
        same = self.value.strip() == value or (
            self.has_class("-number") and self.value in ("", "-") and self.has_focus
        )
        if not same:
            self.value = value
            self.remove_class("-invalid")


class ChoiceField(Widget, can_focus=True):
    """One of a few words: all of them side by side, or the chosen one between arrows if folded."""

    DEFAULT_CSS = """
    ChoiceField {
        height: 1;
        width: auto;
        color: $foreground 72%;
        &:focus { background: $primary 20%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "step(-1)", show=False),
        Binding("right,down,space", "step(1)", show=False),
    ]

    class ChoiceMade(Message):
        """The user chose another word."""

        def __init__(self, field: ChoiceField, value: str) -> None:
            super().__init__()
            self.field = field
            self.value = value

    def __init__(self, choices: tuple[tuple[str, str], ...], *, id: str, folded: bool = False):
        super().__init__(id=id)
        self._choices = choices
        self._folded = folded
        self.value = choices[0][0] if choices else ""
        """The value of the chosen word."""

    def offer(self, choices: tuple[tuple[str, str], ...], value: str) -> None:
        """Set the choices and the chosen one; posts nothing."""
        self._choices, self.value = choices, value
        self.refresh(layout=True)

    def choose(self, value: str) -> None:
        """Set the chosen one; posts nothing."""
        self.value = value
        self.refresh(layout=self._folded)

    def _pieces(self) -> list[tuple[str, str]]:
        """Return the texts drawn, each with the value that a click on it chooses."""
        if self._folded:
            label = dict(self._choices).get(self.value, self.value)
            return [("‹ ", "<"), (label, ">"), (" ›", ">")]
        return [(f" {label} ", value) for value, label in self._choices]

    def get_content_width(self, container: object, viewport: object) -> int:
        """Return the width of the words."""
        return sum(cell_len(text) for text, _ in self._pieces())

    def render(self) -> Content:
        """Draw the words, the chosen one highlighted."""
        if self._folded:
            (left, _), (label, _), (right, _) = self._pieces()
            return Content.assemble(left, (label, "bold $text-primary"), right)
        return Content.assemble(
            *(
                (text, "bold $text-primary on $primary 25%") if value == self.value else text
                for text, value in self._pieces()
            )
        )

    def action_step(self, by: int) -> None:
        """Choose the next word, round the end."""
        values = [value for value, _ in self._choices]
        if values:
            at = values.index(self.value) + by if self.value in values else 0
            self._take(values[at % len(values)])

    def on_click(self, event: events.Click) -> None:
        """Choose what was clicked."""
        at = 0
        for text, value in self._pieces():
            at += cell_len(text)
            if event.x < at:
                if self._folded:
                    self.action_step(-1 if value == "<" else 1)
                else:
                    self._take(value)
                return

    def _take(self, value: str) -> None:
        if value != self.value:
            self.choose(value)
            self.post_message(self.ChoiceMade(self, value))
