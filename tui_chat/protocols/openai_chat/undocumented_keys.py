"""Keys that OpenAI does not document: vendors' own, reasoning, and cache marks in a router's form.

Many servers of this protocol have additional keys, so they are passed on; those of a captured
request with a warning. For a server that is known to refuse them they are left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.envelope import Level, NativeTool, Note, RequestTool
from tui_chat.models.text import Origin
from tui_chat.protocols.common.reading import items_of, string
from tui_chat.protocols.common.request_encoder import RequestEncoder
from tui_chat.protocols.common.trees import captured_origin, dictionary

_DOCUMENTED = frozenset(
    {"role", "refusal", "audio", "annotations", "tool_calls", "function_call", "name", "content"}
    | {"id", "tool_call_id", "text", "type", "image_url", "input_audio", "file", "function"}
    | {"custom", "prompt_cache_breakpoint"}
)
"""Keys of a message, a part, a call or a tool."""
_SETTINGS = frozenset(
    (
        *("audio", "function_call", "functions", "logit_bias", "logprobs", "max_tokens"),
        *("max_completion_tokens", "metadata", "modalities", "moderation", "n", "prediction"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "seed", "stop"),
        *("reasoning_effort", "response_format", "safety_identifier", "service_tier", "store"),
        *("stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs"),
        *("top_p", "frequency_penalty", "presence_penalty", "parallel_tool_calls", "user"),
        *("verbosity", "web_search_options", "messages", "model"),
    )
)
"""Keys of a request."""
_INNER = {
    "function": frozenset({"name", "arguments", "description", "parameters", "strict"}),
    "function_call": frozenset({"name", "arguments"}),
    "custom": frozenset({"name", "input", "description", "format"}),
    "image_url": frozenset({"url", "detail"}),
    "input_audio": frozenset({"data", "format"}),
    "file": frozenset({"file_id", "file_data", "filename"}),
}
"""Keys that objects among these may have."""


def documented(written: Mapping[str, Json], names: dict[str, None]) -> JsonObject:
    """Return a message, a part, a call or a tool without undocumented keys, which are added to
    `names`: `function.key` one level down.
    """
    kept: JsonObject = {}
    for key, value in written.items():
        inner = dictionary(value)
        if key not in _DOCUMENTED:
            names[key] = None
        elif inner and key in _INNER:
            names |= {f"{key}.{name}": None for name in inner if name not in _INNER[key]}
            kept[key] = {name: v for name, v in inner.items() if name in _INNER[key]}
        elif key in ("content", "tool_calls") and items_of(value):
            items = (_documented_item(item, names) for item in items_of(value))
            kept[key] = [item for item in items if item is not None]
        else:
            kept[key] = value
    return kept


def _documented_item(item: Json, names: dict[str, None]) -> Json | None:
    """Return a part or call; None for reasoning. A part of a type that is not known stays whole."""
    fields = dictionary(item)
    kind = string(fields, "type")
    if kind == "thinking":
        names[kind] = None
        return None
    is_known = bool(fields) and (kind in _DOCUMENTED or "type" not in fields)
    return documented(fields, names) if is_known else item


def note_keys(request: RequestEncoder, names: Iterable[str], origin: Origin | None = None) -> None:
    """Add the note on undocumented keys, if there are any. `origin`: that of their turn."""
    said = ", ".join(dict.fromkeys(names))
    if not said:
        return
    sentence = f"Sent unchanged, although OpenAI itself refuses them: {said}."
    if request.facts.strict_keys:
        sentence = f"Left out, since this server refuses unknown keys: {said}."
    origin = origin or captured_origin("unknown keys")
    request.notes.append(Note(Level.WARNING, "unknown-keys", sentence, origin))


def undocumented_rest(request: RequestEncoder) -> dict[str, None]:
    """Return the undocumented keys of a captured request and its tools, which are taken from it if
    its server refuses them.
    """
    envelope, facts, rest = request.envelope, request.facts, request.envelope.rest
    if rest is None or not request.captured or facts.strict_keys is False:
        return {}
    names = dict.fromkeys(key for key in rest.keys if key not in _SETTINGS)
    kept = {key: value for key, value in rest.keys.items() if key not in names}
    tools = envelope.tools
    if tools is not None:
        tools = tuple(_documented_tool(tool, names) for tool in tools)
    if facts.strict_keys:
        request.envelope = replace(envelope, tools=tools, rest=replace(rest, keys=kept))
    return names


def _documented_tool(tool: RequestTool, names: dict[str, None]) -> RequestTool:
    extras = tool.extras
    if extras is None or isinstance(tool, NativeTool):
        return tool
    return replace(tool, extras=replace(extras, keys=documented(extras.keys, names)))
