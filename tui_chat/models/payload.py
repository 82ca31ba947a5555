"""A rendered request body: a JSON tree whose characters know their origin, the exact bytes that are
sent, and the lines in which it is read.

1. A protocol builds a tree of `Obj`, `Arr`, `Str` and `Lit`. The tree is the only truth. Bytes and
   lines come from it by one escaping, so the lines cannot show what the bytes do not have.
2. The bytes are those that are sent: no white space, UTF-8, keys in the tree's order. A node is
   immutable and remembers its bytes, so a keystroke encodes what it changed.
3. The lines are those of `json.dumps(indent=2, ensure_ascii=False)`. They are made on demand, and
   lines that nobody asks for cost nothing: a container remembers on which lines its children begin.
4. A line is made of pieces, each of one origin. A quoted piece's characters, unescaped, are a
   verbatim part of that origin's text; the others (keys, punctuation, numbers) carry the origin of
   what they stand for.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import accumulate
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from math import isfinite
from typing import Any, TypeAlias, cast, overload

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


@dataclass(frozen=True, slots=True)
class LinePiece:
    """A run of characters of one origin on one line of the pretty text."""

    text: str
    """As displayed, including JSON escapes."""
    origin: Origin
    start: int | None = None
    """Offset in the origin's own text of the first character; None where the characters are
    not quoted from there but stand for it."""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class PrettyLine:
    """A line of the pretty text."""

    indent: int
    """In levels; a level is two spaces."""
    pieces: tuple[LinePiece, ...]

    @property
    def text(self) -> str:
        """The line as a string, without its line break."""
        return "  " * self.indent + "".join(piece.text for piece in self.pieces)


def line_starts(node: Obj | Arr) -> Sequence[int]:
    """Return for each child the line it begins on, counted from the container's first line, and
    after them the line on which the container is closed.
    """
    known = getattr(node, "starts", None)
    if known is not None:
        return known
    children: Sequence[Tree] = (
        [value for _, value in node.items] if isinstance(node, Obj) else node.items
    )
    starts: Sequence[int] = range(1, len(children) + 2)
    if not LEAVES.issuperset(map(type, children)):
        starts = list(accumulate(map(_height, children), initial=1))
    object.__setattr__(node, "starts", starts)
    return starts


def _height(node: Tree) -> int:
    """Return how many lines a node takes."""
    return line_starts(node)[-1] + 1 if isinstance(node, Obj | Arr) and node.items else 1


class PrettyLines(Sequence[PrettyLine]):
    """The pretty text as a sequence of lines, each made on demand."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._length = _height(tree)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> PrettyLine: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PrettyLine]: ...
    def __getitem__(self, index: int | slice) -> PrettyLine | Sequence[PrettyLine]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return list(_lines(self._tree, 0, None, True, start, stop))[::step]
        index = range(self._length)[index]
        return next(_lines(self._tree, 0, None, True, index, index + 1))

    def __iter__(self) -> Iterator[PrettyLine]:
        return _lines(self._tree, 0, None, True, 0, self._length)


_COMMA = (LinePiece(",", GLUE),)
_QUOTE = LinePiece('"', GLUE)
COLON = LinePiece(": ", GLUE)
"""Its space is the only character of a line that the body lacks."""


def first_line(node: Tree, key: str | None, last: bool) -> tuple[LinePiece, ...]:
    """Return the pieces of a node's first line: its key, then all of it or what opens it. A comma
    ends all that is not the last in its container.
    """
    head = () if key is None else (LinePiece(quoted(key), _origin_of(node), None, True), COLON)
    tail = () if last else _COMMA
    match node:
        case Str():
            spans = node.text.spans
            texts = (LinePiece(quoted(s.text)[1:-1], s.origin, s.start) for s in spans)
            return (*head, _QUOTE, *texts, _QUOTE, *tail)
        case Lit():
            return (*head, LinePiece(json.dumps(node.value), node.origin), *tail)
        case Obj() | Arr() if node.items:
            return (*head, LinePiece("{" if isinstance(node, Obj) else "[", node.origin))
        case Obj() | Arr():
            return (*head, LinePiece("{}" if isinstance(node, Obj) else "[]", node.origin), *tail)


def last_line(node: Obj | Arr, last: bool) -> tuple[LinePiece, ...]:
    """Return the pieces of the line that closes a container."""
    closing = LinePiece("}" if isinstance(node, Obj) else "]", node.origin)
    return (closing,) if last else (closing, *_COMMA)


def _lines(
    node: Tree, indent: int, key: str | None, last: bool, start: int, stop: int
) -> Iterator[PrettyLine]:
    """Yield the lines `start` to `stop` of a node under a key; skips children outside them."""
    if start <= 0 < stop:
        yield PrettyLine(indent, first_line(node, key, last))
    if isinstance(node, Str | Lit) or not node.items:
        return
    starts = line_starts(node)
    end = len(node.items) - 1
    for index in range(max(bisect_right(starts, start) - 1, 0), end + 1):
        if starts[index] >= stop:
            break
        name, value = node.items[index] if isinstance(node, Obj) else (None, node.items[index])
        offset = starts[index]
        yield from _lines(value, indent + 1, name, index == end, start - offset, stop - offset)
    if start <= starts[-1] < stop:
        yield PrettyLine(indent, last_line(node, last))


def _origin_of(node: Tree) -> Origin:
    """Return the origin that a key shares with its value: the value's, if it has one."""
    if isinstance(node, Str):
        spans = node.text.spans
        return spans[0].origin if len(spans) == 1 else GLUE
    return node.origin


class Payload:
    """A rendered request body. Made by `render`; compare by `body`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @cached_property
    def body(self) -> bytes:
        """The exact bytes that are sent."""
        return b"".join(written(self.tree))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the body."""
        return sha256(self.body).hexdigest()

    @property
    def lines(self) -> PrettyLines:
        """The pretty text, line by line; lines are made when they are asked for."""
        return PrettyLines(self.tree)

    @property
    def text(self) -> str:
        """The whole pretty text. Costs its length; the screen uses `lines`."""
        return "\n".join(line.text for line in self.lines)


def render(tree: Tree) -> Payload:
    """Render a tree: pure, and cheap until its parts are asked for."""
    return Payload(tree)
