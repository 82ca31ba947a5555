"""Reading a whole request as blocks, and writing it again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Json, JsonObject, OpaqueBlock, extras_of, patched
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedTool,
    Level,
    NativeTool,
    Note,
    RequestTool,
    ToolDefinition,
)
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.reading import WireRequest, items_of, string
from tui_chat.protocols.common.request_body import excerpt, load_request
from tui_chat.protocols.common.setting_rows import Table, read_settings, write_settings
from tui_chat.protocols.common.trees import dictionary, plain


def no_hosted(wire: JsonObject) -> HostedTool | None:
    """Return None: the protocol has no tools that other protocols have too."""


@dataclass(frozen=True, slots=True)
class RequestReader:
    """Reads and writes the requests of one protocol."""

    protocol: Protocol
    table: Table
    """Its settings."""
    read_turns: Callable[[JsonObject], Iterable[Turn]]
    """Returns the turns of a body. Raises InputError if it has no conversation."""
    write_turns: Callable[[Sequence[Turn]], JsonObject]
    """Returns the keys of a body with these turns."""
    read_tool: Callable[[JsonObject], ToolDefinition | None]
    """Returns a function; None for any other tool."""
    write_tool: Callable[[ToolDefinition], JsonObject]
    read_hosted: Callable[[JsonObject], HostedTool | None] = no_hosted
    """Returns the meaning of a tool that the provider runs; None if other protocols have none."""
    write_hosted: Callable[[HostedTool], JsonObject] = lambda tool: {}
    streams: bool = False
    """True if a request that does not say so asks for a stream."""
    conversation: str = "messages"
    """The key that a request must have; empty for none."""
    known: frozenset[str] = frozenset()
    """Types of content that the protocol has although no field of a block can express them. A note
    tells of all others.
    """

    def decode(self, body: bytes) -> ChatEnvelope:
        """Return the envelope of a body. Raises InputError if it is not of this protocol."""
        fields, notes = load_request(body, self.protocol, self.conversation)
        request = self.read(fields)
        return ChatEnvelope(
            request.turns,
            request.parameters,
            request.tools,
            notes=(*notes, *_unknown_notes(request.turns, self.known, self.protocol)),
            source=self.protocol,
            rest=request.rest,
        )

    def read(self, body: JsonObject) -> WireRequest:
        """Return a captured request. Raises InputError if it has no conversation."""
        turns, tools = tuple(self.read_turns(body)), None
        if body.get("tools") is not None:
            tools = tuple(self.read_tools(body["tools"]))
        parameters = read_settings(body, self.table)
        if "stream" not in parameters.origins:
            parameters = parameters.with_values(stream=self.streams)
        request = WireRequest(self.protocol, turns, parameters, tools)
        return replace(request, rest=extras_of(self.protocol, body, self._written(request)))

    def write(self, request: WireRequest) -> JsonObject:
        """Return the body of a captured request: what `read` has read."""
        return patched(self._written(request), request.rest)

    def _written(self, request: WireRequest) -> JsonObject:
        body = self.write_turns(request.turns)
        if request.tools is not None:
            body["tools"] = self.write_tools(request.tools)
        return plain(body | write_settings(request.parameters, self.table))

    def read_tools(self, listed: Json) -> Iterable[RequestTool]:
        """Return the tools of a request."""
        return map(self._tool, items_of(listed))

    def write_tools(self, tools: Sequence[RequestTool]) -> list[Json]:
        """Return `tools`."""
        return [self._write_tool(tool) for tool in tools]

    def _tool(self, wire: Json) -> RequestTool:
        fields = dictionary(wire)
        definition = self.read_tool(fields)
        if definition is None:
            return self.native(string(fields, "type") or string(fields, "name") or "tool", wire)
        written = plain(self.write_tool(definition))
        return replace(definition, extras=extras_of(self.protocol, fields, written))

    def native(self, name: str, wire: Json) -> NativeTool:
        """Return one of the protocol's own tools, with its meaning for others if it has one."""
        fields = dictionary(wire)
        if (hosted := self.read_hosted(fields)) is None:
            return NativeTool(self.protocol, name, wire)
        extras = extras_of(self.protocol, fields, self.write_hosted(hosted))
        return NativeTool(self.protocol, name, wire, hosted, extras)

    def _write_tool(self, tool: RequestTool) -> Json:
        if isinstance(tool, NativeTool):
            return tool.value
        return patched(plain(self.write_tool(tool)), tool.extras)


def _unknown_notes(
    turns: Iterable[Turn], known: Collection[str], source: Protocol
) -> Iterator[Note]:
    places: dict[str, list[Turn]] = {}
    for turn in turns:
        for block in turn.blocks:
            if isinstance(block, OpaqueBlock) and block.name not in known:
                places.setdefault(block.name, []).append(turn)
    for name, affected in places.items():
        what = f"Content of the type {excerpt(name)} is" if name else "Content without a type is"
        times = f" ({len(affected)} times)" if len(affected) > 1 else ""
        sentence = f"{what} not known here{times}: to {source.label} it is sent as it came."
        yield Note(Level.WARNING, "unknown-content", sentence, affected[0].origin)
