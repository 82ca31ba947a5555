"""OpenAI's tools that are no plain functions, as functions for other protocols.

1. The functions of a namespace, and of an item that announces tools (`additional_tools`), are
   functions. One has the name that it has there, after that of its MCP server or, if another tool
   has that name, after that of its namespace.
2. A custom tool takes free text: it is a function with one text, and so are its calls.
3. Any other tool stays the provider's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, cast

from tui_chat.models.blocks import Block, CallBlock, Extras, JsonObject, OpaqueBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    Level,
    NativeTool,
    Note,
    RequestTool,
    ToolDefinition,
    Turn,
    with_each_block,
)
from tui_chat.models.json_text import as_string, to_json
from tui_chat.models.tool import name_in, prefix_in
from tui_chat.protocols.common.reading import string
from tui_chat.protocols.common.setting_rows import boolean
from tui_chat.protocols.common.trees import captured_origin, dictionary
from tui_chat.protocols.common.turn_fit import variant

INPUT = "input"
"""The only argument of a function that stands for a custom tool."""
_OPENAI = (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES)
_GROUP_KEYS = frozenset(("type", "name", "tools", "id", "role"))
"""Keys of a group of tools that say nothing about them."""
_Names = dict[tuple[str, str], str]
"""The names of functions by their namespaces and their names there."""


def with_functions(envelope: ChatEnvelope) -> tuple[ChatEnvelope, list[Note]]:
    """Return a captured request of OpenAI's with functions for such tools, and for their calls, and
    notes on what changed. The envelope itself if it has none.
    """
    source = envelope.source
    if source is None or source not in _OPENAI:
        return envelope, []
    notes: list[Note] = []
    names: _Names = {}
    tools: list[RequestTool] = []
    taken = {tool.name for tool in envelope.functions}
    custom: list[str] = []
    announced = (item for turn in envelope.turns for item in announced_tools(turn))
    more = (NativeTool(source, name_in(item), item) for item in announced)
    for tool in (*(envelope.tools or ()), *more):
        if isinstance(tool, ToolDefinition) or tool.hosted is not None:
            tools.append(tool)
            continue
        for namespace, definition in _definitions(dictionary(tool.value), notes):
            function = _function(definition, source)
            if function is None:
                tools.append(NativeTool(source, name_in(definition), definition))
                continue
            name = prefix_in({"name": namespace}) + function.name
            if name in taken and namespace:
                name = f"{namespace.rstrip('_')}__{function.name}"
            taken.add(name)
            names.setdefault((namespace, function.name), name)
            custom += [name] if definition.get("type") == "custom" else []
            tools.append(replace(function, name=name))
    if custom:
        sentence = f"Tools that take free text are sent as functions with one text, “{INPUT}”: "
        notes.append(_note("tool-as-function", f"{sentence}{', '.join(custom)}."))
    has_tools = envelope.tools is not None or bool(tools)
    changed = replace(envelope, tools=tuple(tools) if has_tools else None)
    spoken = without_announcements(envelope.turns)
    turns = tuple(_with_function_calls(turn, names) for turn in spoken)
    is_same = len(turns) == len(envelope.turns) and all(map(is_, turns, envelope.turns))
    return (changed if is_same else replace(changed, turns=turns)), notes


def announced_tools(turn: Turn) -> list[JsonObject]:
    """Return the items of a turn of Responses that announce tools within the conversation."""
    items = [
        dictionary(block.value)
        for block in turn.blocks
        if isinstance(block, OpaqueBlock)
        and block.protocol is Protocol.OPENAI_RESPONSES
        and block.name not in _OF_THE_MODEL
    ]
    return [item for item in items if isinstance(item.get("tools"), list)]


_OF_THE_MODEL = ("mcp_list_tools", "tool_search_output")
"""Items with tools that are the model's own turn."""


def without_announcements(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns without those that only announce tools."""
    return tuple(
        turn
        for turn in turns
        if turn.text.plain or turn.tool_calls or turn.reasoning or not announced_tools(turn)
    )


def _definitions(
    fields: Mapping[str, Any], notes: list[Note], namespace: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the definitions of a tool or a group of them, each with its namespace. Adds notes on
    what groups say besides their tools.
    """
    group = fields.get("tools")
    if not isinstance(group, list):
        yield namespace, dict(fields)
        return
    if lost := [key for key, value in fields.items() if value and key not in _GROUP_KEYS]:
        sentence = f"Keys of the tools “{name_in(fields)}” that are not carried over from "
        sentence += f"{Protocol.OPENAI_RESPONSES.label}: {', '.join(lost)}."
        notes.append(_note("tool-extras-left-out", sentence))
    inner = str(fields.get("name") or "") or namespace
    for entry in cast("list[Any]", group):
        if isinstance(entry, dict):
            yield from _definitions(cast("dict[str, Any]", entry), notes, inner)


def _note(code: str, sentence: str) -> Note:
    return Note(Level.WARNING, code, sentence, captured_origin("tools"))


def _function(definition: JsonObject, source: Protocol) -> ToolDefinition | None:
    """Return the function that a definition is or becomes; None for any other tool."""
    kind = definition.get("type")
    if kind not in ("function", "custom"):
        return None
    fields = dictionary(definition.get(cast("str", kind))) or definition
    name, description = string(fields, "name"), string(fields, "description")
    parameters, strict = dictionary(fields.get("parameters")), boolean(fields.get("strict"))
    read = ["type", "name", "description"]
    read += ["parameters"] * bool(parameters) + ["strict"] * (strict is not None)
    if kind == "custom":
        parameters, strict = dict(_FREE_TEXT), None
        is_text = fields.get("format") == {"type": "text"}
        read = [*read[:3], *["format"] * is_text]
    if not name:
        return None
    extras = Extras(source, keys={key: v for key, v in fields.items() if key not in read})
    return ToolDefinition(name, description, parameters, strict, extras=extras)


_FREE_TEXT = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}


def _with_function_calls(turn: Turn, names: _Names) -> Turn:
    """Return a turn whose calls are those of functions, the same object for the same names."""

    def changed(block: Block) -> Block:
        return _function_call(block, names) if isinstance(block, CallBlock) else block

    calls = [_function_call(call, names) for call in turn.tool_calls]
    if all(map(is_, calls, turn.tool_calls)):
        return turn
    key = ("functions", *(call.name for call in calls))
    return variant(turn, key, lambda turn: with_each_block(turn, changed))


def _function_call(call: CallBlock, names: _Names) -> CallBlock:
    extras = call.extras
    if extras is None or extras.protocol not in _OPENAI:
        return call
    is_custom, namespace = extras.form == "custom", as_string(extras.keys.get("namespace"))
    if not is_custom and not namespace:
        return call
    same = [function for (_, own), function in names.items() if own == call.name]
    name = names.get((namespace, call.name)) or (same[0] if len(same) == 1 else call.name)
    arguments = to_json({INPUT: call.arguments}) if is_custom else call.arguments
    keys = {key: value for key, value in extras.keys.items() if key != "namespace"}
    return replace(call, name=name, arguments=arguments, extras=Extras(extras.protocol, keys=keys))
