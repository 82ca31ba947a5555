"""Encode an envelope as a Gemini generateContent request.

1. `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`; the model is in the URL. Only
   v1beta has the `-latest` aliases, and proxies expect it.
2. A turn of calls is followed by a content with exactly as many responses. Calls need no ids.
3. Settings are in `generationConfig`, a choice of tools in `toolConfig`.
4. A captured request's keys keep their spelling.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote as url_quote

from tui_chat.models.blocks import Extras, Json, JsonObject, patched
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    Note,
    Parameters,
    Sourced,
    ToolDefinition,
)
from tui_chat.models.json_tree import Obj, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.semantics import UNSET, HostedTool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.encoding import captured_origin, tool_origin
from tui_chat.protocols.common.request_encoder import RequestEncoder, with_hosted
from tui_chat.protocols.common.schemas import schema_only_format
from tui_chat.protocols.common.setting_rows import write_settings
from tui_chat.protocols.common.tools import NAMES_GEMINI, strict_notes
from tui_chat.protocols.common.trees import Named, dictionary, labelled, object_of
from tui_chat.protocols.gemini.conversation import conversation
from tui_chat.protocols.gemini.decode import GeminiSettings
from tui_chat.protocols.gemini.settings import (
    BODY,
    CONFIG,
    THINKING,
    fitted_thinking,
)
from tui_chat.protocols.gemini.spelling import NOWHERE, spelled
from tui_chat.protocols.gemini.tools import write_function, write_hosted

VERSION = "v1beta"
"""The API version in the path, unless the endpoint names another."""

KEY_HEADER = ("x-goog-api-key", "")
_GEMINI = Protocol.GEMINI
_RULES = PairingRules(NAMES_GEMINI, ids=False, named_results=True)
_CAPTURED_RULES = PairingRules(
    NAMES_GEMINI, captured=True, by_run=True, ids=False, named_results=True
)
_MAX_STOPS = 5


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    turns = request.block_turns(_CAPTURED_RULES if request.captured else _RULES)
    body = conversation(request, turns)
    functions = request.functions()
    body |= _tools(request, functions)
    body |= _settings(request, functions)
    body |= request.captured_keys(("generation_config", "tool_config"))
    tree = object_of(spelled(body, _captured(request).spelled))
    path = _path(request, endpoint.api_version or VERSION)
    return request.encoded(path, tree, key_header=KEY_HEADER)


def _captured(request: RequestEncoder) -> GeminiSettings:
    """Return the settings of a request that was captured from this protocol."""
    settings = request.envelope.semantics.namespace(GeminiSettings)
    return settings if request.captured else GeminiSettings()


def _path(request: RequestEncoder, version: str) -> str:
    name = url_quote(request.model.removeprefix("models/"), safe=":")
    streams = request.parameters.stream
    verb = "streamGenerateContent?alt=sse" if streams else "generateContent"
    return f"/{version}/models/{name}:{verb}"


# --- tools -------------------------------------------------------------------------------


def _tools(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> JsonObject:
    envelope, settings = request.envelope, _captured(request)
    if not request.captured:
        request.notes += strict_notes(functions, _GEMINI)
    declared = [_declaration(tool, request.captured, settings.spelled) for tool in functions]
    if request.captured and sum(count for count, _ in settings.tool_groups) == len(declared):
        return {} if envelope.tools is None else {"tools": _grouped(declared, settings)}
    groups: list[Tree] = []
    if declared or (envelope.tools is not None and envelope.semantics.source is None):
        groups.append(object_of({"functionDeclarations": declared}))
    hosted = _hosted(request, beside_functions=bool(declared))
    if hosted and not declared:
        groups.clear()
    tools = with_hosted(groups, hosted)
    return {"tools": tools} if tools else {}


@Memo
def _declaration(tool: ToolDefinition, captured: bool, words: tuple[str, ...]) -> Obj:
    written = write_function(tool)
    if captured and tool.extras:
        keys = labelled(json.loads(tool.extras), "what only its provider understands")
        written = patched(written, Extras(_GEMINI, keys=keys))
    return object_of(spelled(written, words), tool_origin(tool.name))


def _grouped(declared: Sequence[Obj], settings: GeminiSettings) -> Json:
    """Return the tools in the groups they were captured in."""
    groups: list[JsonObject] = []
    left = iter(declared)
    for count, extras in settings.tool_groups:
        functions = [next(left) for _ in range(count)]
        group: JsonObject = {"functionDeclarations": functions} if functions else {}
        rest: JsonObject = json.loads(extras) if extras else {}
        group |= {key: Named(value, origin=tool_origin(key)) for key, value in rest.items()}
        groups.append(spelled(group, settings.spelled))
    return groups[0] if settings.tools_shape == "object" and groups else groups


def _hosted(
    request: RequestEncoder, *, beside_functions: bool
) -> list[tuple[Sourced[HostedTool], Tree]]:
    """Return Google's own tools; models before Gemini 3 accept none beside functions."""
    hosted = request.hosted_tools(("web_search", "web_fetch", "code_execution"))
    if beside_functions and request.facts.hosted_beside_functions is False:
        for tool in hosted:
            why = f"{request.model} accepts either functions or Google's own tools"
            request.leave_tool_out(tool, why)
        return []
    return [(tool, tree_of(write_hosted(tool.value), tool.origin)) for tool in hosted]


# --- settings ----------------------------------------------------------------------------

_TIERS = {
    "auto": "",
    "default": "standard",
    "flex": "flex",
    "priority": "priority",
    "fast": "priority",
}


def _settings(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> JsonObject:
    """Return the keys of all settings. What only the captured request says is added to them."""
    captured = _captured(request)
    parameters = _fitted_parameters(request, functions)
    parameters, is_mapped = _fitted_config(request, parameters)
    settings, config = write_settings(parameters, BODY), write_settings(parameters, CONFIG)
    choice = dictionary(settings.pop("toolConfig", None))
    choice = _with_rest(choice, captured.tool_config, "toolConfig", captured)
    rest = captured.generation_config
    if isinstance(rest, dict):
        left_out = {*config, THINKING} if is_mapped else config
        rest = {key: value for key, value in dictionary(rest).items() if key not in left_out}
    config = _with_rest(config, rest, "generationConfig", captured)
    tools = {} if choice is None else {"toolConfig": choice}
    configs = {} if config is None else {"generationConfig": config}
    return {**tools, **settings, **configs}


def _with_rest(written: JsonObject, rest: Json, key: str, captured: GeminiSettings) -> Json:
    """Return the object of settings with what is left of the captured one; None if it has neither.
    A value of the captured one counts.
    """
    more: Json = None if rest is UNSET else labelled(rest, origin=captured_origin(key))
    merged = {**written, **dictionary(more)}
    if not merged:
        return more
    return spelled(merged, captured.spelled, dict.fromkeys(merged, NOWHERE))


def _fitted_parameters(request: RequestEncoder, functions: Sequence[ToolDefinition]) -> Parameters:
    """Return the parameters with those beside `generationConfig` as they are sent."""
    choice = request.tool_choice(functions)
    if request.captured:
        return replace(request.parameters, tool_choice=choice, service_tier=None, store=None)
    tier = request.service_tier(_TIERS)
    request.note_missing("verbosity", "user_id", "parallel_tool_calls")
    return replace(request.parameters, tool_choice=choice, service_tier=tier)


def _fitted_config(request: RequestEncoder, parameters: Parameters) -> tuple[Parameters, bool]:
    """Return the parameters with those in `generationConfig` as they are sent, and True if they
    say how much the model reasons, instead of the captured request.
    """
    limit, stop = request.reply_limit(), request.stop_sequences(_MAX_STOPS)
    fitted = request.accepted(replace(parameters, max_tokens=limit, stop=stop), CONFIG)
    fitted = replace(fitted, response_format=schema_only_format(request))
    thinking, is_mapped = fitted, not request.captured
    if not request.unchanged:
        notes: list[Note] = []
        thinking = fitted_thinking(fitted, request.facts, notes, by_budget=request.captured)
        # In its own protocol a request stays as it is where the model accepts that.
        is_mapped = is_mapped or any(note.level is not Level.INFO for note in notes)
        request.notes += notes if is_mapped else []
    if not is_mapped:
        thinking = replace(fitted, effort=None, reasoning_budget=None, reasoning_summary=None)
    if request.captured:
        thinking = replace(thinking, replies=None, logprobs=None)
    return thinking, is_mapped
