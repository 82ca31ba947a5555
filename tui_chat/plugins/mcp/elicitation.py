"""Questions of servers to the user: a form with a few fields, or a URL that the user may open.

A form names its server, and its fields are texts, numbers, switches and choices; a question with
others is cancelled. A URL is shown and never opened by the program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import as_array, as_object, as_objects, as_string

_MOST_FIELDS = 50
_MOST_CHOICES = 1_000

FieldKind = Literal["text", "number", "integer", "boolean", "choice"]


@dataclass(frozen=True, slots=True)
class QuestionField:
    """A field of a form."""

    name: str
    """Its key in the answer."""
    kind: FieldKind
    title: str = ""
    """Its label; empty for its name."""
    description: str = ""
    required: bool = False
    default: Any = None
    """The value that it begins with; None for none."""
    choices: tuple[tuple[str, str], ...] = ()
    """Values and labels of a choice."""
    low: float | None = None
    """The least number or length."""
    high: float | None = None
    """The greatest."""

    def fault(self, value: Any) -> str:
        """Return what is wrong with a value, as the end of a sentence; empty if nothing."""
        if value is None:
            return "is required" if self.required else ""
        match self.kind:
            case "boolean":
                return "" if isinstance(value, bool) else "must be yes or no"
            case "choice":
                return "" if value in dict(self.choices) else "must be one of the choices"
            case "text":
                is_text = isinstance(value, str)
                return self._range_fault(len(value), " characters") if is_text else "must be text"
            case "integer" | "number":
                word = "a whole number" if self.kind == "integer" else "a number"
                kinds = int if self.kind == "integer" else int | float
                if not isinstance(value, kinds) or isinstance(value, bool):
                    return f"must be {word}"
                return self._range_fault(value, "")

    def _range_fault(self, number: float, unit: str) -> str:
        if self.low is not None and number < self.low:
            return f"must be {self.low:g}{unit} or more"
        if self.high is not None and number > self.high:
            return f"must be {self.high:g}{unit} or less"
        return ""

    def value(self, typed: str | bool) -> Any:
        """Return the value that a field of the dialog shows; None for none. What is no number stays
        text, which is a fault.
        """
        if isinstance(typed, bool) or self.kind in ("text", "choice"):
            return typed if typed != "" else None
        for kind in (int, float):
            try:
                number = kind(typed)
            except ValueError:
                continue
            if isfinite(number):
                return number
        return typed or None


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A form that a server asks the user to fill."""

    server: str
    """The server's name in the configuration."""
    message: str
    """Why it asks, in its words."""
    fields: tuple[QuestionField, ...]

    def faults(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return what is wrong with an answer, by the names of fields."""
        faults = {field.name: field.fault(content.get(field.name)) for field in self.fields}
        return {name: fault for name, fault in faults.items() if fault}


@dataclass(frozen=True, slots=True)
class UrlQuestion:
    """A URL that a server asks the user to open."""

    server: str
    message: str
    url: str

    @property
    def host(self) -> str:
        """The host, to be shown by itself."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True)
class Reaction:
    """The user's answer."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None
    """The values of a form that was accepted, by the names of fields."""


Question: TypeAlias = FormQuestion | UrlQuestion
Ask: TypeAlias = Callable[[Question], Awaitable[Reaction]]
"""Asks the user, and returns the answer."""

CANCEL = Reaction("cancel")


async def reaction_to(server: str, params: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    """Return the result of `elicitation/create`."""
    try:
        question = read_question(server, params)
    except ValueError:
        return {"action": "cancel"}
    reaction = await ask(question)
    if reaction.action == "accept" and isinstance(question, FormQuestion):
        content = {
            name: value for name, value in (reaction.content or {}).items() if value is not None
        }
        if question.faults(content):
            return {"action": "cancel"}
        return {"action": "accept", "content": content}
    return {"action": reaction.action}


def read_question(server: str, params: Mapping[str, Any]) -> Question:
    """Return the question in the parameters of `elicitation/create`. Raises ValueError."""
    message = as_string(params.get("message"))
    if params.get("mode", "form") == "url":
        url = as_string(params.get("url"))
        if urlsplit(url).scheme not in ("http", "https") or not url.isprintable() or " " in url:
            raise ValueError("the URL cannot be opened")
        return UrlQuestion(server, message, url)
    schema = as_object(params.get("requestedSchema"))
    properties = as_object(schema.get("properties"))
    required = as_array(schema.get("required"))
    if len(properties) > _MOST_FIELDS:
        raise ValueError("the form has too many fields")
    return FormQuestion(
        server,
        message,
        tuple(
            _field(name, as_object(value), name in required) for name, value in properties.items()
        ),
    )


def _field(name: str, schema: Mapping[str, Any], required: bool) -> QuestionField:
    kinds: dict[object, FieldKind] = {
        "string": "text",
        "number": "number",
        "integer": "integer",
        "boolean": "boolean",
    }
    kind = kinds.get(schema.get("type"))
    if kind is None:
        raise ValueError("a field is of no simple kind")
    choices = tuple(_choices(schema))
    if len(choices) > _MOST_CHOICES:
        raise ValueError("a field has too many choices")
    low, high = ("minLength", "maxLength") if kind == "text" else ("minimum", "maximum")
    field = QuestionField(
        name,
        "choice" if kind == "text" and choices else kind,
        as_string(schema.get("title")),
        as_string(schema.get("description")),
        required,
        choices=choices,
        low=_number(schema.get(low)),
        high=_number(schema.get(high)),
    )
    default = schema.get("default")
    return field if default is None or field.fault(default) else replace(field, default=default)


def _choices(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for value in as_array(schema.get("enum")):
        if isinstance(value, str):
            yield value, value
    for choice in as_objects(schema.get("oneOf")):
        if isinstance(value := choice.get("const"), str):
            yield value, as_string(choice.get("title")) or value


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value
