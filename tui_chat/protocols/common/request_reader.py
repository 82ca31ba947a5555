"""Reading a whole request as blocks, and writing it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import Json, JsonObject, extras_of, patched
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.protocols.common.reading import (
    NativeDefinition,
    WireRequest,
    WireTool,
    items_of,
    string,
)
from tui_chat.protocols.common.setting_rows import Table, read_settings, write_values
from tui_chat.protocols.common.trees import dictionary, plain


@dataclass(frozen=True, slots=True)
class RequestReader:
    """Reads and writes the requests of one protocol."""

    protocol: Protocol
    table: Table
    """Its settings."""
    read_turns: Callable[[JsonObject], Iterable[BlockTurn]]
    """Returns the turns of a body. Raises InputError if it has no conversation."""
    write_turns: Callable[[Sequence[BlockTurn]], JsonObject]
    """Returns the keys of a body with these turns."""
    read_tool: Callable[[JsonObject], ToolDefinition | None]
    """Returns a function; None for any other tool."""
    write_tool: Callable[[ToolDefinition], JsonObject]

    def read(self, body: JsonObject) -> WireRequest:
        """Return a captured request. Raises InputError if it has no conversation."""
        turns, tools = tuple(self.read_turns(body)), None
        if body.get("tools") is not None:
            tools = tuple(self.read_tools(body["tools"]))
        request = WireRequest(self.protocol, turns, read_settings(body, self.table), tools)
        return replace(request, rest=extras_of(self.protocol, body, self._written(request)))

    def write(self, request: WireRequest) -> JsonObject:
        """Return the body of a captured request: what `read` has read."""
        return patched(self._written(request), request.rest)

    def _written(self, request: WireRequest) -> JsonObject:
        body = self.write_turns(request.turns)
        if request.tools is not None:
            body["tools"] = self.write_tools(request.tools)
        return plain(body | write_values(request.values, self.table))

    def read_tools(self, listed: Json) -> Iterable[WireTool | NativeDefinition]:
        """Return the tools of a request."""
        return map(self._tool, items_of(listed))

    def write_tools(self, tools: Sequence[WireTool | NativeDefinition]) -> list[Json]:
        """Return `tools`."""
        return [self._write_tool(tool) for tool in tools]

    def _tool(self, wire: Json) -> WireTool | NativeDefinition:
        fields = dictionary(wire)
        definition = self.read_tool(fields)
        if definition is None:
            return NativeDefinition(string(fields, "type"), wire)
        written = plain(self.write_tool(definition))
        return WireTool(definition, extras_of(self.protocol, fields, written))

    def _write_tool(self, tool: WireTool | NativeDefinition) -> Json:
        if isinstance(tool, NativeDefinition):
            return tool.value
        return patched(plain(self.write_tool(tool.definition)), tool.extras)
