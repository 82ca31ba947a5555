"""Fields of a file as people edit them: what they show, and what is typed into them.

A form shows values and hands back what was typed; it is read with the constraints of the file
format. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields as dataclass_fields
from typing import Any, Literal, TypeAlias

from tui_chat.errors import FieldError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import fault_sentence
from tui_chat.models.boundary import InvalidValue, read_fields
from tui_chat.models.text import clean

FieldKind: TypeAlias = Literal["line", "words", "number", "lines", "text", "switch", "choice"]
"""A line; words between commas; a number; one item a line; a text; yes or no; one of several."""
Values: TypeAlias = Mapping[str, str | bool]
"""The contents of fields by their names: a bool for a switch, else a text."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form."""

    name: str
    """As in the value that is edited."""
    label: str
    kind: FieldKind = "line"
    choices: tuple[tuple[str, str], ...] = ()
    """The values of a choice with their labels."""


FieldRows: TypeAlias = tuple[tuple[Field, ...], ...]
"""The fields of a form, those in one row together."""


def shown_values(value: Any, fields: Iterable[Field]) -> dict[str, str | bool]:
    """Return what the fields of a value show."""
    return {field.name: _shown(getattr(value, field.name), field.kind) for field in fields}


def _shown(value: Any, kind: FieldKind) -> str | bool:
    match kind:
        case "switch":
            return bool(value)
        case "lines":
            return "\n".join(value)
        case "words":
            return ", ".join(value)
        case "number":
            is_whole = value is None or value == int(value)
            return "" if value is None else str(int(value) if is_whole else value)
        case "choice" if value is None or isinstance(value, bool):
            return {None: "", True: "yes", False: "no"}[value]
        case _:
            return "" if value is None else str(value)


def typed_values(values: Values, fields: Mapping[str, Field], kind: type) -> dict[str, Any]:
    """Return typed values as a dataclass's fields, its default for empty. Raises FieldError."""
    raw = {name: _meant(value, fields[name].kind) for name, value in values.items()}
    try:
        found = read_fields(kind, {name: value for name, value in raw.items() if value is not None})
    except InvalidValue as error:
        fault = error.faults[0]
        name = str(fault.path[0])
        label = fields[name].label if name in fields else name
        raise FieldError(name, f"{label}: it {fault_sentence(fault)}.") from None
    defaults = {own.name: own.default for own in dataclass_fields(kind)}
    return {**{name: defaults[name] for name in raw.keys() - found.keys()}, **found}


def _meant(value: str | bool, kind: FieldKind) -> Any:
    """Return what a typed value means in JSON; None for nothing, and for the usual value."""
    if isinstance(value, bool):
        return value
    text = clean(value)
    match kind:
        case "lines":
            return [line for line in text.split("\n") if line]
        case "words":
            return [word.strip() for word in text.split(",") if word.strip()]
        case "number":
            return _number(text.strip()) if text.strip() else None
        case "choice":
            return {"": None, "yes": True, "no": False}.get(text, text)
        case "line":
            return text.strip()
        case _:
            return text


def _number(text: str) -> int | float | str:
    """Return a number; the text itself if it is none, for the error."""
    for kind in (int, float):
        try:
            return kind(text) if text.isascii() else text
        except ValueError:
            pass
    return text
