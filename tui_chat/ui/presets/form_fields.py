"""The base of the editor's forms: labeled fields, each posted at once when it changes."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.widgets.choice_field import ChoiceField
from tui_chat.ui.widgets.safe_text import TextField


class FormField(TextField):
    """A line of text in a form; with the class `-number`, a whole number."""

    DEFAULT_CSS = """
    FormField {
        height: 1;
        width: 1fr;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $primary 20%; }
        &.-invalid, &.-invalid:focus { border: none; background: $error 30%; }
        &.-number { width: 6; }
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
            if not self.has_focus:
                self.cursor_position = len(value)


class FormRow(Horizontal):
    """A labeled field: a line of text, a whole number, or one of several values."""

    DEFAULT_CSS = """
    FormRow {
        height: 1;
        .label { width: 11; color: $foreground 72%; }
        .hint { width: 1fr; padding-left: 1; color: $foreground 72%; }
        ChoiceField { width: 1fr; }
    }
    """

    def __init__(
        self,
        key: str,
        label: str,
        choices: tuple[tuple[str, str], ...] | None = None,
        *,
        is_number: bool = False,
        hint: str = "",
    ) -> None:
        """`choices` are values with their labels, None for a text; a `hint` follows the field."""
        super().__init__(id=f"row-{key}")
        self.key = key
        self._words = label
        self._hint = hint
        self._label = Static(f"  {label}", classes="label", markup=False)
        id, classes = f"form-{key}", "-number" if is_number else ""
        self.field: FormField | ChoiceField = (
            FormField(id=id, classes=classes, select_on_focus=False)
            if choices is None
            else ChoiceField(choices, id=id, folded=True)
        )

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.field
        if self._hint:
            yield Static(self._hint, classes="hint")

    @property
    def value(self) -> str:
        """The text or the chosen value."""
        return self.field.value

    def show(self, value: str, *, is_changed: bool) -> None:
        """Show a value; text being typed is left alone. A changed one is marked."""
        self._label.update(f"{'●' if is_changed else ' '} {self._words}")
        match self.field:
            case FormField() as field:
                field.fill(value)
            case field:
                field.choose(value)


class EditForm(Vertical):
    """A form below or beside the list. It posts changes and makes none."""

    DEFAULT_CSS = """
    EditForm {
        display: none;
        height: 1fr;
        background: $background;
        border-top: solid $foreground 20%;
        border-title-color: $text-primary;
        border-title-style: bold;
        .fault { height: auto; max-height: 2; color: $text-error; padding: 0 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "preset_editor.close_form", "List", tooltip="Back to the list"),
    ]

    @dataclass
    class FieldsChanged(Message):
        """The user changed fields of what is shown."""

        form: EditForm
        fields: dict[str, Any]
        key: str
        """The field being typed into, whose edits merge; empty for a choice."""
        shown: Any
        """The value that the form showed."""

    def __init__(self, *rows: FormRow) -> None:
        super().__init__()
        self.rows = {row.key: row for row in rows}
        self.shown: Any = None
        """The value whose fields are shown; None for none."""

    def post_change(self, fields: dict[str, Any], key: str = "") -> None:
        """Post the new values of fields; `key` names a field being typed into."""
        self.post_message(self.FieldsChanged(self, fields, key, self.shown))

    def field_changed(self, row: FormRow, key: str) -> None:
        """Take the value of a row; `key` is its name if it is being typed, else empty."""
        raise NotImplementedError

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if (row := self._row_of(event.input)) is not None:
            self.field_changed(row, row.key)

    @on(ChoiceField.ChoiceMade)
    def _chosen(self, event: ChoiceField.ChoiceMade) -> None:
        event.stop()
        if (row := self._row_of(event.field)) is not None:
            self.field_changed(row, "")

    def _row_of(self, field: Widget) -> FormRow | None:
        return next((row for row in self.rows.values() if row.field is field), None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.focus_next()  # pyright: ignore[reportUnknownMemberType] Textual types it Screen[Unknown]
