"""Encode an envelope as a Gemini generateContent request.

1. `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`; the model is in the URL. Only
   v1beta has the `-latest` aliases, and proxies expect it.
2. A turn of calls is followed by a content with exactly as many responses. Calls need no ids.
3. Settings are in `generationConfig`, a choice of tools in `toolConfig`.
4. A captured request's keys keep their spelling.
"""

from __future__ import annotations

import json
from typing import Any, cast
from urllib.parse import quote as url_quote

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Sourced, ToolDefinition
from tui_chat.models.json_tree import Arr, Obj, Tree, tree_of
from tui_chat.models.memo import Memo
from tui_chat.models.semantics import UNSET, HostedTool
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import (
    Items,
    captured_origin,
    merge_extras,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.request_encoder import RequestEncoder, merged_items, with_hosted
from tui_chat.protocols.common.schemas import schema_only_format
from tui_chat.protocols.common.tool_pairing import PairingRules
from tui_chat.protocols.common.tools import NAMES_GEMINI, strict_notes
from tui_chat.protocols.gemini.messages import encode_messages
from tui_chat.protocols.gemini.settings import SCALARS, GeminiSettings, write_thinking_config
from tui_chat.protocols.gemini.spelling import as_spelled
from tui_chat.protocols.gemini.tools import write_choice, write_format, write_hosted

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
    captured = request.captured
    turns = request.paired_turns(_CAPTURED_RULES if captured else _RULES)
    instruction, contents, message_notes = encode_messages(envelope, turns)
    request.notes += message_notes
    body: Items = [("systemInstruction", instruction)] if instruction is not None else []
    body.append(("contents", Arr(contents)))
    body += _tools(request)
    body += request.tier_items("serviceTier", _TIERS)
    if not captured:
        request.note_missing("verbosity", "user_id", "parallel_tool_calls")
        store = request.parameters.store
        body += [("store", setting_value(store))] if store is not None else []
    config = _config(request)
    if config is not None:
        body.append(("generationConfig", config))
    spelled: tuple[str, ...] = ()
    if captured:
        body = request.with_namespace(body, ("generation_config", "tool_config"))
        spelled = envelope.semantics.namespace(GeminiSettings).spelled
    tree = as_spelled(Obj(tuple(request.with_extras(body))), spelled)
    path = _path(request, endpoint.api_version or VERSION)
    return request.encoded(path, tree, key_header=KEY_HEADER)


def _path(request: RequestEncoder, version: str) -> str:
    name = url_quote(request.model.removeprefix("models/"), safe=":")
    streams = request.parameters.stream
    verb = "streamGenerateContent?alt=sse" if streams else "generateContent"
    return f"/{version}/models/{name}:{verb}"


_TIERS = {
    "auto": "",
    "default": "standard",
    "flex": "flex",
    "priority": "priority",
    "fast": "priority",
}


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


def _tools(request: RequestEncoder) -> Items:
    envelope, captured = request.envelope, request.captured
    namespace = envelope.semantics.namespace(GeminiSettings)
    functions = request.functions()
    encoded = [
        _declaration(tool, captured, namespace.spelled if captured else ()) for tool in functions
    ]
    items: Items = []
    if captured and sum(count for count, _ in namespace.tool_groups) == len(encoded):
        if envelope.tools is not None:
            items.append(("tools", _grouped(encoded, namespace)))
    else:
        groups: list[Tree] = []
        if encoded or (envelope.tools is not None and envelope.semantics.source is None):
            groups.append(Obj((("functionDeclarations", Arr(tuple(encoded))),)))
        hosted = _hosted(request, beside_functions=bool(encoded))
        if hosted and not encoded:
            groups.clear()
        if tools := with_hosted(groups, hosted):
            items.append(("tools", Arr(tuple(tools))))
    if not captured:
        request.notes += strict_notes(functions, _GEMINI)
    calling: Items = []
    if (choice := request.tool_choice(functions)) is not None:
        written = tree_of(write_choice(choice.value), choice.origin)
        calling.append(("functionCallingConfig", written))
    if captured:
        calling = _over_config(calling, namespace.tool_config)
    config: Any = namespace.tool_config if captured else UNSET
    if config is not UNSET and not calling and not isinstance(config, dict):
        items.append(("toolConfig", tree_of(config, captured_origin("toolConfig"))))
    elif calling or config is not UNSET:
        tool_config = _respelled(Obj(tuple(calling)), namespace if captured else None)
        items.append(("toolConfig", tool_config))
    return items


def _grouped(encoded: list[Obj], namespace: GeminiSettings) -> Tree:
    """Return the tools in the groups they were captured in."""
    groups: list[Tree] = []
    rest = iter(encoded)
    for count, extras in namespace.tool_groups:
        declared = tuple(next(rest) for _ in range(count))
        items: Items = [("functionDeclarations", Arr(declared))] if declared else []
        own: dict[str, Any] = json.loads(extras) if extras else {}
        items += ((key, tree_of(value, tool_origin(key))) for key, value in own.items())
        group = Obj(tuple(items))
        groups.append(as_spelled(group, namespace.spelled))
    return groups[0] if namespace.tools_shape == "object" and groups else Arr(tuple(groups))


@Memo
def _declaration(tool: ToolDefinition, captured: bool, spelled: tuple[str, ...]) -> Obj:
    origin = tool_origin(tool.name)
    items: Items = [("name", tree_of(tool.name, origin))]
    if tool.description:
        items.append(("description", tree_of(tool.description, origin)))
    if tool.parameters:
        key = "parameters" if tool.dialect == "gemini" else "parametersJsonSchema"
        items.append((key, tree_of(tool.parameters, origin)))
    if captured:
        items = merge_extras(items, tool.extras, origin)
    return as_spelled(Obj(tuple(items), origin), spelled)


def _config(request: RequestEncoder) -> Tree | None:
    """Return `generationConfig`, or None if it would be empty."""
    parameters, captured = request.parameters, request.captured
    limit, stop = request.reply_limit(), request.stop_sequences(_MAX_STOPS)
    items = request.scalars(SCALARS, max_tokens=limit, stop=stop)
    if (form := schema_only_format(request)) is not None:
        items += cast("Obj", tree_of(write_format(form.value), form.origin)).items
    thinking, mapped = None, not captured
    if not request.unchanged:
        thinking_notes: list[Note] = []
        thinking = write_thinking_config(
            parameters, request.facts, thinking_notes, by_budget=captured
        )
        # In its own protocol a request stays as it is where the model accepts that.
        mapped = mapped or any(note.level is not Level.INFO for note in thinking_notes)
        request.notes += thinking_notes if mapped else []
    if mapped and thinking is not None:
        items.append(("thinkingConfig", thinking))
    if not captured:
        if parameters.replies is not None:
            items.append(("candidateCount", setting_value(parameters.replies)))
        items += request.logprob_items("responseLogprobs", "logprobs")
        return Obj(tuple(items)) if items else None
    namespace = request.envelope.semantics.namespace(GeminiSettings)
    rest = namespace.generation_config
    if mapped and isinstance(rest, dict):
        kept = cast("dict[str, Any]", rest)
        rest = {key: value for key, value in kept.items() if key != "thinkingConfig"}
    if rest is not UNSET:
        more = tree_of(rest, captured_origin("generationConfig"))
        if not isinstance(more, Obj):
            return more
        items += more.items
    elif not items:
        return None
    return _respelled(Obj(tuple(items)), namespace)


def _over_config(calling: Items, rest: Any) -> Items:
    if isinstance(rest, dict):
        more = cast("Obj", tree_of(cast("dict[str, Any]", rest), captured_origin("toolConfig")))
        return merged_items(calling, list(more.items))
    return calling


def _respelled(tree: Obj, namespace: GeminiSettings | None) -> Obj:
    """Return an object and those in it with the keys as they were captured."""
    if namespace is None or not namespace.spelled:
        return tree
    inner = tuple(
        (key, as_spelled(value, namespace.spelled) if isinstance(value, Obj) else value)
        for key, value in tree.items
    )
    return as_spelled(Obj(inner, tree.origin), namespace.spelled)
