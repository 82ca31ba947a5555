"""JSON Schemas of tools and replies, and reply formats, as far as a protocol accepts them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, ToolDefinition
from tui_chat.models.settings import ResponseFormat
from tui_chat.protocols.common.loss_notes import default_note
from tui_chat.protocols.common.request_encoder import RequestEncoder

_GEMINI_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def json_schema(schema: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """Return a schema as JSON Schema: Gemini's own form has types in capitals, and `nullable`."""
    return dict(schema) if dialect == "json" else _from_gemini_schema(schema)


def _from_gemini_schema(value: Any) -> Any:
    if isinstance(value, Mapping):
        schema: dict[str, Any] = {}
        for key, inner in value.items():  # type: ignore[misc]
            if key == "type" and isinstance(inner, str) and inner in _GEMINI_TYPES:
                schema[key] = inner.lower()
            elif key == "propertyOrdering":
                continue
            elif key in ("enum", "example", "default", "required"):
                schema[key] = inner
            else:
                schema[str(key)] = _from_gemini_schema(inner)  # type: ignore[arg-type]
        if schema.pop("nullable", False) is True and isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        return schema
    if isinstance(value, list):
        return [_from_gemini_schema(inner) for inner in value]  # type: ignore[misc]
    return value


def object_schema(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool's schema as the object schema that some protocols require."""
    schema = json_schema(tool.parameters, tool.dialect)
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def _wanted_format(request: RequestEncoder) -> ResponseFormat | None:
    """Return the reply's format; None for plain text, which every protocol sends without it."""
    form = request.values.response_format
    if form is not None and form.kind == "text" and not request.captured:
        why = "a reply is plain text anyway"
        request.leave_out("response_format", "the response format “text”", why, Level.INFO)
        return None
    return form


def openai_format(request: RequestEncoder) -> ResponseFormat | None:
    """Return the reply's format as OpenAI accepts it."""
    form = _wanted_format(request)
    if form is None:
        return None
    turns = request.envelope.turns
    if form.kind == "json" and not any("json" in turn.text.plain.lower() for turn in turns):
        why = "OpenAI requires the word “json” in the messages for it"
        request.leave_out("response_format", "the response format “json”", why)
        return None
    if form.kind == "schema":
        schema = json_schema(form.schema or {}, form.dialect)
        form = dataclasses.replace(form, schema=schema, dialect="json")
        if not form.name:
            form = dataclasses.replace(form, name=_schema_name(schema))
            sentence = f"OpenAI requires a name for the reply's schema: “{form.name}” is sent."
            origin = request.parameters.origin("response_format")
            request.notes.append(default_note(origin, sentence))
    return form


_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _schema_name(schema: Mapping[str, Any]) -> str:
    """Return a name for a schema that has none: its title if OpenAI accepts that."""
    title = schema.get("title")
    return title if isinstance(title, str) and _SCHEMA_NAME.fullmatch(title) else "reply"


def schema_only_format(request: RequestEncoder) -> ResponseFormat | None:
    """Return the reply's format for a protocol that has only the schema, and always enforces it."""
    form = _wanted_format(request)
    if form is None:
        return None
    label = request.protocol.label
    lost = [(Level.WARNING, "description", form.description), (Level.INFO, "name", form.name)]
    for level, field, value in lost:
        if value:
            name, why = f"the {field} of the reply's schema", f"{label} has no field for it"
            request.leave_out("response_format", name, why, level)
    strict = form.strict
    if strict is False or (strict is True and request.protocol is Protocol.GEMINI):
        word = "true" if strict else "false"
        sentence = f"{label} has no “strict” for the reply's schema and always enforces it; "
        sentence += f"“strict: {word}” is left out."
        level = Level.INFO if strict else Level.WARNING
        request.note_change("response_format", sentence, level)
    if form.kind == "schema" and not form.schema:
        sentence = f"The reply's schema is empty; {label} may send any JSON."
        request.note_change("response_format", sentence)
    return form


def closed_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a schema whose objects are closed, as Anthropic requires, and True if it changed."""
    closed = {key: _closed(key, value) for key, value in schema.items()}
    kind: Any = closed.get("type")
    is_object = (
        kind == "object" or "properties" in closed or (isinstance(kind, list) and "object" in kind)
    )
    if is_object and closed.get("additionalProperties") is not False:
        closed["additionalProperties"] = False
    return closed, closed != schema


_SCHEMAS_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_SCHEMAS = frozenset(
    {"items", "anyOf", "allOf", "oneOf", "not", "prefixItems", "if", "then", "else", "contains"}
)


def _closed(key: str, value: Any) -> Any:
    if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
        named = cast("Mapping[str, Any]", value)
        return {name: _closed("items", inner) for name, inner in named.items()}
    if key in _SCHEMAS and isinstance(value, Mapping):
        return closed_schema(cast("Mapping[str, Any]", value))[0]
    if key in _SCHEMAS and isinstance(value, list):
        return [_closed("items", inner) for inner in cast("list[Any]", value)]
    return value
