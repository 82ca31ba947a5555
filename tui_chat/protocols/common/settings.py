"""Settings of a request, as far as a protocol and a model take them.

1. A setting that the model or the protocol refuses is left out, with a note: the request is
   worth more than the setting.
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
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    ResponseFormat,
    Sourced,
    ToolChoice,
    ToolDefinition,
)
from tui_chat.models.json_tree import Tree, tree_of
from tui_chat.models.model_facts import ModelFacts, is_newer_claude
from tui_chat.models.semantics import UNSET, NativeTool
from tui_chat.protocols.common.encoding import Items, captured_origin, setting_value
from tui_chat.protocols.common.loss_notes import default_note, setting_changed_note, setting_note


def numeric_settings(
    asked: Sequence[tuple[str, Sourced[Any] | None, float, float]],
    notes: list[Note],
    *,
    captured: bool,
) -> Iterator[tuple[str, Tree]]:
    """Yield numeric settings under their names on the wire, those out of range left out."""
    for key, value, low, high in asked:
        if value is None:
            continue
        if captured or low <= value.value <= high:
            yield key, setting_value(value)
        else:
            why = f"{value.value} is not within {low:g} and {high:g}"
            notes.append(setting_note(value, key, why))


def sampling_settings(
    asked: Sequence[tuple[str, Sourced[Any] | None, float, float]],
    parameters: Parameters,
    facts: ModelFacts,
    notes: list[Note],
    *,
    captured: bool,
) -> Iterator[tuple[str, Tree]]:
    """Yield sampling settings, unless the model is known to take none, or likely to."""
    why = "" if captured else _sampling_refused(parameters, facts)
    if not why:
        yield from numeric_settings(asked, notes, captured=captured)
        return
    for key, value, _, _ in asked:
        if value is not None:
            sentence = f"{key} is not sent: {why}."
            notes.append(Note(Level.INFO, "sampling-left-out", sentence, value.origin))


def _sampling_refused(parameters: Parameters, facts: ModelFacts) -> str:
    """Return why a model gets no sampling settings; empty where it gets them."""
    model = parameters.model.value
    if facts.sampling is not None:
        return "" if facts.sampling else f"{model} takes no sampling settings"
    if facts.sampling_efforts is not None:
        effort = parameters.effort.value if parameters.effort is not None else ""
        if effort in facts.sampling_efforts:
            return ""
        return f"{model} takes sampling settings only at the reasoning effort “none”"
    if is_newer_claude(model):
        return f"nothing is known of {model}, and the newest known Claude models refuse it"
    return ""


def reply_limit(
    envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]
) -> Sourced[int] | None:
    """Return the reply limit; none where it would allow no reply at all, and no more than the
    model is known to accept.
    """
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
    sentence = f"The reply limit of {limit.value:,} tokens is sent as {most:,}, the most that "
    sentence += f"{model} accepts."
    notes.append(Note(Level.WARNING, "setting-changed", sentence, limit.origin))
    return Sourced(most, limit.origin)


_EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def openai_effort(asked: Parameters, notes: list[Note], *, captured: bool) -> Sourced[str] | None:
    """Return how much OpenAI is to reason, where it is a word that OpenAI knows."""
    if asked.effort is None or captured or asked.effort.value in _EFFORTS:
        return asked.effort
    why = f"“{asked.effort.value}” is none of {', '.join(sorted(_EFFORTS))}"
    notes.append(setting_note(asked.effort, "reasoning effort", why))
    return None


def effort_notes(effort: Sourced[str] | None, protocol: Protocol) -> list[Note]:
    """Return the note for OpenAI's reasoning effort, which is not translated for others yet."""
    if effort is None:
        return []
    why = f"it is not translated into a setting of {protocol.label}"
    return [setting_note(effort, f"the reasoning effort “{effort.value}”", why)]


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
        why = "a stop sequence of nothing but white space is refused"
        notes.append(setting_note(stop, f"stop {', '.join(gone)}", why))
    if len(fit) + len(gone) < len(stop.value):
        rest = [repr(text) for text in stop.value if blank or text.strip()][most:]
        why = f"at most {most} stop sequences are taken"
        notes.append(setting_note(stop, f"stop {', '.join(rest)}", why))
    return Sourced(tuple(fit), stop.origin) if fit else None


def usable_tool_choice(
    envelope: ChatEnvelope,
    protocol: Protocol,
    sent: Collection[str],
    aliases: Mapping[str, str],
    notes: list[Note],
) -> Sourced[ToolChoice] | None:
    """Return the tool choice, as far as the tools it speaks of are sent (under these names). In
    the protocol it was captured from it stays as it was.
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


def namespace_items(
    namespace: Any, skip: Collection[str] = (), spelled: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Tree]]:
    """Yield what a namespace holds, under its names on the wire."""
    for field in dataclasses.fields(namespace):
        value = getattr(namespace, field.name)
        if value is not UNSET and field.name not in skip:
            key = spelled.get(field.name, field.name) if spelled else field.name
            yield key, tree_of(value, captured_origin(key))


def extra_items(envelope: ChatEnvelope, protocol: Protocol) -> Iterator[tuple[str, Tree]]:
    """Yield the top-level keys that nobody documents, for the protocol they came from."""
    for key, value in envelope.semantics.provider_extras.get(protocol, {}).items():
        yield key, tree_of(value, captured_origin(key))


def all_tools(
    tools: Sequence[Tree], native: Sequence[NativeTool], protocol: Protocol
) -> tuple[Tree, ...]:
    """Return all tools at the places that they had: ours, and the provider's own."""
    word = list(tools)
    for tool in sorted(native, key=lambda tool: tool.position):
        if tool.protocol is protocol:
            word.insert(tool.position, tree_of(json.loads(tool.data), captured_origin("tools")))
    return tuple(word)


def override(items: Items, more: Iterator[tuple[str, Tree]]) -> Items:
    """Return the items with more of them; a later one wins."""
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
    """Return a tool's schema as the object schema that some protocols demand."""
    schema = json_schema(tool.parameters, tool.dialect)
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def mentions_json(envelope: ChatEnvelope) -> bool:
    """Return True if the word “json” occurs, which OpenAI demands for `json_object`."""
    return any("json" in turn.text.plain.lower() for turn in envelope.turns)


def openai_format(
    form: Sourced[ResponseFormat] | None, envelope: ChatEnvelope, notes: list[Note]
) -> Sourced[ResponseFormat] | None:
    """Return the reply's form as OpenAI takes it."""
    if form is None or form.value.kind == "text":
        return None
    if form.value.kind == "json" and not mentions_json(envelope):
        why = "without a schema it demands the word “json” in the messages, and they lack it"
        notes.append(setting_note(form, "the response format “json”", why))
        return None
    if form.value.kind == "schema":
        schema = json_schema(form.value.schema or {}, form.value.dialect)
        fit = dataclasses.replace(form.value, schema=schema, dialect="json")
        if not fit.name:
            fit = dataclasses.replace(fit, name=_schema_name(schema))
            sentence = f"The reply's schema has no name and OpenAI demands one: “{fit.name}”."
            notes.append(default_note(form.origin, sentence))
        return Sourced(fit, form.origin)
    return form


_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _schema_name(schema: Mapping[str, Any]) -> str:
    """Return a name for a schema that has none: its title, where OpenAI takes that."""
    title = schema.get("title")
    return title if isinstance(title, str) and _SCHEMA_NAME.fullmatch(title) else "reply"


def schema_only_format(
    form: Sourced[ResponseFormat], protocol: Protocol, notes: list[Note]
) -> Sourced[ResponseFormat]:
    """Return the reply's form for a protocol that has no words for it but the schema, and holds
    every reply to that.
    """
    lost = [
        (Level.WARNING, "description", form.value.description),
        (Level.INFO, "name", form.value.name),
    ]
    for level, what, value in lost:
        if value:
            why = f"{protocol.label} has no place for it"
            notes.append(setting_note(form, f"the {what} of the reply's schema", why, level))
    strict = form.value.strict
    if strict is False or (strict is True and protocol is Protocol.GEMINI):
        word = "true" if strict else "false"
        sentence = f"{protocol.label} has no “strict” for the reply's schema and holds every reply "
        sentence += f"to it; “strict: {word}” is left out."
        notes.append(setting_changed_note(form, sentence, Level.INFO if strict else Level.WARNING))
    if form.value.kind == "schema" and not form.value.schema:
        sentence = f"The reply's schema is empty; {protocol.label} is asked for any JSON."
        notes.append(setting_changed_note(form, sentence))
    return form


def closed_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a JSON Schema whose objects take no other properties than those they name, as
    Anthropic demands it, and whether that changed anything.
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
    """Yield a note for each tool that says whether its arguments follow the schema strictly, for a
    protocol that has no such word.
    """
    for tool in tools:
        if tool.strict is not None:
            word = "true" if tool.strict else "false"
            sentence = f"{protocol.label} has no “strict” for tools; “strict: {word}” of "
            sentence += f"“{tool.name}” is left out."
            level = Level.WARNING if tool.strict else Level.INFO
            yield Note(level, "tool-extras-left-out", sentence, captured_origin("tools"))
