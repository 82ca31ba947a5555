"""Questions of servers to the user: a form with a few fields, or a URL that the user may open.

A form names its server, and its fields are of the simple kinds that the protocol allows; a question
with others is cancelled. A URL is shown and never opened by the program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_text import as_array, as_object, as_objects, as_string

_MOST_FIELDS = 50
_MOST_CHOICES = 1_000

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]


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
    """Values and labels of a choice; of `choices` several may be chosen."""
    low: float | None = None
    """The least number, length or number of choices."""
    high: float | None = None
    """The greatest."""
    format: str = ""
    """The form of a text: `email`, `uri`, `date` or `date-time`."""

    def fault(self, value: Any) -> str:
        """Return what is wrong with a value, as the end of a sentence; empty if nothing."""
        if value is None:
            return "is required" if self.required else ""
        match self.kind:
            case "boolean":
                return "" if isinstance(value, bool) else "must be yes or no"
            case "integer" | "number":
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                if not is_number or (self.kind == "integer" and int(value) != value):
                    return (
                        "must be a whole number" if self.kind == "integer" else "must be a number"
                    )
                return self._range_fault(value, "")
            case "choice":
                return "" if value in dict(self.choices) else "must be one of the choices"
            case "choices":
                chosen = as_array(value)
                if not isinstance(value, list) or not all(
                    item in dict(self.choices) for item in chosen
                ):
                    return "must be some of the choices"
                return self._range_fault(len(chosen), "choices")
            case "text":
                if not isinstance(value, str):
                    return "must be text"
                return self._range_fault(len(value), "characters")

    def _range_fault(self, number: float, unit: str) -> str:
        if self.low is not None and number < self.low:
            return f"must be {self.low:g} {unit}".rstrip() + " or more"
        if self.high is not None and number > self.high:
            return f"must be {self.high:g} {unit}".rstrip() + " or less"
        return ""


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
        "array": "choices",
    }
    kind = kinds.get(schema.get("type"))
    if kind is None:
        raise ValueError("a field is of no simple kind")
    choices = tuple(_choices(as_object(schema.get("items")) if kind == "choices" else schema))
    if (kind == "choices" and not choices) or len(choices) > _MOST_CHOICES:
        raise ValueError("a field has no choices, or too many")
    if kind == "text" and choices:
        kind = "choice"
    low, high = {
        "text": ("minLength", "maxLength"),
        "choices": ("minItems", "maxItems"),
    }.get(kind, ("minimum", "maximum"))
    field = QuestionField(
        name,
        kind,
        as_string(schema.get("title")),
        as_string(schema.get("description")),
        required,
        None,
        choices,
        _number(schema.get(low)),
        _number(schema.get(high)),
        as_string(schema.get("format")),
    )
    default = schema.get("default")
    if default is None or field.fault(default):
        return field
    return replace(field, default=default)


def _choices(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    labels = as_array(schema.get("enumNames"))  # of 2025-06-18
    for value, label in zip_longest(as_array(schema.get("enum")), labels):
        if isinstance(value, str):
            yield value, as_string(label) or value
    for key in ("oneOf", "anyOf"):
        for choice in as_objects(schema.get(key)):
            if isinstance(value := choice.get("const"), str):
                yield value, as_string(choice.get("title")) or value


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return cast("float", value) if is_number else None
