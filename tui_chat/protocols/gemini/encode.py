"""Encode an envelope as a Gemini generateContent request.

1. `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`; the model is in the URL. Only
   v1beta has the `-latest` aliases, and proxies expect it.
2. A turn of calls is followed by a content with exactly as many responses. Calls need no ids.
3. Settings are in `generationConfig`, a choice of tools in `toolConfig`.
4. A captured request's keys keep their spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote as url_quote

from tui_chat.models.blocks import Json, JsonObject
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedToolKind,
    Level,
    Note,
    Parameters,
    RequestTool,
    ToolDefinition,
)
from tui_chat.models.json_tree import Obj
from tui_chat.models.memo import Memo
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.call_pairing import PairingRules
from tui_chat.protocols.common.request_encoder import (
    RequestedTool,
    RequestEncoder,
    SentTool,
    functions_of,
)
from tui_chat.protocols.common.tools import NAMES_GEMINI, strict_notes
from tui_chat.protocols.common.trees import dictionary, labelled, object_of, tool_origin, with_keys
from tui_chat.protocols.gemini.conversation import conversation
from tui_chat.protocols.gemini.reader import as_spelled
from tui_chat.protocols.gemini.settings import TABLE, fitted_thinking
from tui_chat.protocols.gemini.tools import write_function, write_groups, write_hosted

VERSION = "v1beta"
"""The API version in the path, unless the endpoint names another."""

KEY_HEADER = ("x-goog-api-key", "")
_GEMINI = Protocol.GEMINI
_HOSTED: tuple[HostedToolKind, ...] = ("web_search", "web_fetch", "code_execution")
_RULES = PairingRules(NAMES_GEMINI, ids=False, named_results=True)
_CAPTURED_RULES = PairingRules(
    NAMES_GEMINI, captured=True, by_run=True, ids=False, named_results=True
)
_MAX_STOPS = 5


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    request = RequestEncoder(envelope, endpoint)
    turns = request.block_turns(_CAPTURED_RULES if request.captured else _RULES)
    tools = _tools(request)
    body = conversation(request, turns) | _tools_key(request, tools)
    body = request.body(request.written(TABLE, lambda: _fitted(request, tools)), body, ())
    if request.captured:
        body = as_spelled(body, request.envelope.rest)
    path = _path(request, endpoint.api_version or VERSION)
    return request.encoded(path, body, key_header=KEY_HEADER)


def _path(request: RequestEncoder, version: str) -> str:
    name = url_quote(request.model.removeprefix("models/"), safe=":")
    streams = request.values.stream
    verb = "streamGenerateContent?alt=sse" if streams else "generateContent"
    return f"/{version}/models/{name}:{verb}"


# --- tools -------------------------------------------------------------------------------


def _tools(request: RequestEncoder) -> Sequence[SentTool]:
    """Return the tools; models before Gemini 3 accept none of Google's own beside functions."""
    tools = request.sent_tools(_HOSTED)
    functions = functions_of(tools)
    if request.captured:
        return tools
    request.notes += strict_notes(functions, _GEMINI)
    if functions and request.facts.hosted_beside_functions is False:
        for tool in tools:
            if isinstance(tool, RequestedTool):
                why = f"{request.model} accepts either functions or Google's own tools"
                request.leave_tool_out(tool, why)
        return functions
    return tools


def _tools_key(request: RequestEncoder, tools: Sequence[SentTool]) -> JsonObject:
    """Return the key `tools`: functions in groups, as a captured request has them, else in one."""
    if request.captured:
        known = [tool for tool in tools if not isinstance(tool, RequestedTool)]
        return request.tools_key(write_groups(list(map(_labelled, known)), _declaration))
    declared: list[Json] = []
    groups: list[Json] = []
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            groups += [] if declared else [{"functionDeclarations": declared}]
            declared.append(_declaration_tree(tool))
        elif isinstance(tool, RequestedTool):
            groups.append(labelled(write_hosted(tool.tool), origin=tool.origin))
    if not groups and request.envelope.tools == () and not request.is_converted:
        groups.append({"functionDeclarations": []})
    return {"tools": groups} if groups else {}


def _declaration(tool: ToolDefinition) -> JsonObject:
    written = with_keys(write_function(tool), tool, _GEMINI)
    origin = tool_origin(tool.name)
    return {key: labelled(value, origin=origin) for key, value in written.items()}


@Memo
def _declaration_tree(tool: ToolDefinition) -> Obj:
    return object_of(_declaration(tool), tool_origin(tool.name))


def _labelled(tool: RequestTool) -> RequestTool:
    """Return one of Google's own tools with origins on its values."""
    if isinstance(tool, ToolDefinition) or not (value := dictionary(tool.value)):
        return tool
    named = {key: labelled(inner, origin=tool_origin(key)) for key, inner in value.items()}
    return replace(tool, value=named)


# --- settings ----------------------------------------------------------------------------

_TIERS = {
    "auto": "",
    "default": "default",
    "flex": "flex",
    "priority": "priority",
    "fast": "priority",
}


def _fitted(request: RequestEncoder, tools: Sequence[SentTool]) -> Parameters:
    """Return the parameters as the model accepts them. In its own protocol a request reasons as it
    did where the model accepts that.
    """
    choice, tier = request.tool_choice(tools), request.service_tier(_TIERS)
    limit, stop = request.reply_limit(), request.stop_sequences(_MAX_STOPS)
    fitted = request.parameters.with_values(
        tool_choice=choice, service_tier=tier, max_tokens=limit, stop=stop
    )
    fitted = request.accepted(fitted, TABLE)
    fitted = fitted.with_values(response_format=request.schema_only_format())
    notes: list[Note] = []
    thinking = fitted_thinking(fitted, request.facts, notes, by_budget=request.captured)
    if request.captured and all(note.level is Level.INFO for note in notes):
        return fitted
    request.notes += notes
    return thinking
