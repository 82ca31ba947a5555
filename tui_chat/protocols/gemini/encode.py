"""Encoding an envelope as a Gemini generateContent request.

1. `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`; the model is in the URL. v1beta
   is where the `-latest` aliases and the proxies are.
2. A turn of calls is followed by a content with exactly as many responses. Calls need no ids.
3. Settings are in `generationConfig`, a choice of tools in `toolConfig`.
4. A captured request gets its keys back as they were spelled.
"""

from __future__ import annotations

import math
from typing import Any, cast
from urllib.parse import quote as url_quote

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Note,
    ResponseFormat,
    Sourced,
    ToolDefinition,
)
from tui_chat.models.json_tree import Arr, Obj, Tree, tree_of
from tui_chat.models.semantics import UNSET, GeminiSettings
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.encoding import Items, captured_origin, merge_extras, setting_value
from tui_chat.protocols.common.loss_notes import envelope_notes, unsupported_notes
from tui_chat.protocols.common.request_fields import camel
from tui_chat.protocols.common.settings import (
    effort_notes,
    extra_items,
    namespace_items,
    numeric_settings,
    override,
    reply_limit,
    sampling_settings,
    schema_only_format,
    stop_sequences,
    strict_notes,
    usable_tool_choice,
)
from tui_chat.protocols.common.tool_names import NAMES_GEMINI, rename_tool, unique_tools
from tui_chat.protocols.common.tool_pairing import PairingRules, pair_tools
from tui_chat.protocols.gemini.messages import encode_messages
from tui_chat.protocols.gemini.spelling import as_spelled
from tui_chat.protocols.gemini.tools import write_choice, write_format

VERSION = "v1beta"
"""The API version in the path, unless the endpoint names another."""

KEY_HEADER = ("x-goog-api-key", "")
_GEMINI = Protocol.GEMINI
_RULES = PairingRules(NAMES_GEMINI, ids=False, named_results=True)
_CAPTURED_RULES = PairingRules(
    NAMES_GEMINI, in_call_order=False, by_run=True, ids=False, named_results=True
)
_MAX_STOPS = 5
_NOT_SAID = (
    "system_instruction",
    "tool_groups",
    "tools_shape",
    "spelled",
    "generation_config",
    "tool_config",
)
_CAMEL = {name: camel(name) for name in GeminiSettings.__dataclass_fields__}


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
    body += _tools(envelope, paired.aliases, notes)
    config = _config(envelope, endpoint, notes)
    if config is not None:
        body.append(("generationConfig", config))
    if captured:
        namespace = envelope.semantics.gemini
        body = override(body, namespace_items(namespace, _NOT_SAID, _CAMEL))
        body = override(body, extra_items(envelope, _GEMINI))
    tree = as_spelled(Obj(tuple(body)), envelope.semantics.gemini.spelled if captured else ())
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


def _tools(envelope: ChatEnvelope, aliases: dict[str, str], notes: list[Note]) -> Items:
    """Return the tools and the choice among them."""
    captured = envelope.semantics.source is _GEMINI
    namespace = envelope.semantics.gemini
    given = envelope.tools or ()
    functions = [
        rename_tool(tool, aliases) for tool in (given if captured else unique_tools(given, notes))
    ]
    encoded = [
        _declaration(tool, captured, namespace.spelled if captured else ()) for tool in functions
    ]
    items: Items = []
    if captured and sum(count for count, _ in namespace.tool_groups) == len(encoded):
        if envelope.tools is not None:
            items.append(("tools", _grouped(encoded, namespace)))
    elif encoded or (envelope.tools is not None and envelope.semantics.source is None):
        items.append(("tools", Arr((Obj((("functionDeclarations", Arr(tuple(encoded))),)),))))
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
    parallel = envelope.parameters.parallel_tool_calls
    if parallel is not None and not parallel.value:
        notes += unsupported_notes(_GEMINI, [("parallel_tool_calls", parallel)])
    return items


def _grouped(encoded: list[Obj], namespace: GeminiSettings) -> Tree:
    """Return the tools in the groups they were captured in."""
    groups: list[Tree] = []
    rest = iter(encoded)
    for count, extras in namespace.tool_groups:
        declared = tuple(next(rest) for _ in range(count))
        items: Items = [("functionDeclarations", Arr(declared))] if declared else []
        group = Obj(tuple(merge_extras(items, extras, captured_origin("tools"))))
        groups.append(as_spelled(group, namespace.spelled))
    return groups[0] if namespace.tools_shape == "object" and groups else Arr(tuple(groups))


def _declaration(tool: ToolDefinition, captured: bool, spelled: tuple[str, ...]) -> Obj:
    items: Items = [("name", tree_of(tool.name))]
    if tool.description:
        items.append(("description", tree_of(tool.description)))
    if tool.parameters:
        key = "parameters" if tool.dialect == "gemini" else "parametersJsonSchema"
        items.append((key, tree_of(tool.parameters)))
    if captured:
        items = merge_extras(items, tool.extras, captured_origin("tools"))
    return as_spelled(Obj(tuple(items)), spelled)


def _config(envelope: ChatEnvelope, endpoint: Endpoint, notes: list[Note]) -> Tree | None:
    """Return `generationConfig`, or None if it would be empty."""
    parameters, namespace = envelope.parameters, envelope.semantics.gemini
    captured = envelope.semantics.source is _GEMINI
    facts = endpoint.facts_of(parameters.model.value)
    wanted = [
        ("temperature", parameters.temperature, 0, 2),
        ("topP", parameters.top_p, 0, 1),
        ("topK", parameters.top_k, 1, math.inf),
        ("presencePenalty", parameters.presence_penalty, -2, 2),
        ("frequencyPenalty", parameters.frequency_penalty, -2, 2),
    ]
    items: Items = list(sampling_settings(wanted, parameters, facts, notes, captured=captured))
    items += numeric_settings(
        [("seed", parameters.seed, -(2**31), 2**31 - 1)], notes, captured=captured
    )
    notes += effort_notes(parameters.effort, _GEMINI)
    limit = reply_limit(envelope, endpoint, notes)
    if limit is not None:
        items.append(("maxOutputTokens", setting_value(limit)))
    stop = parameters.stop if captured else stop_sequences(parameters.stop, _MAX_STOPS, notes)
    if stop is not None:
        items.append(("stopSequences", tree_of(stop.value, stop.origin)))
    form = parameters.response_format
    if form is not None and (captured or form.value.kind != "text"):
        items += _format(form if captured else schema_only_format(form, _GEMINI, notes))
    if captured:
        rest = namespace.generation_config
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
