"""The smallest parts of a tree, which every encoder uses.

1. What the protocol prescribes is a `constant`; a field of a message other than its text is a
   `field_string`; a message's text is `Str(turn.text)` or a slice of it, so that its characters
   keep their origins.
2. A value that was kept as JSON for pass-through replaces what the encoder made.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, Turn
from tui_chat.models.json_tree import Obj, Str, Tree, tree_of
from tui_chat.models.message import ToolCall
from tui_chat.models.reply import MADE_ID
from tui_chat.models.semantics import WireForm
from tui_chat.models.text import GLUE, Origin, OriginKind, Text, clean

Items = list[tuple[str, Tree]]
"""The keys and values of an object that is being built."""

FILLER = "."
"""The smallest text that every provider accepts where it demands one and nobody wrote any."""


@lru_cache(maxsize=256)
def constant(text: str) -> Str:
    """Return a string that belongs to the protocol's structure. The same object for the same
    string: a request has `user` and `text` thousands of times.
    """
    return Str(Text.glue(text))


def field_origin(origin: Origin, what: str) -> Origin:
    """Return the origin of a field of a message that is not its text: an id, the arguments of a
    call, the bytes of a picture. It leads to the message by its id and by `within`.
    """
    return Origin(origin.kind, origin.id, what, within=origin)


def field_string(text: str, origin: Origin, what: str) -> Str:
    """Return a string that is a field of `origin`, called `what`."""
    return Str(Text.of(clean(text), field_origin(origin, what)))


def setting_value(sourced: Sourced[Any]) -> Tree:
    """Return a parameter's value, its origin being who set it."""
    return tree_of(sourced.value, sourced.origin)


def default_origin(name: str, why: str) -> Origin:
    """Return the origin of a setting that we send although it is not set."""
    return Origin(OriginKind.SETTING, name, f"{name}: {why}")


def captured_origin(name: str) -> Origin:
    """Return the origin of a setting that is passed on from a captured request."""
    return Origin(OriginKind.SETTING, name, f"{name}, from the captured request")


def is_same_model(envelope: ChatEnvelope, protocol: Protocol) -> bool:
    """Return True if a request was captured from this protocol and its model was not replaced:
    then it is sent as it was, whatever is known of the model.
    """
    is_captured_model = envelope.parameters.model.origin == captured_origin("model")
    return envelope.semantics.source is protocol and is_captured_model


def tool_origin(name: str) -> Origin:
    """Return the origin of a tool's definition."""
    return Origin(OriginKind.TOOL, name)


def native_form(turn: Turn, protocol: Protocol) -> WireForm | None:
    """Return how the turn was written, where it was written in this protocol."""
    form = turn.semantics.wire
    return form if form is not None and form.protocol is protocol else None


def sent_id(turn: Turn, id: str) -> str:
    """Return the id of a call for a protocol that needs none: empty if we made it up."""
    return "" if turn.semantics.wire is None and MADE_ID.fullmatch(id) else id


def parse_json(data: str, origin: Origin, what: str) -> Tree:
    """Return the tree of a value that was kept as JSON text."""
    return tree_of(json.loads(data), field_origin(origin, what))


def merge_extras(items: Items, extras: str, origin: Origin) -> Items:
    """Return an object's items with the extras (compact JSON) over them, objects into objects."""
    if not extras:
        return items
    more = cast("Obj", parse_json(extras, origin, "what only its provider understands"))
    return list(_merge(items, more))


def _merge(items: Items, more: Obj) -> Items:
    result = dict(items)
    for key, value in more.items:
        existing = result.get(key)
        if isinstance(existing, Obj) and isinstance(value, Obj):
            result[key] = Obj(tuple(_merge(list(existing.items), value)), existing.origin)
        else:
            result[key] = value
    return list(result.items())


def arguments_object(call: ToolCall, origin: Origin) -> tuple[Obj, bool]:
    """Return a call's arguments as the object that some protocols demand, and True if they
    were one. Anything else is kept whole, under the key `arguments`.
    """
    source = field_origin(origin, f"arguments of {call.name}")
    try:
        value: Any = json.loads(call.arguments) if call.arguments.strip() else {}
        if isinstance(value, dict):
            return cast("Obj", tree_of(cast("dict[str, Any]", value), source)), True
    except (ValueError, RecursionError):  # NaN and Infinity too, which Python's reader lets pass
        pass
    return Obj((("arguments", field_string(call.arguments, origin, source.name)),), source), False


def arguments_note(turn: Turn, call: ToolCall) -> Note:
    """Return the note for arguments that had to be wrapped."""
    sentence = f"The arguments of “{call.name}” are not a JSON object; they are sent as a text in "
    sentence += "one."
    return Note(Level.WARNING, "arguments-wrapped", sentence, turn.origin)


NOTHING_TO_SEND = Note(Level.ERROR, "nothing-to-send", "There is no message to send yet.")


def filler_note(why: str) -> Note:
    """Return the note on a message that is added."""
    sentence = f"The user message “{FILLER}” is added: {why}."
    return Note(Level.WARNING, "filler-added", sentence, GLUE)
