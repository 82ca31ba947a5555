"""OpenAI's tools that are no plain functions, as functions for other protocols.

1. The functions of a namespace, and of an item that announces tools (`additional_tools`), are
   functions. One has the name that it has there, after that of its MCP server or, if another tool
   has that name, after that of its namespace.
2. A custom tool takes free text: it is a function with one text, and so are its calls.
3. Any other tool stays the provider's.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, ToolDefinition, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.message import ToolCall
from tui_chat.models.semantics import LayoutPiece, NativeTool
from tui_chat.models.tool import name_in, prefix_in
from tui_chat.protocols.common.call_pairing import variant
from tui_chat.protocols.common.encoding import captured_origin
from tui_chat.protocols.common.request_fields import Fields

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
    if envelope.semantics.source not in _OPENAI:
        return envelope, []
    notes: list[Note] = []
    names: _Names = {}
    kept: list[NativeTool] = []
    entries: list[list[ToolDefinition]] = [[tool] for tool in envelope.tools or ()]
    taken = {tool.name for tool in envelope.tools or ()}
    tools = envelope.semantics.tools
    custom: list[str] = []
    # Positions count all tools of the list; what is announced in an item comes after them.
    for native in sorted(tools.native, key=lambda tool: (tool.item is not None, tool.position)):
        fields = cast("dict[str, Any]", json.loads(native.data))
        found = list(_definitions(fields)) if native.hosted is None else []
        entry: list[ToolDefinition] = []
        for namespace, definition in found:
            function = _function(definition)
            if function is None:
                kept.append(replace(native, name=name_in(definition), data=to_json(definition)))
                continue
            name = prefix_in({"name": namespace}) + function.name
            if name in taken and namespace:
                name = f"{namespace.rstrip('_')}__{function.name}"
            taken.add(name)
            names.setdefault((namespace, function.name), name)
            custom += [name] if definition.get("type") == "custom" else []
            entry.append(replace(function, name=name))
        if not found and native.item is None:
            kept.append(native)
        position = len(entries) if native.item is not None else native.position
        entries.insert(position, entry)
        notes += _group_notes(fields)
    if custom:
        sentence = f"Tools that take free text are sent as functions with one text, “{INPUT}”: "
        notes.append(_note(Level.WARNING, "tool-as-function", f"{sentence}{', '.join(custom)}."))
    functions = tuple(tool for entry in entries for tool in entry)
    turns = tuple(_with_function_calls(turn, names) for turn in envelope.turns)
    semantics = replace(envelope.semantics, tools=replace(tools, native=tuple(kept)))
    has_tools = envelope.tools is not None or bool(functions)
    changed = replace(envelope, tools=functions if has_tools else None, semantics=semantics)
    is_same = all(new is old for new, old in zip(turns, envelope.turns, strict=True))
    return (changed if is_same else replace(changed, turns=turns)), notes


def _definitions(
    fields: Mapping[str, Any], namespace: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the definitions of a tool or a group of them, each with its namespace."""
    group = fields.get("tools")
    if not isinstance(group, list):
        yield namespace, dict(fields)
        return
    inner = str(fields.get("name") or "") or namespace
    for entry in cast("list[Any]", group):
        if isinstance(entry, dict):
            yield from _definitions(cast("dict[str, Any]", entry), inner)


def _function(definition: dict[str, Any]) -> ToolDefinition | None:
    """Return the function that a definition is or becomes; None for any other tool."""
    kind = definition.get("type")
    if kind not in ("function", "custom"):
        return None
    nested = definition.get(cast("str", kind))
    fields = Fields(cast("dict[str, Any]", nested) if isinstance(nested, dict) else definition, "")
    fields.take_equal("type", kind)
    name, description = fields.take_text("name"), fields.take_text("description")
    if not name:
        return None
    if kind == "function":
        parameters = fields.take_object("parameters") or {}
        strict = fields.take_boolean("strict")
        return ToolDefinition(name, description, parameters, strict, extras=fields.remaining_json())
    if fields.remaining.get("format") == {"type": "text"}:
        del fields.remaining["format"]
    schema = {
        "type": "object",
        "properties": {INPUT: {"type": "string"}},
        "required": [INPUT],
        "additionalProperties": False,
    }
    return ToolDefinition(name, description, schema, extras=fields.remaining_json())


def _group_notes(fields: Mapping[str, Any]) -> Iterator[Note]:
    """Yield notes on what groups of tools say besides their tools."""
    group = fields.get("tools")
    if not isinstance(group, list):
        return
    lost = [key for key, value in fields.items() if value and key not in _GROUP_KEYS]
    if lost:
        sentence = f"Keys of the tools “{name_in(fields)}” that are not carried over from "
        sentence += f"{Protocol.OPENAI_RESPONSES.label}: {', '.join(lost)}."
        yield _note(Level.WARNING, "tool-extras-left-out", sentence)
    for entry in cast("list[Any]", group):
        if isinstance(entry, dict):
            yield from _group_notes(cast("dict[str, Any]", entry))


def _note(level: Level, code: str, sentence: str) -> Note:
    return Note(level, code, sentence, captured_origin("tools"))


def _with_function_calls(turn: Turn, names: _Names) -> Turn:
    """Return a turn whose calls are those of functions, the same object for the same names."""
    layout = turn.semantics.layout
    if layout is None or layout.protocol not in _OPENAI or not turn.tool_calls:
        return turn
    pieces = [piece for piece in layout.pieces if piece.kind == "call"]
    if len(pieces) != len(turn.tool_calls):
        return turn
    calls = [
        _function_call(call, piece, names)
        for call, piece in zip(turn.tool_calls, pieces, strict=True)
    ]
    if all(new is old for (new, _), old in zip(calls, turn.tool_calls, strict=True)):
        return turn
    key = ("functions", *(call.name for call, _ in calls))
    return variant(turn, key, lambda turn: _replace_calls(turn, calls))


def _function_call(
    call: ToolCall, piece: LayoutPiece, names: _Names
) -> tuple[ToolCall, LayoutPiece]:
    extras = cast("dict[str, Any]", json.loads(piece.extras)) if piece.extras else {}
    namespace = extras.pop("namespace", "")
    namespace = namespace if isinstance(namespace, str) else ""
    if not piece.is_custom and not namespace:
        return call, piece
    name = names.get((namespace, call.name), "") or _only(names, call.name) or call.name
    arguments = to_json({INPUT: call.arguments}) if piece.is_custom else call.arguments
    bare = replace(piece, name="", extras=to_json(extras) if extras else "")
    return replace(call, name=name, arguments=arguments), bare


def _only(names: _Names, name: str) -> str:
    """Return the function of a name if one namespace alone has it."""
    found = [function for (_, own), function in names.items() if own == name]
    return found[0] if len(found) == 1 else ""


def _replace_calls(turn: Turn, calls: Collection[tuple[ToolCall, LayoutPiece]]) -> Turn:
    layout = turn.semantics.layout
    assert layout is not None
    marks = iter([piece for _, piece in calls])
    pieces = tuple(next(marks) if piece.kind == "call" else piece for piece in layout.pieces)
    semantics = replace(turn.semantics, layout=replace(layout, pieces=pieces))
    return replace(turn, tool_calls=tuple(call for call, _ in calls), semantics=semantics)
