"""Settings of a request, as far as a protocol and a model accept them.

1. Settings that are one value under one key are in a protocol's table of `Scalar`s, by which they
   are read from a captured request and written to a request. A value of another type than the
   table says stays where it is, and so does a second key of the same parameter.
2. A setting that the model or the protocol refuses, or a value out of range, is left out, with a
   note, so that the request is answered. So are sampling settings that the model is known, or
   likely, to refuse at the reasoning effort that is sent.
3. In the protocol it was captured from, a setting is sent as it was; sampling settings only to the
   model of the captured request. A value in the protocol's namespace wins over the unified one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced
from tui_chat.models.json_tree import Tree, tree_of
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.models.semantics import UNSET, Namespace
from tui_chat.models.settings import ToolChoice
from tui_chat.protocols.common.decoding import captured_model, sourced
from tui_chat.protocols.common.encoding import Items, captured_origin, setting_value
from tui_chat.protocols.common.loss_notes import setting_changed_note, setting_note, with_key
from tui_chat.protocols.common.request_fields import Fields

NUMBER = Fields.take_number
INTEGER = Fields.take_integer
BOOLEAN = Fields.take_boolean
TEXT = Fields.take_text
TEXTS = Fields.take_strings
_ABSENT = (None, "", ())


@dataclass(frozen=True, slots=True)
class Scalar:
    """A row of the table: a parameter, and the key that a protocol has for it."""

    parameter: str
    """The field of `Parameters`."""
    key: str
    take: Callable[[Fields, str], Any]
    """Takes a value of the right type out of the request."""
    low: float = -inf
    high: float = inf
    """The range that the protocol accepts."""
    is_sampling: bool = False
    """True if models may refuse it."""


Table: TypeAlias = Sequence[Scalar]


def read_scalars(fields: Fields, table: Table) -> dict[str, Any]:
    """Take the settings of a table out of a request. Returns them by the names of parameters."""
    values: dict[str, Any] = {}
    for row in table:
        if row.parameter not in values and (value := row.take(fields, row.key)) not in _ABSENT:
            values[row.parameter] = sourced(row.key, value)
    return values


def write_scalars(
    table: Table,
    envelope: ChatEnvelope,
    endpoint: Endpoint,
    notes: list[Note],
    **adapted: Sourced[Any] | None,
) -> Items:
    """Return the settings of a table as they are sent. `adapted` are parameters that are sent with
    another value than the envelope has.
    """
    parameters = replace(envelope.parameters, **adapted)
    captured = envelope.semantics.source is endpoint.protocol
    unchanged = is_same_model(envelope, endpoint.protocol)
    refused = "" if unchanged else _sampling_refused(parameters, endpoint)
    items: Items = []
    for row in table:
        value: Sourced[Any] | None = getattr(parameters, row.parameter)
        if value is None:
            continue
        if row.is_sampling and refused:
            sentence = f"{with_key(row.key, value.origin)} is not sent: {refused}."
            notes.append(Note(Level.INFO, "sampling-left-out", sentence, value.origin))
        elif _is_within(row, value.value) or (unchanged if row.is_sampling else captured):
            items.append((row.key, setting_value(value)))
        else:
            why = f"{value.value} is not within {row.low:g} and {row.high:g}"
            notes.append(setting_note(value, row.key, why))
    return items


def _is_within(row: Scalar, value: Any) -> bool:
    return not isinstance(value, int | float) or row.low <= value <= row.high


def _sampling_refused(parameters: Parameters, endpoint: Endpoint) -> str:
    """Return why a model gets no sampling settings; empty if it gets them."""
    model = parameters.model.value
    facts = endpoint.facts_of(model)
    if facts.sampling is not None:
        return "" if facts.sampling else f"{model} accepts no sampling settings"
    if facts.sampling_efforts is not None:
        if (parameters.effort.value if parameters.effort else "") in facts.sampling_efforts:
            return ""
        return f"{model} accepts sampling settings only at the reasoning effort “none”"
    if is_newer_claude(model):
        why = f"it is not known whether {model} accepts sampling settings"
        return f"{why}, and the newest known Claude models refuse them"
    return ""


def is_same_model(envelope: ChatEnvelope, protocol: Protocol) -> bool:
    """Return True if a request was captured from this protocol and its model was not replaced:
    then it is sent as it was, whatever is known of the model.
    """
    model = envelope.parameters.model
    return (
        envelope.semantics.source is protocol and model.origin == captured_model(model.value).origin
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
    sent_names = tuple(name for name in names if name in sent)
    if sent_names != names:
        gone = ", ".join(name for name in names if name not in sent)
        notes.append(setting_note(choice, f"tool_choice {gone}", "no such tool is sent"))
        if not sent_names:
            return None
    if len(sent_names) > 1 and set(sent_names) == set(sent):
        sent_names = ()  # all there are
    return Sourced(ToolChoice(choice.value.mode, sent_names), choice.origin)


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


def override(items: Items, more: Iterator[tuple[str, Tree]]) -> Items:
    """Return the items merged; a later value wins."""
    return list((dict(items) | dict(more)).items())
