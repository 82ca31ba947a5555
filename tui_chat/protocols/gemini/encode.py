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
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters, Sourced, ToolDefinition
from tui_chat.models.json_tree import Arr, Lit, Obj, Tree, tree_of
from tui_chat.models.semantics import UNSET, HostedTool
from tui_chat.models.settings import ResponseFormat
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import (
    Items,
    captured_origin,
    merge_extras,
    setting_value,
    tool_origin,
)
from tui_chat.protocols.common.loss_notes import envelope_notes, missing_notes
from tui_chat.protocols.common.schemas import schema_only_format, wanted_format
from tui_chat.protocols.common.settings import (
    extra_items,
    is_same_model,
    namespace_items,
    override,
    reply_limit,
    stop_sequences,
    tier_items,
    usable_tool_choice,
    write_scalars,
)
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools
from tui_chat.protocols.common.tools import (
    NAMES_GEMINI,
    sent_hosted_tools,
    sent_tools,
    strict_notes,
    tool_left_out,
    with_hosted,
)
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
    NAMES_GEMINI, in_call_order=False, by_run=True, ids=False, named_results=True
)
_MAX_STOPS = 5


def encode(envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
    """Encode an envelope; see the module's rules."""
    captured = envelope.semantics.source is _GEMINI
    paired = pair_tools(
        envelope.turns,
        _CAPTURED_RULES if captured else _RULES,
        [tool.name for tool in envelope.tools or ()],
        envelope.semantics.tools.alias_map,
    )
    notes = [*paired.notes, *envelope_notes(envelope, _GEMINI)]
    instruction, contents, message_notes = encode_messages(envelope, paired.turns)
    notes += message_notes
    body: Items = [("systemInstruction", instruction)] if instruction is not None else []
    body.append(("contents", Arr(contents)))
    body += _tools(envelope, endpoint, paired.aliases, notes)
    body += tier_items(envelope, _GEMINI, "serviceTier", _TIERS, notes)
    if not captured:
        body += _unified_settings(envelope.parameters, notes)
    config = _config(envelope, endpoint, notes)
    if config is not None:
        body.append(("generationConfig", config))
    namespace = envelope.semantics.namespace(GeminiSettings)
    if captured:
        body = override(body, namespace_items(namespace, ("generation_config", "tool_config")))
        body = override(body, extra_items(envelope, _GEMINI))
    tree = as_spelled(Obj(tuple(body)), namespace.spelled if captured else ())
    return Encoded(
        _path(envelope, endpoint.api_version or VERSION),
        tree,
        key_header=KEY_HEADER,
        notes=tuple(notes),
        aliases=tuple(paired.aliases.items()),
    )


def _path(envelope: ChatEnvelope, version: str) -> str:
    name = url_quote(envelope.parameters.model.value.removeprefix("models/"), safe=":")
    streams = envelope.parameters.stream
    verb = "streamGenerateContent?alt=sse" if streams else "generateContent"
    return f"/{version}/models/{name}:{verb}"


_TIERS = {
    "auto": "",
    "default": "standard",
    "flex": "flex",
    "priority": "priority",
    "fast": "priority",
}


def _unified_settings(parameters: Parameters, notes: list[Note]) -> Items:
    """Return the settings beside `generationConfig` that a captured request has in its namespace,
    and note those that Gemini does not have.
    """
    missing = ("verbosity", "user_id", "parallel_tool_calls")
    notes += missing_notes(_GEMINI, parameters, *missing)
    store = parameters.store
    return [("store", setting_value(store))] if store is not None else []


def _hosted(
    envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note], *, beside_functions: bool
) -> list[tuple[Sourced[HostedTool], Tree]]:
    """Return Google's own tools; models before Gemini 3 accept none beside functions."""
    kinds = ("web_search", "web_fetch", "code_execution")
    hosted = sent_hosted_tools(envelope, _GEMINI, kinds, (), notes)
    model = envelope.parameters.model.value
    if beside_functions and endpoint.facts_of(model).hosted_beside_functions is False:
        why = f"{model} accepts either functions or Google's own tools"
        notes += [tool_left_out(each.value, why, each.origin) for each in hosted]
        return []
    return [(each, tree_of(write_hosted(each.value), each.origin)) for each in hosted]


def _tools(
    envelope: ChatEnvelope, endpoint: Endpoint, aliases: dict[str, str], notes: list[Note]
) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _GEMINI
    namespace = envelope.semantics.namespace(GeminiSettings)
    functions = sent_tools(envelope, _GEMINI, aliases, notes)
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
        hosted = _hosted(envelope, endpoint, notes, beside_functions=bool(encoded))
        if hosted and not encoded:
            groups.clear()
        if tools := (*with_hosted(groups, hosted),):
            items.append(("tools", Arr(tools)))
    if not captured:
        notes += strict_notes(functions, _GEMINI)
    calling: Items = []
    choice = usable_tool_choice(
        envelope, _GEMINI, [tool.name for tool in functions], aliases, notes
    )
    if choice is not None:
        calling.append(
            ("functionCallingConfig", tree_of(write_choice(choice.value), choice.origin))
        )
    if captured:
        calling = _over_config(calling, namespace.tool_config)
    if calling or (captured and namespace.tool_config is not UNSET):
        items.append(
            ("toolConfig", _respelled(Obj(tuple(calling)), namespace if captured else None))
        )
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


def _config(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Tree | None:
    """Return `generationConfig`, or None if it would be empty."""
    parameters, namespace = envelope.parameters, envelope.semantics.namespace(GeminiSettings)
    captured = envelope.semantics.source is _GEMINI
    unchanged = is_same_model(envelope, _GEMINI)
    facts = endpoint.facts_of(parameters.model.value)
    limit = reply_limit(envelope, endpoint, notes)
    stop = parameters.stop if captured else stop_sequences(parameters.stop, _MAX_STOPS, notes)
    items = write_scalars(SCALARS, envelope, endpoint, notes, max_tokens=limit, stop=stop)
    form = parameters.response_format
    if not captured:
        form = wanted_format(form, notes)
    if form is not None:
        items += _format(form if captured else schema_only_format(form, _GEMINI, notes))
    thinking, mapped = None, not captured
    if not unchanged:
        thinking_notes: list[Note] = []
        thinking = write_thinking_config(parameters, facts, thinking_notes, by_budget=captured)
        # In its own protocol a request stays as it is where the model accepts that.
        mapped = mapped or any(note.level is not Level.INFO for note in thinking_notes)
        notes += thinking_notes if mapped else []
    if mapped and thinking is not None:
        items.append(("thinkingConfig", thinking))
    if not captured:
        if parameters.replies is not None:
            items.append(("candidateCount", setting_value(parameters.replies)))
        if (top := parameters.logprobs) is not None:
            items.append(("responseLogprobs", Lit(True, top.origin)))
            if top.value:
                items.append(("logprobs", setting_value(top)))
    if captured:
        rest = namespace.generation_config
        if mapped and isinstance(rest, dict):
            kept = cast("dict[str, Any]", rest)
            rest = {key: value for key, value in kept.items() if key != "thinkingConfig"}
        if rest is not UNSET:
            more = tree_of(rest, captured_origin("generationConfig"))
            if not isinstance(more, Obj):
                return more
            items += more.items
            return _respelled(Obj(tuple(items)), namespace)
    return _respelled(Obj(tuple(items)), namespace if captured else None) if items else None


def _format(form: Sourced[ResponseFormat]) -> Items:
    encoded = tree_of(write_format(form.value), form.origin)
    return list(cast("Obj", encoded).items)


def _over_config(calling: Items, rest: Any) -> Items:
    if isinstance(rest, dict):
        more = cast("Obj", tree_of(cast("dict[str, Any]", rest), captured_origin("toolConfig")))
        return override(calling, iter(more.items))
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
