"""Reading the blocks of a captured request.

A reader only reads: it returns blocks for what it understands, and `learned` puts the difference
to what we would write into their extras. What it does not know is an `OpaqueBlock`. It fails only
for what is no conversation. A word that may be anything is read with `string` before it is looked
up: a list is no key of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Parameters, RequestTool
from tui_chat.models.json_text import type_name
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.request_body import excerpt
from tui_chat.protocols.common.trees import dictionary, plain

B = TypeVar("B", bound=TextBlock | ReasoningBlock | CallBlock | ResultBlock | MediaBlock)


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A captured request as its protocol's reader understands it."""

    protocol: Protocol
    turns: tuple[Turn, ...]
    parameters: Parameters = Parameters()
    tools: tuple[RequestTool, ...] | None = None
    """In the order of the request; None if it has no list of tools."""
    rest: Extras | None = None
    """The keys of the request that nothing above says."""


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


def boolean(value: Json) -> bool | None:
    """Return true or false; None for any other value."""
    return value if isinstance(value, bool) else None


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
