"""Notes on what a protocol cannot express of a request's settings and tools.

1. A loss that changes the model's input or options is a warning; any other (a cache mark, a
   billing tag, a value that says what happens anyway) is information.
2. A note names a setting as its request does, so that it can be found there.
3. A setting is lost if the protocol's own table does not read it from what was written. Where the
   fitting of a request knows why, it has said so; else the protocol has no such setting.
4. What only the protocol of a captured request knows is lost for another one, by key.
5. What is in `SILENT` vanishes without a note, for the reason given there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from tui_chat.models.blocks import Extras, Json, JsonObject
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    EARLIER_TURNS,
    ChatEnvelope,
    Level,
    NativeTool,
    Note,
    Parameters,
    RequestTool,
    Turn,
)
from tui_chat.models.settings import CONTEXT_SETTINGS
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.protocols.common.trees import captured_origin

SILENT: Mapping[str, str] = {
    "null, an empty text or list": "It sets nothing.",
    "model": "It is carried over, or replaced by the model that was asked for.",
    "stream": "Every protocol says it in its own way: a key, or Gemini's path.",
    "store: false": "Anthropic and Ollama store no replies.",
}
"""The values that another protocol's request may lack without a note, and why. The table in
docs/configuration.md is this one."""
_REDUNDANT = frozenset({"model", "stream"})
"""Keys that repeat a setting; see `SILENT`."""
_MARKS = "Cache marks are sent to Anthropic only"


def setting_note(name: str, why: str, origin: Origin, level: Level = Level.WARNING) -> Note:
    """Return the note for a setting that is not sent."""
    return Note(level, "setting-left-out", f"{with_key(name, origin)} is not sent: {why}.", origin)


def with_key(label: str, origin: Origin) -> str:
    """Return a setting's label, with its key in the request unless the label names it."""
    key = origin.id.rpartition(".")[2]
    return label if re.search(rf"\b{re.escape(key)}\b", label) else f"{label} ({origin.id})"


def default_note(origin: Origin, sentence: str) -> Note:
    """Return the note on a value that is not set and is sent because it is required."""
    return Note(Level.INFO, "default-invented", sentence, origin)


FILLER = "."
"""The smallest text that every provider accepts where it demands one and nobody wrote any."""
NOTHING_TO_SEND = Note(Level.ERROR, "nothing-to-send", "There is no message to send yet.")


def filler_note(why: str) -> Note:
    """Return the note on a message that is added."""
    sentence = f"The user message “{FILLER}” is added: {why}."
    return Note(Level.WARNING, "filler-added", sentence, GLUE)


# --- settings ----------------------------------------------------------------------------

_LABELS = {
    "replies": "the number of replies",
    "user_id": "the user's identifier",
    "reasoning_summary": "the reasoning summary",
}
_INFORMATIONAL = frozenset({"service_tier", "user_id", "store"})
"""Settings that change neither the prompt nor the reply."""
_IMPLIED: Mapping[str, tuple[object, str]] = {
    "replies": (1, "{} sends one reply anyway"),
    "reasoning_summary": ("none", "{} sends no summary anyway"),
    "parallel_tool_calls": (True, "{} allows several calls at once anyway"),
}
"""Values that say what happens anyway where there is no such setting, with that as the reason."""
_ONE_CHOICE = ("effort", "reasoning_budget")
"""Settings of which one is sent."""
_UNSENT = CONTEXT_SETTINGS | {"model", "stream", "web_search", *_ONE_CHOICE}
"""Settings that are not compared: no protocol has them, or the encoder says what becomes of
them."""


def setting_losses(
    asked: Parameters, heard: Parameters, protocol: Protocol, told: Collection[Origin]
) -> Iterator[Note]:
    """Yield the notes on settings that are asked for and not `heard` in what is sent; `told` are
    the origins of those of which the reason was said.
    """
    for name, origin in asked.origins.items():
        value = getattr(asked.values, name)
        if value is None or name in _UNSENT or origin in told or name in heard.origins:
            continue
        if name == "store" and value is False:
            continue
        label, why = _LABELS.get(name, name), "{} has no such setting"
        level = Level.INFO if name in _INFORMATIONAL else Level.WARNING
        if name == "logprobs":
            label = f"logprobs with top_logprobs {value}"
        implied = _IMPLIED.get(name)
        if implied is not None and implied[0] == value:
            level, why = Level.INFO, implied[1]
        yield setting_note(label, why.format(protocol.label), origin, level)


# --- what only another protocol knows ----------------------------------------------------

_INFORMATIONAL_KEYS = frozenset(
    (
        *("background", "betas", "cache_control", "include", "inference_geo", "keep_alive"),
        *("labels", "metadata", "prompt_cache_key", "prompt_cache_options", "speed"),
        *("prompt_cache_retention", "safety_identifier", "service_tier", "serviceTier", "store"),
        *("stream_options", "user"),
    )
)
"""Keys of requests that affect neither the prompt nor the reply."""
_GROUPS = frozenset(
    ("reasoning", "text", "thinking", "output_config", "generationConfig", "toolConfig", "options")
)
"""Keys that hold several settings, each of which gets its own note."""
_FORMS = ("response_format", "tool_choice")
"""Settings whose form may say more than what is carried over."""


def _rest_notes(envelope: ChatEnvelope, rest: Extras, shared: Collection[str]) -> Iterator[Note]:
    """Yield the notes on the keys that only the protocol of a captured request knows."""
    owner, earlier = rest.protocol.label, EARLIER_TURNS.get(rest.protocol, ())
    origins = envelope.parameters.origins
    read = {origin.id for origin in origins.values()}
    forms = {origins[name].id for name in _FORMS if name in origins}
    groups = _GROUPS | {
        path[: match.start()] for path in read for match in re.finditer(r"\.|$", path)
    }
    left = {key: value for key, value in rest.keys.items() if key not in shared}
    found = dict((*_leaves(left, "", groups - forms), *_changes(rest, forms)))
    for path, value in found.items():
        key, origin = path.partition(".")[0], captured_origin(path)
        level = Level.INFO if key in _INFORMATIONAL_KEYS else Level.WARNING
        is_read = path in read and path not in forms
        if is_read or key in _REDUNDANT or value in (None, "", []):
            continue
        if path in forms:
            sentence = f"{path} is carried over without the form that it had for {owner}."
            yield Note(Level.INFO, "setting-changed", sentence, origin)
        elif key in earlier:
            kept = f"{key} {value}" if isinstance(value, str) else key
            sentence = f"The request continues what {owner} keeps ({kept}); the messages before it "
            sentence += "are missing here."
            yield Note(Level.ERROR, "earlier-turns-missing", sentence, origin)
        else:
            sentence = f"{path} was set for {owner} and is not carried over."
            yield Note(level, "setting-left-out", sentence, origin)


def _leaves(
    fields: Mapping[str, Json], place: str, groups: Collection[str]
) -> Iterator[tuple[str, Json]]:
    """Yield the paths and values of keys, those in groups one by one."""
    for key, value in fields.items():
        path = f"{place}{key}"
        if path in groups and isinstance(value, dict) and value:
            yield from _leaves(cast("JsonObject", value), f"{path}.", groups)
        else:
            yield path, value


def _changes(rest: Extras, forms: Collection[str]) -> Iterator[tuple[str, Json]]:
    """Yield the forms that have a value otherwise than we write it, and the words of lists that we
    write without them, such as those of `include`.
    """
    for change in rest.changes:
        path, before, value = ".".join(change.path), change.before[0], [*change.value, None][0]
        if value is not None and (form := _around(path, forms)):
            yield form, value
        elif isinstance(before, list) and isinstance(value, list):
            for word in cast("list[Any]", value):
                if isinstance(word, str) and word not in before:
                    yield f"{path}.{word}", word


def _around(path: str, forms: Collection[str]) -> str:
    """Return the form that a path is in; empty for none."""
    return next((form for form in forms if f"{path}.".startswith(f"{form}.")), "")


def _tool_notes(tool: RequestTool, owner: Protocol) -> Iterator[Note]:
    """Yield the notes on what only another protocol knows of a tool."""
    code, sentence = "tool-extras-left-out", ""
    if isinstance(tool, NativeTool) and tool.hosted is None:
        code = "tool-left-out"
        sentence = f"The tool “{tool.name}” has a form that only {owner.label} knows; it is left "
        sentence += "out."
    elif tool.extras is not None and (keys := meaningful_keys(tool.extras.keys)):
        sentence = f"Keys of the tool “{tool.name}” that are not carried over from {owner.label}: "
        sentence += f"{', '.join(keys)}."
    if sentence:
        yield Note(Level.WARNING, code, sentence, captured_origin("tools"))


def meaningful_keys(extras: Mapping[str, Json]) -> list[str]:
    """Return the keys of a tool's extras that have a value."""
    return [
        key
        for key, value in extras.items()
        if key not in ("type", "name") and value not in (None, "", [], {})
    ]


# --- all of it ---------------------------------------------------------------------------

_WRITTEN = (OriginKind.PRESET, OriginKind.SETTING, OriginKind.LORE)


def begins_reply(turn: Turn) -> bool:
    """Return True for a turn written as the beginning of a reply (a prefill), if it is last."""
    return turn.role == "assistant" and turn.origin.outermost.kind in _WRITTEN


def envelope_notes(
    envelope: ChatEnvelope, protocol: Protocol, shared: Collection[str] = ()
) -> Iterator[Note]:
    """Yield notes for what only another protocol knows of a request's tools and settings, and on
    what is not sent of a composed one.

    `shared`: settings that both protocols have under the same name, so that they are not.
    """
    if envelope.cache_marks and protocol is not Protocol.ANTHROPIC:
        sentence = f"{_MARKS}; {envelope.cache_marks} of the preset "
        sentence += f"{'is' if envelope.cache_marks == 1 else 'are'} left out."
        yield Note(Level.INFO, "cache-mark-left-out", sentence)
    if envelope.source in (None, protocol):
        return
    for tool in envelope.tools or ():
        yield from _tool_notes(tool, envelope.source)
    if envelope.rest is not None:
        yield from _rest_notes(envelope, envelope.rest, shared)
