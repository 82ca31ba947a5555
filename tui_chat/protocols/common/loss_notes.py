"""Notes for what a protocol cannot carry: of turns, of tools, of settings.

1. What changes what the model sees or may do is a warning; what only helps (a cache mark, a
   billing tag) is information.
2. An explicit null means nothing, so its loss is not reported.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced, Turn
from tui_chat.models.semantics import UNSET, Namespace, ReasoningBlock
from tui_chat.models.text import Origin
from tui_chat.protocols.common.encoding import captured_origin

_INFORMATIONAL = frozenset(
    {
        "background",
        "betas",
        "cache_control",
        "include",
        "inference_geo",
        "labels",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "speed",
        "store",
        "stream",
        "stream_options",
        "user",
    }
)
"""Settings that change neither what the model sees nor what it may say."""

_UNIFIED = frozenset({"response_format", "stop", "tool_choice"})
"""Fields that hold a unified setting in a form that the unified field does not say back."""
_REDUNDANT = frozenset(
    {
        "input_shape",
        "max_tokens_key",
        "model",
        "spelled",
        "stream",
        "system_instruction",
        "tool_groups",
        "tools_shape",
    }
)
"""Fields that repeat a unified field, or only say how something was written. `stream` holds
nothing but false, which every protocol says by not asking for a stream."""


def turn_notes(
    turn: Turn, protocol: Protocol, *, lost: Sequence[ReasoningBlock] = (), named: bool
) -> Iterator[Note]:
    """Yield notes for what a protocol cannot carry of a turn.

    `lost`: reasoning that is not sent. `named`: True if the speaker's name is sent.
    """
    semantics = turn.semantics
    if lost:
        others = dict.fromkeys(b.protocol.label for b in lost if b.protocol is not protocol)
        if others:
            sentence = f"Its reasoning came from {' and '.join(others)} and is replayed only there."
            yield Note(Level.WARNING, "reasoning-left-out", sentence, turn.origin)
        if any(block.protocol is protocol for block in lost):
            sentence = "Its reasoning has neither signature nor encrypted form and is not replayed."
            yield Note(Level.WARNING, "reasoning-left-out", sentence, turn.origin)
    if turn.name and not named and turn.role != "tool":
        sentence = f"{protocol.label} has no place for the name “{turn.name}”; it is left out."
        yield Note(Level.WARNING, "name-left-out", sentence, turn.origin)
    form = semantics.wire
    if form is not None and form.protocol is not protocol:
        yield from _extras_note(turn, form.extras, form.protocol)
    layout = semantics.layout
    if layout is None or layout.protocol is protocol:
        return
    for piece in layout.pieces:
        if piece.kind == "other":
            yield part_note(turn, piece.name or "a block", protocol)
        yield from _extras_note(turn, piece.extras, layout.protocol)
        if piece.cache and protocol is not Protocol.ANTHROPIC:
            sentence = "Cache marks are sent to Anthropic only; this one is left out."
            yield Note(Level.INFO, "cache-mark-left-out", sentence, turn.origin)


_IGNORED_EXTRAS = frozenset({"annotations", "status", "type", "index"})


def _extras_note(turn: Turn, extras: str, source: Protocol) -> Iterator[Note]:
    if not extras:
        return
    found = cast("dict[str, Any]", json.loads(extras))
    keys = [key for key, value in found.items() if value is not None and key not in _IGNORED_EXTRAS]
    if keys:
        sentence = f"Keys of {source.label} that are not carried over: {', '.join(keys)}."
        yield Note(Level.WARNING, "extras-left-out", sentence, turn.origin)


def part_note(turn: Turn, what: str, protocol: Protocol) -> Note:
    """Return the note for a piece of a turn that a protocol cannot carry there."""
    sentence = f"{protocol.label} cannot carry this here, so it is left out: {what}."
    return Note(Level.WARNING, "piece-left-out", sentence, turn.origin)


def blank_message_note(turn: Turn) -> Note:
    """Return the note for a turn without any content."""
    sentence = "A message of nothing but white space is refused, so it is left out."
    return Note(Level.WARNING, "blank-left-out", sentence, turn.origin)


def blank_text_note(turn: Turn) -> Note:
    """Return the note for blank text beside other content of a turn, such as a picture."""
    sentence = "Text of nothing but white space is refused, so it is left out."
    return Note(Level.INFO, "blank-text-left-out", sentence, turn.origin)


def system_moved_note(turn: Turn, what: str, why: str) -> Note:
    """Return the note for a later system turn that may not stay where it is."""
    sentence = f"A later system message is {what}: {why}."
    return Note(Level.WARNING, "system-moved", sentence, turn.origin)


def setting_note(sourced: Sourced[Any], name: str, why: str, level: Level = Level.WARNING) -> Note:
    """Return the note for a unified setting that is not sent."""
    return Note(level, "setting-left-out", f"{name} is not sent: {why}.", sourced.origin)


def setting_changed_note(
    sourced: Sourced[Any], sentence: str, level: Level = Level.WARNING
) -> Note:
    """Return the note for a unified setting that is sent as another value."""
    return Note(level, "setting-changed", sentence, sourced.origin)


def default_note(origin: Origin, sentence: str) -> Note:
    """Return the note for a value that nobody set and that is sent because somebody wants one."""
    return Note(Level.INFO, "default-invented", sentence, origin)


def unsupported_notes(
    protocol: Protocol, settings: Iterable[tuple[str, Sourced[Any] | None]]
) -> list[Note]:
    """Return notes for the settings, by name, that a protocol has no place for."""
    why = f"{protocol.label} has no such setting"
    return [setting_note(value, name, why) for name, value in settings if value is not None]


def envelope_notes(envelope: ChatEnvelope, protocol: Protocol) -> Iterator[Note]:
    """Yield notes for the tools, settings and extras of other protocols that are left out."""
    semantics = envelope.semantics
    if envelope.cache_marks and protocol is not Protocol.ANTHROPIC:
        sentence = f"Cache marks are sent to Anthropic only; {envelope.cache_marks} of the preset "
        sentence += f"{'is' if envelope.cache_marks == 1 else 'are'} left out."
        yield Note(Level.INFO, "cache-mark-left-out", sentence)
    if semantics.source is None:
        return
    for native in semantics.tools.native:
        if native.protocol is not protocol:
            yield _native_tool_note(native.name, native.protocol)
    if semantics.source is protocol:
        return
    for _, extras in semantics.gemini.tool_groups:
        if extras:
            for name in _meaningful_keys(extras):
                yield _native_tool_note(name, Protocol.GEMINI)
    for tool in envelope.tools or ():
        if tool.extras and (keys := _meaningful_keys(tool.extras)):
            sentence = f"Keys of the tool “{tool.name}” that are not carried over from "
            sentence += f"{semantics.source.label}: {', '.join(keys)}."
            yield Note(Level.WARNING, "tool-extras-left-out", sentence, captured_origin("tools"))
    if semantics.session.previous_response_id and protocol is not Protocol.OPENAI_RESPONSES:
        sentence = (
            "The request continues a response that OpenAI keeps "
            f"({semantics.session.previous_response_id}); what came before it is not in here."
        )
        origin = captured_origin("previous_response_id")
        yield Note(Level.ERROR, "earlier-turns-missing", sentence, origin)
    for namespace in semantics.namespaces:
        if namespace.protocol is not protocol:
            yield from _namespace_notes(namespace, envelope.parameters)
    for owner, extras in semantics.provider_extras.items():
        for key, value in extras.items():
            if owner is not protocol and value not in (None, ""):
                yield _foreign_setting_note(key, owner, Level.WARNING)


def _native_tool_note(name: str, owner: Protocol) -> Note:
    sentence = f"The tool “{name}” is defined in a form of {owner.label}'s own and is left out."
    return Note(Level.WARNING, "tool-left-out", sentence, captured_origin("tools"))


def _meaningful_keys(extras: str) -> list[str]:
    found = cast("dict[str, Any]", json.loads(extras))
    return [
        key
        for key, value in found.items()
        if value is not None and value not in ("", []) and key != "type"
    ]


def _namespace_notes(settings: Namespace, unified: Parameters) -> Iterator[Note]:
    owner = settings.protocol
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value is UNSET or value is None or field.name in _REDUNDANT:
            continue
        level = Level.INFO if field.name in _INFORMATIONAL else Level.WARNING
        if field.name in _UNIFIED and getattr(unified, field.name) is not None:
            # Read into the unified field; a bare string as the only stop sequence says no more.
            if field.name != "stop":
                sentence = f"{field.name} is carried over without the form that it had for "
                sentence += f"{owner.label}."
                yield Note(Level.INFO, "setting-changed", sentence, captured_origin(field.name))
            continue
        if field.name == "conversation" or field.name == "prompt":
            level = Level.ERROR
        if field.name == "n" and value == 1:
            continue
        inner = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if field.name in _SETTING_GROUPS and inner:
            for key in (key for key, inner_value in inner.items() if inner_value is not None):
                yield _foreign_setting_note(f"{field.name}.{key}", owner, level)
        else:
            yield _foreign_setting_note(field.name, owner, level)


_SETTING_GROUPS = frozenset(
    {"generation_config", "tool_config", "reasoning", "text", "output_config"}
)
"""Fields with several settings in one, each of which is told by itself."""


def _foreign_setting_note(name: str, owner: Protocol, level: Level) -> Note:
    sentence = f"{name} was set for {owner.label} and is not carried over."
    return Note(level, "setting-left-out", sentence, captured_origin(name))
