"""The dialog in which a server asks the user something: a form, or an address to open."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Input, SelectionList, Static

from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.plugins.mcp.elicitation import (
    CANCEL,
    FormQuestion,
    Question,
    QuestionField,
    Reaction,
    UrlQuestion,
)
from tui_chat.ui.dialogs.base import set_title
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.widgets.check_field import CheckField
from tui_chat.ui.widgets.choice_select import ChoiceSelect
from tui_chat.ui.widgets.safe_text import TextField
from tui_chat.ui.widgets.typed_app import app_of

_Asked = TypeVar("_Asked", FormQuestion, UrlQuestion)
_LONGEST = 2_000
"""Characters of a server's message that are shown."""


class _QuestionDialog(Form[Reaction], Generic[_Asked]):
    """Asks what a server wants to know. Its result is never None."""

    def __init__(self, question: _Asked) -> None:
        super().__init__()
        self._question = question

    def more_buttons(self) -> ComposeResult:
        yield Button("Decline", id="decline", compact=True)

    @on(Button.Pressed, "#decline")
    def _decline(self) -> None:
        self.dismiss(Reaction("decline"))

    def action_leave(self) -> None:
        self.dismiss(CANCEL)


class FormDialog(_QuestionDialog[FormQuestion]):
    """Asks for the fields of a form."""

    DEFAULT_CSS = """
    FormDialog SelectionList { height: auto; max-height: 8; border: none; background: $panel; }
    """
    hint = "Ctrl+S answer · Esc cancel · Tab next field"
    save_label = "Answer"

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            yield from _introduction(box, self._question)
            with VerticalScroll(id="fields", can_focus=False):
                for number, field in enumerate(self._question.fields):
                    mark = " (required)" if field.required else ""
                    words = f"{one_line(field.title or field.name, 100)}{mark}"
                    if field.description:
                        words += f": {one_line(field.description, 300)}"
                    yield Static(words, classes="label", markup=False)
                    yield _widget(field, f"field-{number}")
            yield from self.buttons()

    def action_save(self) -> None:
        fields = self._question.fields
        content = {
            field.name: _value(field, self.query_one(f"#field-{number}"))
            for number, field in enumerate(fields)
        }
        faults = self._question.faults(content)
        for number, field in enumerate(fields):
            if fault := faults.get(field.name):
                name = one_line(field.title or field.name, 60)
                self.show_fault(f"{name} {fault}.", f"field-{number}")
                return
        self.dismiss(Reaction("accept", content))


class UrlDialog(_QuestionDialog[UrlQuestion]):
    """Shows an address that the user may open, and whose it is."""

    DEFAULT_CSS = "UrlDialog > Vertical { height: auto; }"
    AUTO_FOCUS = "#decline"
    hint = "Open it yourself · Ctrl+S you opened it · Esc cancel"
    save_label = "I opened it"

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            yield from _introduction(box, self._question)
            host = one_line(_in_ascii(self._question.host), 200)
            yield Static(f"Address at the host {host}:", classes="label", markup=False)
            yield Static(Text(sanitize(self._question.url), overflow="fold"), id="address")
            yield from self.buttons()

    def more_buttons(self) -> ComposeResult:
        yield Button("Copy address", id="copy", compact=True)
        yield from super().more_buttons()

    @on(Button.Pressed, "#copy")
    def _copy(self) -> None:
        app_of(self).copy_to_clipboard(self._question.url)

    def action_save(self) -> None:
        self.dismiss(Reaction("accept"))


def dialog_of(question: Question) -> FormDialog | UrlDialog:
    """Return the dialog that asks a question."""
    return FormDialog(question) if isinstance(question, FormQuestion) else UrlDialog(question)


def _in_ascii(host: str) -> str:
    """Return a host without letters that look like others."""
    with suppress(UnicodeError):
        return host.encode("idna").decode()
    return host.encode("ascii", "backslashreplace").decode()


def _introduction(box: Widget, question: Question) -> ComposeResult:
    set_title(box, f"The MCP server “{question.server}” asks")
    with VerticalScroll(can_focus=False):
        yield Static(Text(sanitize(question.message[:_LONGEST])))
    note = "Your answer goes to this server. Give it no password and no key."
    yield Static(note, classes="label")


def _widget(field: QuestionField, id: str) -> Widget:
    match field.kind:
        case "boolean":
            return CheckField("yes", field.default is True, id=id)
        case "choice":
            labels = [(one_line(label, 60), str(n)) for n, (_, label) in enumerate(field.choices)]
            values = [value for value, _ in field.choices]
            chosen = "" if field.default is None else str(values.index(field.default))
            return ChoiceSelect([("no answer", ""), *labels], id=id, value=chosen)
        case "choices":
            default = field.default or ()
            rows = (
                (Text(one_line(label, 80)), n, value in default)
                for n, (value, label) in enumerate(field.choices)
            )
            return SelectionList[int](*rows, id=id)
        case _:
            text = "" if field.default is None else str(field.default)
            return TextField(sanitize(text), placeholder=field.format, id=id)


def _value(field: QuestionField, widget: Widget) -> Any:
    match widget:
        case CheckField(value=value):
            return value
        case ChoiceSelect(value=value):
            return field.choices[int(str(value))][0] if value else None
        case SelectionList():
            chosen = sorted(cast("SelectionList[int]", widget).selected)
            return [field.choices[n][0] for n in chosen] or None
        case Input(value=""):
            return None
        case Input(value=typed):
            return typed if field.kind == "text" else _number(typed)
        case _:
            raise TypeError(widget)


def _number(typed: str) -> int | float | str:
    """Return a number that JSON has, else the text, which is a fault."""
    with suppress(ValueError):
        return int(typed)
    with suppress(ValueError):
        if math.isfinite(number := float(typed)):
            return number
    return typed
