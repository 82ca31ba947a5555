"""Settings that are one value under one key. A protocol lists them in a table, by which they are
read from a captured request and written to a request.

1. A value of another type than the table says stays where it is, and so does a second key of the
   same parameter.
2. Values out of range are left out, with a note. So are sampling settings that the model is known,
   or likely, to refuse at the reasoning effort that is sent.
3. In the protocol it was captured from, a setting is sent as it was; sampling settings only to the
   model of the captured request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced
from tui_chat.models.model_facts import is_newer_claude
from tui_chat.protocols.common.encoding import Items, setting_value
from tui_chat.protocols.common.loss_notes import setting_note, with_key
from tui_chat.protocols.common.request_fields import Fields, captured_model, sourced

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
