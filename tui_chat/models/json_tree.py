"""The request body as a JSON tree whose characters know their origin, and its exact bytes.

1. A protocol builds a tree of `Obj`, `Arr`, `Str` and `Lit`. The tree is the only truth.
2. The bytes are those that are sent: no white space, UTF-8, keys in the tree's order.
3. A node is immutable and remembers its bytes, so a keystroke encodes what it changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from math import isfinite
from typing import Any, TypeAlias, cast

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.text import GLUE, Origin, Text, clean

JsonValue: TypeAlias = (
    "str | int | float | bool | Mapping[str, JsonValue] | Sequence[JsonValue] | None"
)


class _Container:
    """A node that remembers how it was drawn. The slots are empty until it is looked at."""

    __slots__ = ("__weakref__", "body", "digest", "starts")

    body: bytes
    digest: str
    """See `request_edit.fingerprint`."""
    starts: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class Str:
    """A JSON string."""

    text: Text


@dataclass(frozen=True, slots=True, eq=False)
class Lit:
    """A JSON number, `true`, `false` or `null`."""

    value: float | bool | None
    origin: Origin = GLUE


@dataclass(frozen=True, slots=True, eq=False)
class Arr(_Container):
    """A JSON array."""

    items: tuple[Tree, ...]
    origin: Origin = GLUE
    """The origin of the array as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Obj(_Container):
    """A JSON object."""

    items: tuple[tuple[str, Tree], ...]
    origin: Origin = GLUE
    """The origin of the object as a whole: a turn's object has the turn's origin."""

    def get(self, key: str) -> Tree | None:
        """Return the value of a key; None if it is missing."""
        for name, value in self.items:
            if name == key:
                return value
        return None


Tree: TypeAlias = Obj | Arr | Str | Lit
LEAVES = frozenset[type]({Str, Lit})
"""Nodes that hold no others."""


def tree_of(value: JsonValue, origin: Origin = GLUE) -> Tree:
    """Make a tree of a plain JSON value, all of one origin.

    Raises ValueError for NaN and infinities, which JSON does not have.
    """
    if isinstance(value, str):
        return Str(Text.of(clean(value), origin))
    if value is None or isinstance(value, bool | int | float):
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        return Lit(value, origin)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, JsonValue]", value).items()
        return Obj(tuple((clean(k), tree_of(v, origin)) for k, v in items), origin)
    return Arr(tuple(tree_of(v, origin) for v in value), origin)


def plain(tree: Tree) -> Any:
    """Return the plain JSON value of a tree."""
    match tree:
        case Str():
            return tree.text.plain
        case Lit():
            return tree.value
        case Arr():
            return [plain(item) for item in tree.items]
        case Obj():
            return {key: plain(value) for key, value in tree.items}


def _json(node: Tree) -> str:
    match node:
        case Str():
            return quoted(node.text.plain)
        case Obj():
            return "{" + ",".join([_key(key) + _json(value) for key, value in node.items]) + "}"
        case Arr():
            return "[" + ",".join(map(_json, node.items)) + "]"
        case Lit():
            return json.dumps(node.value, allow_nan=False)


def body_of(node: Tree) -> bytes:
    """Return the bytes of a part of a body; a container keeps its own."""
    body = getattr(node, "body", None)
    if body is None:
        body = _json(node).encode()
        if type(node) not in LEAVES:
            object.__setattr__(node, "body", body)
    return body


def written(node: Tree) -> Iterator[bytes]:
    """Yield the bytes of the outermost node. Kept are those of its values, and where a value is
    an array, as the messages are, of each item: what a keystroke changes is one of them.
    """
    if not isinstance(node, Obj):
        yield body_of(node)
        return
    before = "{"
    for key, value in node.items:
        yield (before + _key(key)).encode()
        before = ","
        if isinstance(value, Arr):
            yield b"[" + b",".join(list(map(body_of, value.items))) + b"]"
        else:
            yield body_of(value)
    yield b"}" if node.items else b"{}"


@lru_cache(maxsize=1024)
def _key(key: str) -> str:
    return quoted(key) + ":"
