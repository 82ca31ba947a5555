"""Settings of a request, as far as a protocol and a model accept them.

1. A setting that the model or the protocol refuses is left out, with a note, so that the request
   is answered.
2. In the protocol it was captured from, a setting is sent as it was. A value in the protocol's
   namespace wins over the unified one.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition
from tui_chat.models.json_tree import Arr, JsonValue, Obj, Tree, tree_of
from tui_chat.models.semantics import UNSET, Namespace, NativeTool
from tui_chat.models.settings import ResponseFormat, ToolChoice
from tui_chat.models.text import GLUE, clean
from tui_chat.models.tool import GROUPS, name_in, prefix_in
from tui_chat.protocols.common.encoding import (
    Items,
    captured_origin,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import (
    default_note,
    setting_changed_note,
    setting_note,
    with_key,
)


def reply_limit(
    envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]
) -> Sourced[int] | None:
    """Return the reply limit, lowered to the model's maximum; None if it would allow no reply."""
    limit = envelope.parameters.max_tokens
    if limit is None or envelope.semantics.source is endpoint.protocol:
        return limit
    if limit.value <= 0:
        notes.append(setting_note(limit, "max_tokens", f"{limit.value} allows no reply"))
        return None
    model = envelope.parameters.model.value
    most = endpoint.facts_of(model).max_output
    if most is None or limit.value <= most:
        return limit
    name = with_key(f"The reply limit of {limit.value:,} tokens", limit.origin)
    sentence = f"{name} is lowered to {most:,}, the maximum "
    sentence += f"of {model}."
    notes.append(Note(Level.WARNING, "setting-changed", sentence, limit.origin))
    return Sourced(most, limit.origin)


def tier_items(
    envelope: ChatEnvelope,
    protocol: Protocol,
    key: str,
    words: Mapping[str, str],
    notes: list[Note],
) -> Items:
    """Return the service tier in a protocol's words, by OpenAI's. A tier that it does not have is
    left out: nobody is given one that costs more. An empty word is its default.
    """
    tier = envelope.parameters.service_tier
    if tier is None or envelope.semantics.source is protocol:
        return []
    word = words.get(tier.value)
    name = with_key(f"service_tier “{tier.value}”", tier.origin)
    if not word:
        why = "has no such tier" if word is None else "chooses the tier itself where none is set"
        notes.append(setting_note(tier, name, f"{protocol.label} {why}", Level.INFO))
    elif tier.value in _FAST and word != tier.value:
        sentence = f"{name} is sent as “{word}”."
        notes.append(setting_changed_note(tier, sentence, Level.INFO))
    return [(key, tree_of(word, tier.origin))] if word else []


_FAST = frozenset({"fast", "ultrafast"})
"""Tiers of OpenAI whose nearest elsewhere is another word; `default` is only called otherwise."""


def stop_sequences(
    stop: Sourced[tuple[str, ...]] | None, most: int, notes: list[Note], *, blank: bool = True
) -> Sourced[tuple[str, ...]] | None:
    """Return the stop sequences that may be sent: the first ones, and no blank ones if `blank`
    is false.
    """
    if stop is None:
        return None
    fit = [text for text in stop.value if blank or text.strip()][:most]
    gone = [repr(text) for text in stop.value if not (blank or text.strip())]
    if gone:
        why = "a stop sequence of white space alone is refused"
        notes.append(setting_note(stop, f"stop {', '.join(gone)}", why))
    if len(fit) + len(gone) < len(stop.value):
        rest = [repr(text) for text in stop.value if blank or text.strip()][most:]
        why = f"at most {most} stop sequences are accepted" if most else "the model accepts none"
        notes.append(setting_note(stop, f"stop {', '.join(rest)}", why))
    return Sourced(tuple(fit), stop.origin) if fit else None


def usable_tool_choice(
    envelope: ChatEnvelope,
    protocol: Protocol,
    sent: Collection[str],
    aliases: Mapping[str, str],
    notes: list[Note],
) -> Sourced[ToolChoice] | None:
    """Return the tool choice, limited to the tools that are sent (under these names). In its own
    protocol a captured one is unchanged.
    """
    choice = envelope.parameters.tool_choice
    if choice is None or (envelope.semantics.source is protocol and not aliases):
        return choice
    if not sent:
        # A choice of none takes nothing away where there are no tools.
        level = Level.INFO if choice.value.mode == "none" else Level.WARNING
        notes.append(setting_note(choice, "tool_choice", "no tools are sent", level))
        return None
    if not choice.value.names or choice.value.mode == "none":
        return choice
    names = tuple(aliases.get(name, name) for name in choice.value.names)
    known = tuple(name for name in names if name in sent)
    if known != names:
        gone = ", ".join(name for name in names if name not in sent)
        notes.append(setting_note(choice, f"tool_choice {gone}", "no such tool is sent"))
        if not known:
            return None
    if len(known) > 1 and set(known) == set(sent):
        known = ()  # all there are
    return Sourced(ToolChoice(choice.value.mode, known), choice.origin)


def namespace_items(namespace: Namespace, skip: Collection[str] = ()) -> Iterator[tuple[str, Tree]]:
    """Yield what a namespace holds, under its keys in the body; `skip` are names of fields."""
    for field in dataclasses.fields(namespace):
        value = getattr(namespace, field.name)
        if value is not UNSET and field.name not in skip and field.name not in namespace.form_only:
            key = namespace.keys.get(field.name, field.name)
            yield key, tree_of(value, captured_origin(key))


def extra_items(envelope: ChatEnvelope, protocol: Protocol) -> Iterator[tuple[str, Tree]]:
    """Yield the undocumented top-level keys, for the protocol they came from."""
    for key, value in envelope.semantics.provider_extras.get(protocol, {}).items():
        yield key, tree_of(value, captured_origin(key))


def with_native_tools(
    tools: Sequence[Tree], native: Sequence[NativeTool], protocol: Protocol
) -> tuple[Tree, ...]:
    """Return functions and the provider's own tools of a captured request in their order."""
    written = list(tools)
    for tool in sorted(native, key=lambda tool: tool.position):
        if tool.protocol is protocol and tool.item is None:
            written.insert(tool.position, tool_tree(json.loads(tool.data)))
    return tuple(written)


def tool_tree(value: JsonValue, prefix: str = "") -> Tree:
    """Return the `tools` of a captured request, or an entry of them, each definition with its
    origin. `prefix` is that of the names.
    """
    if isinstance(value, Mapping):
        rest = {key: inner for key, inner in value.items() if key not in GROUPS}
        origin = tool_origin(prefix + name_in(rest)) if rest else GLUE
        inside = prefix_in(value)
        items = (
            (clean(key), tool_tree(inner, inside) if key in GROUPS else tree_of(inner, origin))
            for key, inner in value.items()
        )
        return Obj(tuple(items), origin)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Arr(tuple(tool_tree(each, prefix) for each in value))
    return tree_of(value)


def override(items: Items, more: Iterator[tuple[str, Tree]]) -> Items:
    """Return the items merged; a later value wins."""
    return list((dict(items) | dict(more)).items())


_GEMINI_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def json_schema(schema: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """Return a schema as JSON Schema: Gemini's own form has types in capitals, and `nullable`."""
    return dict(schema) if dialect == "json" else _from_gemini_schema(schema)


def _from_gemini_schema(value: Any) -> Any:
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for key, inner in value.items():  # type: ignore[misc]
            if key == "type" and isinstance(inner, str) and inner in _GEMINI_TYPES:
                found[key] = inner.lower()
            elif key == "propertyOrdering":
                continue
            elif key in ("enum", "example", "default", "required"):
                found[key] = inner
            else:
                found[str(key)] = _from_gemini_schema(inner)  # type: ignore[arg-type]
        if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
            found["type"] = [found["type"], "null"]
        return found
    if isinstance(value, list):
        return [_from_gemini_schema(each) for each in value]  # type: ignore[misc]
    return value


def object_schema(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool's schema as the object schema that some protocols require."""
    schema = json_schema(tool.parameters, tool.dialect)
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def mentions_json(envelope: ChatEnvelope) -> bool:
    """Return True if the word “json” occurs, which OpenAI requires for `json_object`."""
    return any("json" in turn.text.plain.lower() for turn in envelope.turns)


def wanted_format(
    form: Sourced[ResponseFormat] | None, notes: list[Note]
) -> Sourced[ResponseFormat] | None:
    """Return the reply's format; None for plain text, which every protocol sends without it."""
    if form is not None and form.value.kind == "text":
        why = "a reply is plain text anyway"
        notes.append(setting_note(form, "the response format “text”", why, Level.INFO))
        return None
    return form


def openai_format(
    form: Sourced[ResponseFormat] | None, envelope: ChatEnvelope, notes: list[Note]
) -> Sourced[ResponseFormat] | None:
    """Return the reply's format as OpenAI accepts it."""
    form = wanted_format(form, notes)
    if form is None:
        return None
    if form.value.kind == "json" and not mentions_json(envelope):
        why = "OpenAI requires the word “json” in the messages for it"
        notes.append(setting_note(form, "the response format “json”", why))
        return None
    if form.value.kind == "schema":
        schema = json_schema(form.value.schema or {}, form.value.dialect)
        fit = dataclasses.replace(form.value, schema=schema, dialect="json")
        if not fit.name:
            fit = dataclasses.replace(fit, name=_schema_name(schema))
            sentence = f"OpenAI requires a name for the reply's schema: “{fit.name}” is sent."
            notes.append(default_note(form.origin, sentence))
        return Sourced(fit, form.origin)
    return form


_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _schema_name(schema: Mapping[str, Any]) -> str:
    """Return a name for a schema that has none: its title if OpenAI accepts that."""
    title = schema.get("title")
    return title if isinstance(title, str) and _SCHEMA_NAME.fullmatch(title) else "reply"


def schema_only_format(
    form: Sourced[ResponseFormat], protocol: Protocol, notes: list[Note]
) -> Sourced[ResponseFormat]:
    """Return the reply's format for a protocol that has only the schema, and always enforces it."""
    lost = [
        (Level.WARNING, "description", form.value.description),
        (Level.INFO, "name", form.value.name),
    ]
    for level, what, value in lost:
        if value:
            why = f"{protocol.label} has no field for it"
            notes.append(setting_note(form, f"the {what} of the reply's schema", why, level))
    strict = form.value.strict
    if strict is False or (strict is True and protocol is Protocol.GEMINI):
        word = "true" if strict else "false"
        sentence = f"{protocol.label} has no “strict” for the reply's schema and always "
        sentence += f"enforces it; “strict: {word}” is left out."
        notes.append(setting_changed_note(form, sentence, Level.INFO if strict else Level.WARNING))
    if form.value.kind == "schema" and not form.value.schema:
        sentence = f"The reply's schema is empty; {protocol.label} may send any JSON."
        notes.append(setting_changed_note(form, sentence))
    return form


def closed_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a JSON Schema whose objects accept only the properties that they name, as Anthropic
    requires, and True if that changed anything.
    """
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
        return [_closed("items", each) for each in cast("list[Any]", value)]
    return value


def strict_notes(tools: Sequence[ToolDefinition], protocol: Protocol) -> Iterator[Note]:
    """Yield a note for each tool with `strict`, for a protocol that does not have it."""
    for tool in tools:
        if tool.strict is not None:
            word = "true" if tool.strict else "false"
            sentence = f"{protocol.label} has no “strict” for tools; “strict: {word}” of "
            sentence += f"“{tool.name}” is left out."
            level = Level.WARNING if tool.strict else Level.INFO
            yield Note(level, "tool-extras-left-out", sentence, captured_origin("tools"))
