"""The base of the editor's forms, which posts every change at once, and their text field."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
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

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "preset_editor.close_form", "List")]

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
