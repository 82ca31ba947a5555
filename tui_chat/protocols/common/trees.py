"""What a writer returns, and the tree of it with an origin for every character.

A writer returns plain objects, lists and values, in which a `Text` has its own origins, a `Word` is
the protocol's, and `Named` has a narrower origin than what is around it. An object must stay a
`dict`, or `patched` cannot look into it: wrap its values instead (`labelled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models import payload
from tui_chat.models.blocks import HasExtras, Json, JsonObject, ReasoningBlock, own, patched
from tui_chat.models.endpoint import Protocol
from tui_chat.models.payload import Arr, Lit, Obj, Str, Tree
from tui_chat.models.text import GLUE, Origin, OriginKind, Text, clean


class Word(str):
    """A string that the protocol requires: a type, a role."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A value with an origin of its own: `origin`, or a part of its turn's, called `name`."""

    value: Json
    name: str = ""
    origin: Origin | None = None


class Labelled(dict[str, Any]):
    """An object with an origin of its own; see `Named`."""

    __slots__ = ("name", "origin")

    def __init__(self, fields: JsonObject, name: str, origin: Origin | None) -> None:
        super().__init__(fields)
        self.name = name
        self.origin = origin


NULL = Lit(None, GLUE)
"""A null that the protocol requires."""


def labelled(value: Json, name: str = "", origin: Origin | None = None) -> Json:
    """Return a value with an origin on it and all that is in it. An object stays a `dict`."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Json]", value).items()
        fields = {key: labelled(inner, name, origin) for key, inner in items}
        return Labelled(fields, name, origin)
    return Named(value, name, origin)


def optional(key: str, value: str, name: str) -> JsonObject:
    """Return a key with its value, which is called `name`; no key for an empty one."""
    return {key: Named(value, name)} if value else {}


def plain(value: Json) -> Json:
    """Return what a writer returned as plain JSON."""
    kind = value.__class__
    if kind is str or value is None:
        return value
    if kind is Named:
        return plain(value.value)
    if kind is Text:
        return value.plain
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in cast("Mapping[str, Json]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in cast("list[Json]", value)]
    if isinstance(value, Obj | Arr | Str | Lit):
        return payload.plain(value)
    return str(value) if kind is Word else value


def tree(value: Json, origin: Origin = GLUE) -> Tree:
    """Return the tree of what a writer returned; `origin` is that of all that has none of its own.

    Raises ValueError for NaN and infinities, which JSON does not have.
    """
    kind = value.__class__
    if kind is Word:
        return _word(value)
    if kind is str:
        return Str(Text.of(clean(value), origin))
    if kind is Text:
        return Str(value)
    if kind is dict or kind is Labelled:
        items = cast("JsonObject", value).items()
        around = _inside(value, origin) if kind is Labelled else origin
        return Obj(tuple([(clean(key), tree(inner, origin)) for key, inner in items]), around)
    if kind is list or kind is tuple:
        return Arr(tuple([tree(inner, origin) for inner in cast("list[Json]", value)]), origin)
    if kind is Named:
        return tree(value.value, _inside(value, origin))
    if isinstance(value, Obj | Arr | Str | Lit):
        return value
    return payload.tree_of(value, origin)


def _inside(value: Named | Labelled, origin: Origin) -> Origin:
    """Return the origin of a value within something of an origin."""
    return value.origin or (field_origin(origin, value.name) if value.name else origin)


@lru_cache(maxsize=256)
def _word(word: str) -> Str:
    return Str(Text.glue(word))


def with_keys(written: JsonObject, holder: HasExtras, protocol: Protocol) -> JsonObject:
    """Return what is written of a thing, with the extras of its own protocol on it."""
    extras = own(holder, protocol)
    if extras is None or not (extras.keys or extras.changes):
        return written
    other = "what only its provider understands"
    other = "reasoning" if isinstance(holder, ReasoningBlock) else other
    return patched(written, replace(extras, keys=_named(extras.keys, other)), plain)


_NAMES = {
    "cache_control": "cache mark",
    "prompt_cache_breakpoint": "cache mark",
    "id": "item id",
    "phase": "phase",
    "encrypted_content": "encrypted reasoning",
}
"""What the values of some keys are called."""


def _named(keys: Mapping[str, Json], other: str) -> JsonObject:
    """Return keys with the origins of their values. A pair of an item and its part has both's."""
    return {
        key: _named(cast("JsonObject", value), other)
        if key in ("item", "part") and isinstance(value, dict)
        else labelled(value, _NAMES.get(key, other))
        for key, value in keys.items()
    }


def object_of(value: Json, origin: Origin = GLUE) -> Obj:
    """Return the tree of an object."""
    made = tree(value, origin)
    assert isinstance(made, Obj)
    return made


def dictionary(value: Any) -> JsonObject:
    """Return a JSON object as it is; an empty one for any other value."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


# --- origins of what has no text -------------------------------------------------------


def field_origin(origin: Origin, what: str) -> Origin:
    """Return the origin of a field of a message that is not its text: an id, the arguments of a
    call, the bytes of a picture. It leads to the message by its id and by `within`.
    """
    return Origin(origin.kind, origin.id, what, within=origin)


def default_origin(name: str, why: str) -> Origin:
    """Return the origin of a setting that we send although it is not set."""
    return Origin(OriginKind.SETTING, name, f"{name}: {why}")


def captured_origin(name: str) -> Origin:
    """Return the origin of a setting that is passed on from a captured request."""
    return Origin(OriginKind.SETTING, name, f"{name}, from the captured request")


URL_MODEL = Origin(OriginKind.SETTING, "model", "model, from the URL")
"""The origin of a model that the URL of a captured request names."""


def is_captured(origin: Origin) -> bool:
    """Return True for the origin of a setting that a captured request has, or its URL."""
    return origin in (captured_origin(origin.id), URL_MODEL)


def tool_origin(name: str) -> Origin:
    """Return the origin of a tool's definition."""
    return Origin(OriginKind.TOOL, name)
