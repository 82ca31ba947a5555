"""Settings of a request, on their way to the wire.

1. A setting that the model or the protocol refuses is left out, with a note: the request is
   worth more than the setting.
2. In the protocol it was captured from, a setting is said as it was. Where the namespace holds
   the protocol's own word for it, that word is said.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tui_chat.model.endpoint import ModelFacts, Protocol
from tui_chat.model.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    ResponseFormat,
    Sourced,
    ToolChoice,
    ToolDefinition,
)
from tui_chat.model.json_tree import Tree, tree_of
from tui_chat.model.namespaces import UNSET, NativeTool
from tui_chat.wire.encoding import Items, passed_on, setting
from tui_chat.wire.left_out import setting_left_out


def numbers(
    asked: Sequence[tuple[str, Sourced[Any] | None, float, float]], notes: list[Note], *, own: bool
) -> Iterator[tuple[str, Tree]]:
    """Yield numeric settings under their names on the wire, those out of range left out."""
    for key, value, low, high in asked:
        if value is None:
            continue
        if own or low <= value.value <= high:
            yield key, setting(value)
        else:
            why = f"{value.value} is not within {low:g} and {high:g}"
            notes.append(setting_left_out(value, key, why))


def sampling(
    asked: Sequence[tuple[str, Sourced[Any] | None, float, float]],
    parameters: Parameters,
    facts: ModelFacts,
    notes: list[Note],
    *,
    own: bool,
) -> Iterator[tuple[str, Tree]]:
    """Yield sampling settings, unless the model is known to take none."""
    if facts.sampling is not False or own:
        yield from numbers(asked, notes, own=own)
        return
    for key, value, _, _ in asked:
        if value is not None:
            notes.append(sampling_left_out(parameters, key, value))


def sampling_left_out(parameters: Parameters, key: str, value: Sourced[Any]) -> Note:
    """Return the note for a sampling setting that the model takes no more."""
    sentence = f"{parameters.model.value} takes no {key}, so none is sent."
    return Note(Level.INFO, "sampling-left-out", sentence, value.origin)


def reply_limit(limit: Sourced[int] | None, notes: list[Note], *, own: bool) -> Sourced[int] | None:
    """Return the reply limit; none where it would allow no reply at all."""
    if limit is None or own or limit.value > 0:
        return limit
    notes.append(setting_left_out(limit, "max_tokens", f"{limit.value} allows no reply"))
    return None


_EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def effort(asked: Parameters, notes: list[Note], *, own: bool) -> Sourced[str] | None:
    """Return how much OpenAI is to reason, where it is a word that OpenAI knows."""
    if asked.effort is None or own or asked.effort.value in _EFFORTS:
        return asked.effort
    why = f"“{asked.effort.value}” is none of {', '.join(sorted(_EFFORTS))}"
    notes.append(setting_left_out(asked.effort, "reasoning effort", why))
    return None


def stops(
    stop: Sourced[tuple[str, ...]] | None, most: int, notes: list[Note], *, blank: bool = True
) -> Sourced[tuple[str, ...]] | None:
    """Return the stop sequences that may be sent: the first ones, and no blank ones if `blank`
    is false.
    """
    if stop is None:
        return None
    fit = [text for text in stop.value if blank or text.strip()][:most]
    if len(fit) < len(stop.value):
        gone = [text for text in stop.value if text not in fit]
        why = f"at most {most} stop sequences, none of them blank, are taken"
        notes.append(setting_left_out(stop, f"stop {gone!r}", why))
    return Sourced(tuple(fit), stop.origin) if fit else None


def usable_choice(
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
        if choice.value.mode != "none":
            notes.append(setting_left_out(choice, "tool_choice", "no tools are sent"))
        return None
    if not choice.value.names or choice.value.mode == "none":
        return choice
    names = tuple(aliases.get(name, name) for name in choice.value.names)
    known = tuple(name for name in names if name in sent)
    if known != names:
        gone = ", ".join(name for name in names if name not in sent)
        notes.append(setting_left_out(choice, f"tool_choice {gone}", "no such tool is sent"))
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
            yield key, tree_of(value, passed_on(key))


def extra_items(envelope: ChatEnvelope, protocol: Protocol) -> Iterator[tuple[str, Tree]]:
    """Yield the top-level keys that nobody documents, for the protocol they came from."""
    for key, value in envelope.semantics.provider_extras.get(protocol, {}).items():
        yield key, tree_of(value, passed_on(key))


def in_order(
    tools: Sequence[Tree], native: Sequence[NativeTool], protocol: Protocol
) -> tuple[Tree, ...]:
    """Return all tools at the places that they had: ours, and the provider's own."""
    said = list(tools)
    for tool in sorted(native, key=lambda tool: tool.position):
        if tool.protocol is protocol:
            said.insert(tool.position, tree_of(json.loads(tool.data), passed_on("tools")))
    return tuple(said)


def over(items: Items, more: Iterator[tuple[str, Tree]]) -> Items:
    """Return the items with more of them; a later one wins."""
    return list((dict(items) | dict(more)).items())


_GEMINI_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def json_schema(schema: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """Return a schema as JSON Schema: Gemini's own form has types in capitals, and `nullable`."""
    return dict(schema) if dialect == "json" else _lowered(schema)


def _lowered(value: Any) -> Any:
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
                found[str(key)] = _lowered(inner)  # type: ignore[arg-type]
        if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
            found["type"] = [found["type"], "null"]
        return found
    if isinstance(value, list):
        return [_lowered(each) for each in value]  # type: ignore[misc]
    return value


def object_schema(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool's schema as the object schema that some protocols demand."""
    schema = json_schema(tool.parameters, tool.dialect)
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def says_json(envelope: ChatEnvelope) -> bool:
    """Whether the conversation says the word “json”, which OpenAI's `json_object` demands."""
    return any("json" in turn.text.plain.lower() for turn in envelope.turns)


def open_format(
    form: Sourced[ResponseFormat] | None, envelope: ChatEnvelope, notes: list[Note]
) -> Sourced[ResponseFormat] | None:
    """Return the reply's form as OpenAI takes it."""
    if form is None or form.value.kind == "text":
        return None
    if form.value.kind == "json" and not says_json(envelope):
        why = "without a schema it demands the word “json” in the messages, and they lack it"
        notes.append(setting_left_out(form, "the response format “json”", why))
        return None
    if form.value.kind == "schema":
        schema = json_schema(form.value.schema or {}, form.value.dialect)
        fit = dataclasses.replace(form.value, schema=schema, dialect="json")
        return Sourced(fit, form.origin)
    return form
