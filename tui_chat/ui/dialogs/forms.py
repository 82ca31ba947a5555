"""Dialogs with fields."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, Static, TextArea

from tui_chat.errors import ChangedElsewhere, InputError
from tui_chat.models.sanitize import sanitize
from tui_chat.ui.dialogs.base import Dialog, DialogBox, T, set_title
from tui_chat.ui.widgets.form_fields import CheckField, ChoiceSelect
from tui_chat.ui.widgets.safe_text import SafeTextArea, TextField

if TYPE_CHECKING:
    from tui_chat.library.typed_fields import Field, FieldRows, Values


class Form(Dialog[T]):
    """A dialog with fields; Ctrl+S saves."""

    DEFAULT_CSS = """
    Form {
        & > Vertical { width: 84; height: 90%; }
        #fields { height: 1fr; max-height: 100%; }
        .label { color: $label; margin-top: 1; }
        .label.-first { margin-top: 0; }
        Input, Input:focus {
            margin: 0; border: none; height: 1; padding: 0 1; background: $panel;
        }
        TextArea, TextArea:focus {
            height: 1fr; min-height: 4; border: none; padding: 0 1; background: $panel;
        }
        Input:focus, TextArea:focus { background: $primary 20%; }
        CheckField { margin-top: 1; }
        .pair, .parts { height: auto; }
        .parts Button { margin-right: 2; }
        .pair Vertical { height: auto; width: 1fr; margin-right: 1; }
        #fault { color: $text-error; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", show=False, priority=True)
    ]
    hint: ClassVar[str] = "Ctrl+S save · Esc cancel · Tab next field"
    """The keys, in the last line."""
    save_label: ClassVar[str] = "Save"
    """The button that answers with the fields' values."""

    def on_mount(self) -> None:
        """Show the first field with its label, above which the focus would scroll."""
        for fields in self.query("#fields"):
            self.call_after_refresh(fields.scroll_home, animate=False)

    def buttons(self) -> ComposeResult:
        """Lay out the fault line, the buttons and the hint."""
        yield Static(id="fault")
        with Horizontal(classes="buttons"):
            yield from self.more_buttons()
            yield Button("Cancel", id="cancel", compact=True)
            yield Button(self.save_label, id="save", variant="primary", compact=True)
        yield Static(self.hint, classes="hint")

    def more_buttons(self) -> ComposeResult:
        """Lay out buttons beside Save and Cancel."""
        yield from ()

    def action_save(self) -> None:
        raise NotImplementedError

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "save":
            self.action_save()
        elif event.button.id == "cancel":
            self.action_leave()

    def show_fault(self, words: str, field: str) -> None:
        """Show what is wrong with a field, and focus it."""
        self.query_one("#fault", Static).update(Text(words))
        self.query_one(f"#{field}").focus()


class FieldsForm(Form[bool | None]):
    """Edits the fields of a value. The result is True after they were kept."""

    DEFAULT_CSS = """
    FieldsForm {
        & > Vertical { width: 104; height: auto; }
        .pair { margin-top: 1; }
        .pair.-first { margin-top: 0; }
        .pair .label { margin-top: 0; }
        .pair CheckField { margin-top: 0; }
        TextArea, TextArea:focus { height: 4; }
        TextArea.-text, TextArea.-text:focus { height: 9; }
        #fault { max-height: 3; }
    }
    """

    def __init__(
        self,
        title: str,
        rows: FieldRows,
        values: Values,
        keep: Callable[[Values, bool], Awaitable[object]],
    ) -> None:
        """`keep` is called with what the fields show, and whether the user saves again after a
        ChangedElsewhere. An InputError that it raises is shown, a FieldError at its field.
        """
        super().__init__()
        self._title = title
        self._rows = rows
        self._shown = values
        self._keep = keep
        self._overwrites = False

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, self._title)
            with VerticalScroll(id="fields", can_focus=False):
                yield from self.fields_above()
                for number, row in enumerate(self._rows):
                    with Horizontal(classes="pair -first" if number == 0 else "pair"):
                        for field in row:
                            with Vertical():
                                yield from self._field(field)
                yield from self.fields_below()
            yield from self.buttons()

    def fields_above(self) -> ComposeResult:
        """Lay out what stands above the fields."""
        yield from ()

    def fields_below(self) -> ComposeResult:
        """Lay out what stands below the fields."""
        yield from ()

    def _field(self, field: Field) -> ComposeResult:
        value = self._shown[field.name]
        if isinstance(value, bool):
            yield CheckField(field.label, value, id=field.name)
            return
        yield Static(field.label, classes="label", markup=False)
        match field.kind:
            case "text" | "lines":
                classes = "-text" if field.kind == "text" else ""
                yield SafeTextArea(value, id=field.name, classes=classes, tab_behavior="focus")
            case "choice":
                choices = [(label, word) for word, label in field.choices]
                yield ChoiceSelect(choices, id=field.name, value=value)
            case _:
                yield TextField(sanitize(value), id=field.name)

    @property
    def values(self) -> Values:
        """The values that the fields show."""
        return {field.name: self._value(field) for row in self._rows for field in row}

    def _value(self, field: Field) -> str | bool:
        match self.query_one(f"#{field.name}"):
            case CheckField(value=value):
                return value
            case ChoiceSelect(value=value):
                return str(value)
            case TextArea(text=text):
                return text
            case Input(value=typed):
                shown = self._shown[field.name]
                return shown if isinstance(shown, str) and typed == sanitize(shown) else typed
            case other:
                raise TypeError(other)

    def action_save(self) -> None:
        self.call_later(self._save)

    async def _save(self) -> None:
        try:
            await self._keep(self.values, self._overwrites)
        except InputError as error:
            self._overwrites = isinstance(error, ChangedElsewhere)
            named = getattr(error, "field", "")
            names = [field.name for row in self._rows for field in row]
            there = next((name for name in (named, "place") if name in names), names[0])
            self.show_fault(" ".join(filter(None, (str(error), error.advice))), there)
        else:
            self.dismiss(True)
