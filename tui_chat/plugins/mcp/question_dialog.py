"""The form in which a server asks the user something, or shows an address to open."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import Button, Static

from tui_chat.errors import FieldError
from tui_chat.library.typed_fields import Field, Values
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.plugins.mcp.elicitation import FormQuestion, Question, QuestionField, UrlQuestion
from tui_chat.ui.dialogs.forms import FieldsForm

_LONGEST = 2_000
"""Characters of a server's message that are shown."""


class QuestionForm(FieldsForm):
    """Asks what a server wants to know. The result is True for an answer, False if the user
    declines, and None if the question is cancelled.
    """

    hint = "Ctrl+S answer · Esc cancel · Tab next field"
    save_label = "Answer"

    def __init__(self, question: Question, content: dict[str, Any]) -> None:
        """`content` gets the values of a form that is answered."""
        self._question, self._content = question, content
        fields = question.fields if isinstance(question, FormQuestion) else ()
        rows = [(_field(number, field),) for number, field in enumerate(fields)]
        values = {_id(number): _shown(field) for number, field in enumerate(fields)}
        title = f"The MCP server “{question.server}” asks"
        super().__init__(title, tuple(rows), values, self._answer)

    def fields_above(self) -> ComposeResult:
        yield Static(Text(sanitize(self._question.message[:_LONGEST])))
        if isinstance(self._question, UrlQuestion):
            host = one_line(_in_ascii(self._question.host), 200)
            yield Static(f"Open it yourself, at the host {host}:", classes="label", markup=False)
            yield Static(Text(sanitize(self._question.url), overflow="fold"))
        note = "Your answer goes to this server. Give it no password and no key."
        yield Static(note, classes="label")

    def more_buttons(self) -> ComposeResult:
        yield Button("Decline", id="decline", compact=True)

    @on(Button.Pressed, "#decline")
    def _decline(self) -> None:
        self.dismiss(False)

    async def _answer(self, values: Values, _: bool) -> None:
        """Keep the values. Raises FieldError for one that the server does not accept."""
        fields = self._question.fields if isinstance(self._question, FormQuestion) else ()
        for number, field in enumerate(fields):
            value = field.value(values[_id(number)])
            if fault := field.fault(value):
                raise FieldError(_id(number), f"{_label(field)} {fault}.")
            self._content[field.name] = value


def _id(number: int) -> str:
    return f"field-{number}"


def _label(field: QuestionField) -> str:
    return one_line(field.title or field.name, 60)


def _field(number: int, field: QuestionField) -> Field:
    label = f"{_label(field)}{' (required)' if field.required else ''}"
    if field.description:
        label += f": {one_line(field.description, 300)}"
    choices = [("", "no answer"), *((value, one_line(name, 60)) for value, name in field.choices)]
    return Field(_id(number), label, "choice" if field.choices else "line", tuple(choices))


def _shown(field: QuestionField) -> str | bool:
    if field.kind == "boolean":
        return field.default is True
    return "" if field.default is None else str(field.default)


def _in_ascii(host: str) -> str:
    """Return a host without letters that look like others."""
    with suppress(UnicodeError):
        return host.encode("idna").decode()
    return host.encode("ascii", "backslashreplace").decode()
