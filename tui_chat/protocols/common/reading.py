"""Reading captured requests as blocks, and writing them again.

1. A body is read strictly: what is not JSON, is nested too deep or holds numbers that JSON does
   not have is refused with an explanation.
2. Lone surrogates cannot be sent as UTF-8; they become U+FFFD, with a note. Of a key that an
   object has twice the last value counts, with a note.
3. A reader only reads: it returns blocks for what it understands, and `learned` puts the difference
   to what we would write into their extras. What it does not know is an `OpaqueBlock`. It fails
   only for what is no conversation. A word that may be anything is read with `string` before it is
   looked up: a list is no key of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Cache,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    extras_of,
    patched,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import (
    ChatEnvelope,
    HostedTool,
    Level,
    NativeTool,
    Note,
    RequestTool,
    ToolDefinition,
    Turn,
)
from tui_chat.models.json_text import JsonError, decode_repaired, repeated_keys, to_json, type_name
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.common.setting_rows import Table, read_settings, write_settings
from tui_chat.protocols.common.trees import dictionary, plain

B = TypeVar("B", bound=TextBlock | ReasoningBlock | CallBlock | ResultBlock | MediaBlock)


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
    read_hosted: Callable[[JsonObject], HostedTool | None] = lambda wire: None
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
        fields, notes = _load(body, self.protocol)
        if self.conversation and self.conversation not in fields:
            raise InputError(f"{_title(self.protocol)}: it has no “{self.conversation}”.")
        envelope = self.read(fields)
        return replace(envelope, notes=(*notes, *self._unknown_notes(envelope.turns)))

    def read(self, body: JsonObject) -> ChatEnvelope:
        """Return a captured request. Raises InputError if it has no conversation."""
        turns, tools = tuple(self.read_turns(body)), None
        if body.get("tools") is not None:
            tools = tuple(self.read_tools(body["tools"]))
        parameters = read_settings(body, self.table)
        if "stream" not in parameters.origins:
            parameters = parameters.with_values(stream=self.streams)
        envelope = ChatEnvelope(turns, parameters, tools, source=self.protocol)
        return replace(envelope, rest=extras_of(self.protocol, body, self._written(envelope)))

    def write(self, envelope: ChatEnvelope) -> JsonObject:
        """Return the body of a captured request: what `read` has read."""
        return patched(self._written(envelope), envelope.rest)

    def _written(self, envelope: ChatEnvelope) -> JsonObject:
        body = self.write_turns(envelope.turns)
        if envelope.tools is not None:
            body["tools"] = self.write_tools(envelope.tools)
        return plain(body | write_settings(envelope.parameters, self.table))

    def read_tools(self, listed: Json) -> Iterator[RequestTool]:
        """Yield the tools of a request."""
        for wire in items_of(listed):
            fields = dictionary(wire)
            definition = self.read_tool(fields)
            if definition is None:
                kind = string(fields, "type") or string(fields, "name") or "tool"
                yield self.native(kind, wire)
            else:
                written = plain(self.write_tool(definition))
                yield replace(definition, extras=extras_of(self.protocol, fields, written))

    def write_tools(self, tools: Sequence[RequestTool]) -> list[Json]:
        """Return `tools`."""
        return [
            tool.value
            if isinstance(tool, NativeTool)
            else patched(plain(self.write_tool(tool)), tool.extras)
            for tool in tools
        ]

    def native(self, name: str, wire: Json) -> NativeTool:
        """Return one of the protocol's own tools, with its meaning for others if it has one."""
        fields = dictionary(wire)
        if (hosted := self.read_hosted(fields)) is None:
            return NativeTool(self.protocol, name, wire)
        extras = extras_of(self.protocol, fields, self.write_hosted(hosted))
        return NativeTool(self.protocol, name, wire, hosted, extras)

    def _unknown_notes(self, turns: Iterable[Turn]) -> Iterator[Note]:
        places: dict[str, list[Turn]] = {}
        for turn in turns:
            for block in turn.blocks:
                if isinstance(block, OpaqueBlock) and block.name not in self.known:
                    places.setdefault(block.name, []).append(turn)
        for name, found in places.items():
            kind = f"of the type {excerpt(name)}" if name else "without a type"
            times = f" ({len(found)} times)" if len(found) > 1 else ""
            sentence = f"Content {kind} is not known here{times}: to {self.protocol.label} it is "
            yield Note(
                Level.WARNING, "unknown-content", f"{sentence}sent as it came.", found[0].origin
            )


# --- bodies ------------------------------------------------------------------------------

_EXCERPT_LENGTH = 60
_MOST_KEYS = 5
"""Keys that one note names."""


def _load(body: bytes, protocol: Protocol) -> tuple[JsonObject, list[Note]]:
    """Parse a body as a JSON object. Returns it with notes on text that was cleaned.

    Raises InputError if it is not a request that could be sent.
    """
    title, notes = _title(protocol), list[Note]()
    try:
        text = body.decode("utf-8-sig")
        value, has_surrogates = decode_repaired(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{title}: byte {error.start} is not UTF-8.") from error
    except JsonError as fault:
        raise InputError(f"{title}: {fault.place}: {fault.sentence}.") from fault
    if not isinstance(value, dict):
        raise InputError(f"{title}: it is {type_name(value)} and not an object.")
    if has_surrogates:
        sentence = (
            "The request has half of a surrogate pair, which is not a character and cannot be "
            "sent; U+FFFD replaces it."
        )
        notes.append(Note(Level.WARNING, "surrogate-replaced", sentence))
    if repeated := repeated_keys(text):
        names = ", ".join(f"“{excerpt(key)[1:-1]}”" for key in repeated[:_MOST_KEYS])
        sentence = f"An object of the request has a key more than once ({names}); the last value "
        sentence += "counts, the others are left out."
        notes.append(Note(Level.WARNING, "key-repeated", sentence))
    return cast("JsonObject", value), notes


def _title(protocol: Protocol) -> str:
    return f"This is not a valid {protocol.label} request"


def excerpt(value: object) -> str:
    """Return a JSON value, cut to a length that fits into a sentence."""
    text = to_json(value)
    return text if len(text) <= _EXCERPT_LENGTH else f"{text[:_EXCERPT_LENGTH]}…"


# --- blocks ------------------------------------------------------------------------------


def learned(
    block: B, read: JsonObject, protocol: Protocol, write: Callable[[B], Json], form: str = ""
) -> B:
    """Return a block with the difference between what was read and what `write` makes of it."""
    block = replace(block, extras=Extras(protocol, form))
    written: JsonObject = plain(write(block))
    return replace(block, extras=extras_of(protocol, read, written, form))


def learned_turn(
    turn: Turn, read: JsonObject, protocol: Protocol, written: Json, form: str = ""
) -> Turn:
    """Return a turn with the difference between its message and what we write of it."""
    return replace(turn, extras=extras_of(protocol, read, plain(written), form))


def opaque(protocol: Protocol, value: Json) -> OpaqueBlock:
    """Return a block of a type that is not known."""
    return OpaqueBlock(protocol, string(dictionary(value), "type"), value)


def string(holder: Mapping[str, Json], key: str) -> str:
    """Return the string under a key; an empty one for any other value."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def items_of(value: Json) -> list[Json]:
    """Return a list; an empty one for any other value."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def objects_at(holder: Mapping[str, Json], key: str) -> list[JsonObject]:
    """Return the list of objects under a key. Raises InputError for anything else."""
    value = holder.get(key)
    if not isinstance(value, list):
        raise InputError(f"{key} must be a list, not {type_name(value)}.")
    for index, item in enumerate(cast("list[Json]", value)):
        if not isinstance(item, dict):
            raise InputError(f"{key}[{index}] must be an object, not {type_name(item)}.")
    return cast("list[JsonObject]", value)


def content_at(wire: Mapping[str, Json], key: str, place: str, *, has_parts: bool = True) -> Json:
    """Return a content: a text, null or, if the protocol has them, a list of parts. Raises
    InputError for anything else.
    """
    content: Json = wire.get(key)
    kinds = (str, list) if has_parts else (str,)
    if content is None or isinstance(content, kinds):
        return cast("Json", content)
    words = "a text or a list of parts" if has_parts else "a text"
    raise InputError(f"{place}.{key} must be {words}, not {type_name(content)}.")


def role_at(
    wire: Mapping[str, Json], place: str, roles: Mapping[str, MessageRole]
) -> tuple[str, MessageRole]:
    """Return the word for the role of a message, and its meaning. Raises InputError."""
    word = string(wire, "role")
    if word not in roles:
        words = ", ".join(roles)
        said = excerpt(wire.get("role"))
        raise InputError(f"{place}.role must be one of {words}, not {said}.")
    return word, roles[word]


def turn_origin(role: MessageRole, number: int) -> Origin:
    """Return the origin of a captured turn, by its number from 1."""
    called = "tool result" if role == "tool" else role
    return Origin(OriginKind.HISTORY, str(number), f"{called} {number}")


_EPHEMERAL: dict[str, Cache] = {"": "default", "5m": "5m", "1h": "1h"}


def read_cache(wire: Mapping[str, Json]) -> Cache:
    """Return the cache mark of a block, in Anthropic's form; empty for none."""
    mark = dictionary(wire.get("cache_control"))
    return _EPHEMERAL.get(string(mark, "ttl"), "") if mark.get("type") == "ephemeral" else ""
