"""Names of functions that a protocol accepts, and the parts of tools that several protocols have.

1. A forbidden name gets an alias: every forbidden character becomes `_`, the rest is kept.
2. Two tools never share a name: an alias that is taken gets a number.
3. Aliases depend on nothing but the names and their order: the same request has the same aliases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock, Json, JsonObject
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, ToolDefinition
from tui_chat.models.json_text import as_object, as_string
from tui_chat.models.message import Message
from tui_chat.models.payload import Arr, JsonValue, Obj, Tree, tree_of
from tui_chat.models.settings import SearchLocation, WebSearch
from tui_chat.models.text import GLUE, clean
from tui_chat.models.tool import GROUPS, name_in, prefix_in
from tui_chat.protocols.common.setting_rows import texts
from tui_chat.protocols.common.trees import captured_origin, object_of, tool_origin, with_keys


@dataclass(frozen=True, slots=True)
class NameRule:
    """The tool names that a protocol accepts."""

    pattern: re.Pattern[str]
    """The pattern that a whole name must match."""
    forbidden: re.Pattern[str]
    """A character that names must not contain."""
    longest: int
    start: str = ""
    """The prefix for an alias that would begin with a forbidden character."""

    def allows(self, name: str) -> bool:
        """Return True if a name can be sent as it is."""
        return self.pattern.fullmatch(name) is not None


NAMES_ANY = NameRule(re.compile(r".*", re.DOTALL), re.compile(r"(?!)"), 10_000)
NAMES_64 = NameRule(re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[^A-Za-z0-9_-]"), 64)
NAMES_128 = NameRule(re.compile(r"[A-Za-z0-9_-]{1,128}"), re.compile(r"[^A-Za-z0-9_-]"), 128)
NAMES_GEMINI = NameRule(
    re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), re.compile(r"[^A-Za-z0-9_.:-]"), 128, "_"
)


def aliases_for(names: Iterable[str], rule: NameRule) -> dict[str, str]:
    """Return the alias of every name that the rule forbids."""
    distinct = list(dict.fromkeys(names))
    taken = {name for name in distinct if rule.allows(name)}
    aliases: dict[str, str] = {}
    for name in distinct:
        if name in taken:
            continue
        alias = rule.forbidden.sub("_", name)[: rule.longest] or "_"
        alias = alias if rule.allows(alias) else (rule.start + alias)[: rule.longest]
        free, number = alias, 2
        while free in taken:
            ending = f"_{number}"
            free = alias[: rule.longest - len(ending)] + ending
            number += 1
        aliases[name] = free
        taken.add(free)
    return aliases


def restore_names(message: Message, aliases: Sequence[tuple[str, str]]) -> Message:
    """Return a reply whose tool calls have their own names; `aliases` is `Encoded.aliases`."""
    if not aliases or not message.tool_calls:
        return message
    ours = {alias: name for name, alias in aliases}
    blocks = tuple(
        replace(block, name=ours[block.name])
        if isinstance(block, CallBlock) and block.name in ours
        else block
        for block in message.blocks
    )
    return replace(message, blocks=blocks)


def tool_tree(value: JsonValue, prefix: str = "") -> Tree:
    """Return captured `tools`, or one of them, with origins. `prefix` is that of the names."""
    if isinstance(value, Mapping):
        rest = {key: inner for key, inner in value.items() if key not in GROUPS}
        origin = tool_origin(prefix + name_in(rest)) if rest else GLUE
        inside = prefix_in(value)
        items = (
            (clean(key), tool_tree(inner, inside) if key in GROUPS else tree_of(inner, origin))
            for key, inner in value.items()
        )
        return Obj(tuple(items), origin)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Arr(tuple(tool_tree(entry, prefix) for entry in value))
    return tree_of(value)


def definition_tree(written: JsonObject, tool: ToolDefinition, protocol: Protocol) -> Obj:
    """Return the tree of a function's definition with the keys that were captured with it."""
    return object_of(with_keys(written, tool, protocol), tool_origin(tool.name))


def strict_notes(tools: Sequence[ToolDefinition], protocol: Protocol) -> Iterator[Note]:
    """Yield a note for each tool with `strict`, for a protocol that does not have it."""
    for tool in tools:
        if tool.strict is not None:
            word = "true" if tool.strict else "false"
            sentence = f"{protocol.label} has no “strict” for tools; “strict: {word}” of "
            sentence += f"“{tool.name}” is left out."
            level = Level.WARNING if tool.strict else Level.INFO
            yield Note(level, "tool-extras-left-out", sentence, captured_origin("tools"))


_PLACE = ("city", "country", "region", "timezone")


def read_location(value: object) -> SearchLocation | None:
    """Return what `user_location` means; None if it is anything else than an approximate place."""
    fields = as_object(value)
    if fields.get("type") != "approximate":
        return None
    inner = as_object(fields.get("approximate")) or fields
    place = {key: as_string(inner.get(key)) for key in _PLACE}
    kept = {key: value for key, value in inner.items() if value is not None and key != "type"}
    if kept != {key: text for key, text in place.items() if text}:
        return None
    return SearchLocation(**place)


def write_location(place: SearchLocation) -> dict[str, Any]:
    """Return the keys of a place as all protocols that have it call them."""
    return {key: text for key in _PLACE if (text := getattr(place, key))}


def read_domains(value: Json) -> tuple[str, ...]:
    """Return a list of domains; empty for anything else."""
    return texts(value) or () if isinstance(value, list) else ()


def read_search(wire: JsonObject) -> WebSearch:
    """Return size and place of a search as OpenAI writes them."""
    size = wire.get("search_context_size")
    known = size if size in ("low", "medium", "high") else ""
    return WebSearch(cast("str", known), read_location(wire.get("user_location")))


def write_search(search: WebSearch, *, nested: bool = False) -> JsonObject:
    """Return a search's size and place for OpenAI; Chat has the place in an object (`nested`)."""
    fields: JsonObject = {}
    if search.context_size:
        fields["search_context_size"] = search.context_size
    if search.location is not None:
        place = write_location(search.location)
        fields["user_location"] = {
            "type": "approximate",
            **({"approximate": place} if nested else place),
        }
    return fields


# --- schemas -----------------------------------------------------------------------------

_GEMINI_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def json_schema(schema: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """Return a schema as JSON Schema: Gemini's own form has types in capitals, and `nullable`."""
    return dict(schema) if dialect == "json" else _from_gemini_schema(schema)


def _from_gemini_schema(value: Any) -> Any:
    if isinstance(value, Mapping):
        schema: dict[str, Any] = {}
        for key, inner in value.items():  # type: ignore[misc]
            if key == "type" and isinstance(inner, str) and inner in _GEMINI_TYPES:
                schema[key] = inner.lower()
            elif key == "propertyOrdering":
                continue
            elif key in ("enum", "example", "default", "required"):
                schema[key] = inner
            else:
                schema[str(key)] = _from_gemini_schema(inner)  # type: ignore[arg-type]
        if schema.pop("nullable", False) is True and isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        return schema
    if isinstance(value, list):
        return [_from_gemini_schema(inner) for inner in value]  # type: ignore[misc]
    return value


def object_schema(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool's schema as the object schema that some protocols require."""
    schema = json_schema(tool.parameters, tool.dialect)
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def closed_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a schema whose objects are closed, as Anthropic requires, and True if it changed."""
    closed = {key: _closed(key, value) for key, value in schema.items()}
    kind: Any = closed.get("type")
    is_object = (
        kind == "object" or "properties" in closed or (isinstance(kind, list) and "object" in kind)
    )
    if is_object and closed.get("additionalProperties") is not False:
        closed["additionalProperties"] = False
    return closed, closed != schema


_SCHEMAS_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_SCHEMAS = frozenset(
    {"items", "anyOf", "allOf", "oneOf", "not", "prefixItems", "if", "then", "else", "contains"}
)


def _closed(key: str, value: Any) -> Any:
    if key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
        named = cast("Mapping[str, Any]", value)
        return {name: _closed("items", inner) for name, inner in named.items()}
    if key in _SCHEMAS and isinstance(value, Mapping):
        return closed_schema(cast("Mapping[str, Any]", value))[0]
    if key in _SCHEMAS and isinstance(value, list):
        return [_closed("items", inner) for inner in cast("list[Any]", value)]
    return value
