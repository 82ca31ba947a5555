"""Notes on the tools and settings that a protocol cannot express.

1. A loss that changes the model's input or options is a warning; any other (a cache mark, a
   billing tag, a value that says what happens anyway) is information.
2. A note names a setting as its request does, so that it can be found there.
3. What is in `SILENT` vanishes without a note, for the reason given there.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced, Turn
from tui_chat.models.semantics import UNSET, Namespace
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.common.encoding import captured_origin

_UNIFIED = frozenset({"response_format", "stop", "tool_choice"})
"""Fields that hold a unified setting in a form that the unified field does not give back."""
SILENT: Mapping[str, str] = {
    "null, an empty text or list": "It sets nothing.",
    "model": "It is carried over, or replaced by the model that was asked for.",
    "stream": "Every protocol says it in its own way: a key, or Gemini's path.",
    "store: false": "Anthropic and Ollama store no replies.",
}
"""The values that another protocol's request may lack without a note, and why. The table in
docs/configuration.md is this one."""
_REDUNDANT = frozenset({"model", "stream"})
"""Fields that repeat a unified field; see `SILENT`."""
_MARKS = "Cache marks are sent to Anthropic, and to models of OpenAI that are known to accept them"


def setting_note(sourced: Sourced[Any], name: str, why: str, level: Level = Level.WARNING) -> Note:
    """Return the note for a unified setting that is not sent."""
    sentence = f"{with_key(name, sourced.origin)} is not sent: {why}."
    return Note(level, "setting-left-out", sentence, sourced.origin)


def with_key(label: str, origin: Origin) -> str:
    """Return a setting's label, with its keys in the request unless the label names them."""
    keys = (path.rpartition(".")[2] for path in origin.id.split(", "))
    is_named = all(re.search(rf"\b{re.escape(key)}\b", label) for key in keys)
    return label if is_named else f"{label} ({origin.id})"


def setting_changed_note(
    sourced: Sourced[Any], sentence: str, level: Level = Level.WARNING
) -> Note:
    """Return the note for a unified setting that is sent as another value."""
    return Note(level, "setting-changed", sentence, sourced.origin)


def default_note(origin: Origin, sentence: str) -> Note:
    """Return the note on a value that is not set and is sent because it is required."""
    return Note(Level.INFO, "default-invented", sentence, origin)


_LABELS = {
    "replies": "the number of replies",
    "user_id": "the user's identifier",
    "reasoning_summary": "the reasoning summary",
}
_INFORMATIONAL = frozenset({"service_tier", "user_id", "store"})
"""Parameters that change neither the prompt nor the reply."""
_IMPLIED: Mapping[str, tuple[object, str]] = {
    "replies": (1, "{} sends one reply anyway"),
    "reasoning_summary": ("none", "{} sends no summary anyway"),
    "parallel_tool_calls": (True, "{} allows several calls at once anyway"),
}
"""Values that say what happens anyway where there is no such setting, with that as the reason."""


def missing_notes(protocol: Protocol, parameters: Parameters, *names: str) -> Iterator[Note]:
    """Yield notes on the parameters, by their names, that a protocol does not have."""
    for name in names:
        value = cast("Sourced[Any] | None", getattr(parameters, name))
        if value is None or (name == "store" and value.value is False):
            continue
        label, why = _LABELS.get(name, name), "{} has no such setting"
        level = Level.INFO if name in _INFORMATIONAL else Level.WARNING
        if name == "logprobs":
            label = f"logprobs with top_logprobs {value.value}"
        implied = _IMPLIED.get(name)
        if implied is not None and implied[0] == value.value:
            level, why = Level.INFO, implied[1]
        yield setting_note(value, label, why.format(protocol.label), level)


_NO_PREFILL = (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES, Protocol.GEMINI)
"""Protocols whose documentation does not say that a reply continues a last message of the model."""
_WRITTEN = (OriginKind.PRESET, OriginKind.SETTING, OriginKind.LORE)


def begins_reply(turn: Turn | BlockTurn) -> bool:
    """Return True for a turn written as the beginning of a reply (a prefill), if it is last."""
    return turn.role == "assistant" and turn.origin.outermost.kind in _WRITTEN


def envelope_notes(
    envelope: ChatEnvelope, protocol: Protocol, shared: Collection[str] = ()
) -> Iterator[Note]:
    """Yield notes for the tools, settings and extras of other protocols that are left out.

    `shared`: settings that both protocols have under the same name, so that they are not.
    """
    semantics = envelope.semantics
    if envelope.cache_marks and protocol is not Protocol.ANTHROPIC:
        sentence = f"{_MARKS}; {envelope.cache_marks} of the preset "
        sentence += f"{'is' if envelope.cache_marks == 1 else 'are'} left out."
        yield Note(Level.INFO, "cache-mark-left-out", sentence)
    if semantics.source is None:
        if envelope.turns and protocol in _NO_PREFILL and begins_reply(envelope.turns[-1]):
            origin = envelope.turns[-1].origin
            sentence = f"The request ends with {origin.label} as the beginning of the reply. "
            sentence += f"{protocol.label} does not say that the reply continues it: it may begin "
            yield Note(Level.INFO, "prefill-undefined", f"{sentence}anew.", origin)
        return
    if semantics.source is protocol:
        return
    for native in semantics.tools.native:
        if native.hosted is None:
            yield _native_tool_note(native.name, native.protocol)
        elif native.lost:
            sentence = f"Keys of the tool “{native.name}” that are not carried over from "
            sentence += f"{native.protocol.label}: {', '.join(native.lost)}."
            yield Note(Level.WARNING, "tool-extras-left-out", sentence, captured_origin("tools"))
    namespace = semantics.settings
    for tool in envelope.tools or ():
        if tool.extras and (keys := meaningful_keys(tool.extras)):
            sentence = f"Keys of the tool “{tool.name}” that are not carried over from "
            sentence += f"{semantics.source.label}: {', '.join(keys)}."
            yield Note(Level.WARNING, "tool-extras-left-out", sentence, captured_origin("tools"))
    if semantics.session.previous_response_id and protocol is not Protocol.OPENAI_RESPONSES:
        sentence = (
            "The request continues a response that OpenAI keeps (previous_response_id "
            f"{semantics.session.previous_response_id}); the messages before it are missing here."
        )
        origin = captured_origin("previous_response_id")
        yield Note(Level.ERROR, "earlier-turns-missing", sentence, origin)
    if namespace is not None:
        held = semantics.unified | frozenset(shared)
        yield from _namespace_notes(namespace, envelope.parameters, held)
    for owner, extras in semantics.provider_extras.items():
        for key, value in extras.items():
            if owner is not protocol and value not in (None, "", []):
                yield _foreign_setting_note(key, owner, Level.WARNING)


def _native_tool_note(name: str, owner: Protocol) -> Note:
    sentence = f"The tool “{name}” has a form that only {owner.label} knows; it is left out."
    return Note(Level.WARNING, "tool-left-out", sentence, captured_origin("tools"))


def meaningful_keys(extras: str) -> list[str]:
    """Return the keys of extras (compact JSON) that have a value."""
    fields = cast("dict[str, Any]", json.loads(extras))
    return [
        key
        for key, value in fields.items()
        if value is not None and value not in ("", []) and key != "type"
    ]


def _namespace_notes(
    settings: Namespace, unified: Parameters, held: Collection[str]
) -> Iterator[Note]:
    """Yield notes on settings that are not held elsewhere, by their paths."""
    owner, redundant = settings.protocol, _REDUNDANT | settings.form_only
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value is UNSET or value is None or field.name in redundant or field.name in held:
            continue
        level = Level.INFO if field.name in settings.informational else Level.WARNING
        if field.name in _UNIFIED and getattr(unified, field.name) is not None:
            # The unified field holds it, also a bare string as the only stop sequence.
            if field.name != "stop":
                sentence = f"{field.name} is carried over without the form that it had for "
                sentence += f"{owner.label}."
                yield Note(Level.INFO, "setting-changed", sentence, captured_origin(field.name))
            continue
        if field.name in settings.earlier_turns:
            key = settings.keys.get(field.name, field.name)
            sentence = f"The request continues what {owner.label} keeps ({key}); the "
            sentence += "messages before it are missing here."
            origin = captured_origin(key)
            yield Note(Level.ERROR, "earlier-turns-missing", sentence, origin)
            continue
        for path in _unheld(value, field.name, held, is_group=field.name in settings.groups):
            yield _foreign_setting_note(settings.body_path(path), owner, level)


def _unheld(value: Any, path: str, held: Collection[str], *, is_group: bool) -> Iterator[str]:
    """Yield the paths of what no unified parameter holds, as deep as unified ones go."""
    if path in held or value in (None, "", []):
        return
    inside = any(held_path.startswith(f"{path}.") for held_path in held)
    if isinstance(value, dict) and (inside or (is_group and value)):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _unheld(inner, f"{path}.{key}", held, is_group=False)
    elif isinstance(value, list) and inside:
        words = cast("list[Any]", value)
        yield from (inner for word in words if (inner := f"{path}.{word}") not in held)
    else:
        yield path


def _foreign_setting_note(name: str, owner: Protocol, level: Level) -> Note:
    sentence = f"{name} was set for {owner.label} and is not carried over."
    return Note(level, "setting-left-out", sentence, captured_origin(name))
