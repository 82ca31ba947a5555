"""Dialogs with fields: any value's, role, captured request, and what-if."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Checkbox, Input, Static, TextArea

from tui_chat.errors import ChangedElsewhere, InputError
from tui_chat.models.media import HEADER_BYTES, detect_mime, format_size, pixels_of
from tui_chat.models.message import Part
from tui_chat.models.role import Role
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.dialogs.base import Dialog, T, set_title
from tui_chat.ui.widgets.choice_field import ChoiceField
from tui_chat.ui.widgets.safe_text import SafeTextArea

if TYPE_CHECKING:
    from tui_chat.library.typed_fields import Field, FieldRows, Values
    from tui_chat.workspace.state import WhatIf
    from tui_chat.workspace.workspace import Workspace


class Form(Dialog[T]):
    """A dialog with fields; Ctrl+S saves."""

    DEFAULT_CSS = """
    Form {
        & > Vertical { width: 84; height: 90%; }
        #fields { height: 1fr; max-height: 100%; }
        .label { color: $foreground 72%; margin-top: 1; }
        .label.-first { margin-top: 0; }
        Input, Input:focus {
            margin: 0; border: none; height: 1; padding: 0 1; background: $panel;
        }
        TextArea, TextArea:focus {
            height: 1fr; min-height: 4; border: none; padding: 0 1; background: $panel;
        }
        Input:focus, TextArea:focus { background: $primary 20%; }
        Checkbox { border: none; padding: 0; background: $surface; margin-top: 1; }
        .pair, .parts { height: auto; }
        .parts Button { margin-right: 2; }
        .pair Vertical { height: auto; width: 1fr; margin-right: 1; }
        #fault { color: $text-error; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", show=False, priority=True)
    ]
    hint: ClassVar[str] = "Ctrl+S saves · Esc cancels · Tab next field"
    """The keys, in the last line."""
    save_label: ClassVar[str] = "Save"
    """The button that answers with the fields' values."""

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
        """Answer with the fields' values, or show what is wrong with them."""
        raise NotImplementedError

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "save":
            self.action_save()
        elif event.button.id == "cancel":
            self.action_leave()

    def value(self, field: str) -> str:
        """Return the stripped text of an input."""
        return self.query_one(f"#{field}", Input).value.strip()

    def show_fault(self, words: str, field: str) -> None:
        """Show what is wrong with a field, and focus it."""
        self.query_one("#fault", Static).update(Text(words))
        self.query_one(f"#{field}").focus()


class FieldsForm(Form[bool | None]):
    """Edits the fields of a value. The result is True after they were kept."""

    DEFAULT_CSS = """
    FieldsForm {
        & > Vertical { width: 104; }
        .pair { margin-top: 1; }
        .pair.-first { margin-top: 0; }
        .pair .label { margin-top: 0; }
        .pair Checkbox { margin-top: 0; }
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
        """Lay out the fields."""
        with Vertical() as box:
            set_title(box, self._title)
            with VerticalScroll(id="fields", can_focus=False):
                for number, row in enumerate(self._rows):
                    with Horizontal(classes="pair -first" if number == 0 else "pair"):
                        for field in row:
                            with Vertical():
                                yield from self._field(field)
            yield from self.buttons()

    def on_mount(self) -> None:
        """Show the first field with its label, above which the focus would scroll."""
        fields = self.query_one("#fields", VerticalScroll)
        self.call_after_refresh(fields.scroll_home, animate=False)

    def _field(self, field: Field) -> ComposeResult:
        value = self._shown[field.name]
        if isinstance(value, bool):
            yield Checkbox(field.label, value, id=field.name)
            return
        yield Static(field.label, classes="label", markup=False)
        match field.kind:
            case "text" | "lines":
                classes = "-text" if field.kind == "text" else ""
                yield SafeTextArea(value, id=field.name, classes=classes, tab_behavior="focus")
            case "choice":
                choice = ChoiceField(field.choices, id=field.name, folded=True)
                choice.choose(value)
                yield choice
            case _:
                yield Input(sanitize(value), id=field.name)

    @property
    def values(self) -> Values:
        """What the fields show now."""
        return {field.name: self._value(field) for row in self._rows for field in row}

    def _value(self, field: Field) -> str | bool:
        match self.query_one(f"#{field.name}"):
            case Checkbox(value=value) | ChoiceField(value=value):
                return value
            case TextArea(text=text):
                return text
            case Input(value=typed):
                shown = self._shown[field.name]
                return shown if isinstance(shown, str) and typed == sanitize(shown) else typed
            case other:
                raise TypeError(other)

    def action_save(self) -> None:
        """Keep the fields' values, or show what is wrong with them."""
        self.call_later(self._save)

    async def _save(self) -> None:
        try:
            await self._keep(self.values, self._overwrites)
        except InputError as error:
            self._overwrites = isinstance(error, ChangedElsewhere)
            named = getattr(error, "field", "")
            known = [field.name for row in self._rows for field in row]
            there = next((name for name in (named, "place") if name in known), known[0])
            self.show_fault(" ".join(filter(None, (str(error), error.advice))), there)
        else:
            self.dismiss(True)


MAX_NOTES = 4_000
"""Characters of a card's creator's notes that are shown."""


class RoleForm(Form[Role | Literal["delete"] | None]):
    """Edits a role. The result is the role with its id unchanged, "delete", or None."""

    def __init__(
        self,
        role: Role,
        presets: tuple[str, ...],
        picture: bytes = b"",
        open_part: Callable[[str], None] = lambda part: None,
    ) -> None:
        """`open_part` is called with `picture`, `character` or `lorebook` to show that part of a
        stored role.
        """
        super().__init__()
        self._role = role
        self._presets = presets
        self._picture = picture
        self._open_part = open_part

    def compose(self) -> ComposeResult:
        """Lay out the fields."""
        role = self._role
        with Vertical() as box:
            set_title(box, f"Role: {role.name}" if role.role_id else "New role")
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("Name", classes="label -first")
                yield Input(sanitize(role.name), id="name")
                yield Static("System prompt", classes="label")
                yield SafeTextArea(role.system_prompt, id="prompt", tab_behavior="focus")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Model (empty: the endpoint's)", classes="label")
                        yield Input(sanitize(role.model), id="model")
                    with Vertical():
                        yield Static("Preset (empty: plain)", classes="label")
                        yield Input(role.preset, id="preset")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Temperature (empty: not sent)", classes="label")
                        yield Input(_number_text(role.settings.temperature), id="temperature")
                    with Vertical():
                        yield Static("Max output tokens", classes="label")
                        yield Input(_number_text(role.settings.max_tokens), id="max-tokens")
                yield Checkbox("Available for new sessions", role.status == "enabled", id="enabled")
                if role.role_id:
                    yield Static("Character card", classes="label")
                    if self._picture:
                        yield Static(_picture_facts(self._picture), id="picture")
                    with Horizontal(classes="parts"):
                        yield Button("Character…", id="part-character", compact=True)
                        yield Button("Lorebook…", id="part-lorebook", compact=True)
                        if self._picture:
                            yield Button("Picture", id="part-picture", compact=True)
                if role.character is not None and role.character.creator_notes.strip():
                    by = one_line(role.character.creator, 60)
                    yield Static(f"Creator's notes{f', {by}' if by else ''}", classes="label")
                    yield Static(Text(sanitize(role.character.creator_notes[:MAX_NOTES])))
            yield from self.buttons()

    def more_buttons(self) -> ComposeResult:
        """Offer to delete an existing role."""
        if self._role.role_id:
            yield Button("Delete…", id="delete", variant="error", compact=True)

    @on(Button.Pressed, ".parts Button")
    def _show_part(self, event: Button.Pressed) -> None:
        self._open_part((event.button.id or "").removeprefix("part-"))

    @on(Button.Pressed, "#delete")
    def _delete(self) -> None:
        self.dismiss("delete")

    def action_save(self) -> None:
        """Answer with the role if its fields are valid."""
        name = self.value("name")
        preset = self.value("preset")
        if not name:
            self.show_fault("A role needs a name.", "name")
            return
        if preset and preset not in self._presets:
            known = ", ".join(self._presets)
            self.show_fault(f"There is no preset “{preset}”. Known presets: {known}.", "preset")
            return
        try:
            temperature = float(text) if (text := self.value("temperature")) else None
        except ValueError:
            self.show_fault("The temperature must be a number, such as 0.7.", "temperature")
            return
        try:
            max_tokens = int(text) if (text := self.value("max-tokens")) else None
        except ValueError:
            self.show_fault("Max output tokens must be a whole number, such as 2000.", "max-tokens")
            return
        self.dismiss(
            replace(
                self._role,
                name=name,
                system_prompt=self.query_one("#prompt", TextArea).text,
                model=self.value("model"),
                preset=preset,
                settings=replace(
                    self._role.settings, temperature=temperature, max_tokens=max_tokens
                ),
                status="enabled" if self.query_one("#enabled", Checkbox).value else "disabled",
            )
        )


def _picture_facts(content: bytes) -> str:
    """Return type, size and pixels of a picture: `PNG · 34 kB · 400 × 600`."""
    facts = [detect_mime(content).rpartition("/")[2].upper(), format_size(len(content))]
    data = b64encode(content[:HEADER_BYTES]).decode()
    if (pixels := pixels_of(Part("image", data=data))) is not None:
        facts.append(f"{pixels[0]:,} × {pixels[1]:,}")
    return " · ".join(facts)


class CapturedRequestForm(Form[str | None]):
    """Asks for a captured request: a body, a curl command, a log line or a file's path."""

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            box.border_title = "Open a captured request"
            words = (
                "Paste a request body of any protocol, a curl command, a log line, "
                "an exported turn, or the path of a file with one."
            )
            yield Static(words, classes="label")
            yield SafeTextArea(id="body", tab_behavior="focus")
            yield from self.buttons()

    def action_save(self) -> None:
        """Answer with the pasted text."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
        else:
            self.show_fault("Paste a request first.", "body")


class WhatIfForm(Form["WhatIf | None"]):
    """Asks which of limit, model, endpoint and history length to change in a what-if request."""

    hint = "Enter shows the request · Esc cancels · Tab next field"
    save_label = "Show"

    def __init__(self, workspace: Workspace, now: WhatIf | None) -> None:
        super().__init__()
        self._endpoints = {endpoint.name for endpoint in workspace.state.config.endpoints}
        self._now = now

    def compose(self) -> ComposeResult:
        """Lay out the fields."""
        now = self._now
        with Vertical() as box:
            box.border_title = "What if"
            with VerticalScroll(id="fields", can_focus=False):
                yield Static("Empty fields keep the session's value.", classes="label")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Context limit, in tokens", classes="label")
                        yield Input(_number_text(now.limit if now else None), id="limit")
                    with Vertical():
                        yield Static("Only the newest messages", classes="label")
                        yield Input(_number_text(now.messages if now else None), id="messages")
                with Horizontal(classes="pair"):
                    with Vertical():
                        yield Static("Model", classes="label")
                        yield Input(now.model if now else "", id="model")
                    with Vertical():
                        yield Static("Endpoint", classes="label")
                        yield Input(now.endpoint if now else "", id="endpoint")
            yield from self.buttons()

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        """Answer with the changes if they are valid."""
        from tui_chat.workspace.state import WhatIf

        numbers: dict[str, int | None] = {}
        for field in ("limit", "messages"):
            digits = self.value(field).replace(",", "").replace("_", "")
            if digits and not (digits.isascii() and digits.isdigit()):
                self.show_fault("This must be a whole number.", field)
                return
            numbers[field] = int(digits) if digits else None
        endpoint = self.value("endpoint")
        if endpoint and endpoint not in self._endpoints:
            known = ", ".join(sorted(self._endpoints))
            self.show_fault(
                f"There is no endpoint “{endpoint}”. Known endpoints: {known}.", "endpoint"
            )
            return
        self.dismiss(WhatIf(numbers["limit"], endpoint, self.value("model"), numbers["messages"]))


def _number_text(number: float | None) -> str:
    return "" if number is None else f"{number:g}"
