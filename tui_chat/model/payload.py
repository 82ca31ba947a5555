"""The request body: a JSON tree whose characters know their origin, and its rendering.

1. A protocol builds a tree of `Obj`, `Arr`, `Str` and `Lit`. The tree is the only truth.
2. `render` gives a `Payload`: `body`, the exact bytes that are sent (no white space, UTF-8,
   keys in the tree's order), and `lines`, the same JSON laid out for reading as
   `json.dumps(indent=2, ensure_ascii=False)` would lay it out.
3. Both come from one tree and one escaping, so one cannot say what the other does not.
4. A region maps a run of characters on a line, and the same characters in the body, to
   their origin. A quoted region's characters, unescaped, are a verbatim piece of that
   origin's text; the others (keys, punctuation, numbers) carry the origin of what they
   stand for.
5. A node is immutable and remembers its bytes, so a keystroke renders what it changed.
6. A message that is nothing but a text is a `Later`: a conversation is encoded whole, but a
   page of it is looked at. What stands around its text in the body is taken from the same tree.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import accumulate
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias, cast, final, overload

from tui_chat.model.quick import quick
from tui_chat.model.text import GLUE, Origin, Text, clean

JsonValue: TypeAlias = (
    "str | int | float | bool | Mapping[str, JsonValue] | Sequence[JsonValue] | None"
)


class _Container:
    """A node that remembers how it was drawn. The slots are empty until then: nodes are made by
    the thousand, and few are looked at.
    """

    __slots__ = ("body", "starts")

    body: bytes
    starts: Sequence[int]


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Str:
    """A JSON string."""

    text: Text


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Lit:
    """A JSON number, `true`, `false` or `null`."""

    value: float | bool | None
    origin: Origin = GLUE


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Arr(_Container):
    """A JSON array."""

    items: tuple[Tree, ...]
    origin: Origin = GLUE
    """Of what the array as a whole stands for."""


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Obj(_Container):
    """A JSON object."""

    items: tuple[tuple[str, Tree], ...]
    origin: Origin = GLUE
    """Of what the object as a whole stands for: a turn's object has the turn's origin."""

    def get(self, key: str) -> Tree | None:
        """Return the value of a key, None where there is none."""
        for name, value in self.items:
            if name == key:
                return value
        return None


class Frame:
    """What stands around a text in an object that holds no more: `make` gives the object's items
    for a text and the object's origin.
    """

    __slots__ = ("after", "before", "make")

    def __init__(self, make: Callable[[Text, Origin], tuple[tuple[str, Tree], ...]]) -> None:
        self.make = make
        hole = "\0"
        around = _json(Obj(make(Text.glue(hole), GLUE)))
        self.before, self.after = around.split(quoted(hole))
        """The JSON on both sides of the text."""


@final
class Later(Obj):
    """An object that holds a text in a frame, made when somebody looks into it. Its bytes need no
    object.
    """

    __slots__ = ("frame", "text")

    frame: Frame
    text: Text

    def __init__(self, frame: Frame, text: Text, origin: Origin) -> None:
        _set_frame(self, frame)
        _set_text(self, text)
        _set_origin(self, origin)

    if not TYPE_CHECKING:

        @property
        def items(self) -> tuple[tuple[str, Tree], ...]:
            """The items, made the first time."""
            try:
                return _items(self)
            except AttributeError:
                _set_items(self, self.frame.make(self.text, self.origin))
                return _items(self)


_items = Obj.__dict__["items"].__get__
_set_items, _set_origin = Obj.__dict__["items"].__set__, Obj.__dict__["origin"].__set__
_set_frame, _set_text = Later.__dict__["frame"].__set__, Later.__dict__["text"].__set__

Tree: TypeAlias = Obj | Arr | Str | Lit
_LEAVES = frozenset[type]({Str, Lit})


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


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters of one origin on one line of the pretty text."""

    text: str
    """As shown, JSON escapes included."""
    origin: Origin
    start: int | None = None
    """Offset in the origin's own text of the first character; None where the characters are
    not quoted from there but stand for it."""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the pretty text."""

    indent: int
    """In levels; a level is two spaces."""
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The line as a string, without its line break."""
        return "  " * self.indent + "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Region:
    """A run of characters of one origin, in both forms of the payload."""

    line: int
    """From 0."""
    column: int
    """From 0, in characters, indent included."""
    byte: int
    """Offset of the same characters in the body."""
    piece: Piece


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
    if not _LEAVES.issuperset(map(type, children)):
        starts = list(accumulate(map(_height, children), initial=1))
    object.__setattr__(node, "starts", starts)
    return starts


def _height(node: Tree) -> int:
    """Return how many lines a node takes."""
    if isinstance(node, Str | Lit) or not node.items:
        return 1
    return line_starts(node)[-1] + 1


def _json(node: Tree) -> str:
    match node:
        case Str():
            return quoted(node.text.plain)
        case Later():
            return node.frame.before + quoted(node.text.plain) + node.frame.after
        case Obj():
            return "{" + ",".join([_key(key) + _json(value) for key, value in node.items]) + "}"
        case Arr():
            return "[" + ",".join(map(_json, node.items)) + "]"
        case Lit():
            return json.dumps(node.value, allow_nan=False)


def body_of(node: Tree) -> bytes:
    """Return the bytes of a part of a body; a container keeps its own."""
    known = getattr(node, "body", None)
    if known is None:
        known = _json(node).encode()
        if type(node) not in _LEAVES:
            object.__setattr__(node, "body", known)
    return known


def _write(node: Tree) -> Iterator[bytes]:
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


class Payload:
    """A rendered request body. Made by `render`; compare by `body`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @cached_property
    def body(self) -> bytes:
        """The exact bytes that are sent."""
        return b"".join(_write(self.tree))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the body."""
        return sha256(self.body).hexdigest()

    @property
    def lines(self) -> Lines:
        """The pretty text, line by line; lines are made when they are asked for."""
        return Lines(self.tree)

    @property
    def text(self) -> str:
        """The whole pretty text. Costs its length; the screen uses `lines`."""
        return "\n".join(line.text for line in self.lines)

    def regions(self) -> Iterator[Region]:
        """Walk all regions in reading order. Costs the payload's length."""
        byte = 0
        for number, line in enumerate(self.lines):
            column = 2 * line.indent
            for piece in line.pieces:
                # The colon's blank is the only character on a line that the body lacks.
                blank = 1 if piece is _COLON else 0
                yield Region(number, column, byte, piece)
                column += len(piece.text)
                byte += len(piece.text.encode()) - blank


def render(tree: Tree) -> Payload:
    """Render a tree: pure, and cheap until its parts are asked for."""
    return Payload(tree)


class Lines(Sequence[Line]):
    """The pretty text as a sequence of lines, each made on demand."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._length = _height(tree)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, int):
            if index < 0:
                index += self._length
            if not 0 <= index < self._length:
                raise IndexError(index)
            return next(_lines(self._tree, 0, None, True, index, index + 1))
        start, stop, step = index.indices(self._length)
        return list(_lines(self._tree, 0, None, True, start, stop))[::step]

    def __iter__(self) -> Iterator[Line]:
        return _lines(self._tree, 0, None, True, 0, self._length)


_COMMA = (Piece(",", GLUE),)
_COLON = Piece(": ", GLUE)


def first_line(node: Tree, key: str | None, last: bool) -> tuple[Piece, ...]:
    """Return the pieces of a node's first line: its key, then all of it or what opens it. A comma
    ends all that is not the last in its container.
    """
    head = () if key is None else (Piece(quoted(key), _origin_of(node), None, True), _COLON)
    tail = () if last else _COMMA
    match node:
        case Str():
            return (*head, *_string_pieces(node.text), *tail)
        case Lit():
            return (*head, Piece(json.dumps(node.value), node.origin), *tail)
        case Obj() | Arr() if node.items:
            return (*head, Piece("{" if isinstance(node, Obj) else "[", node.origin))
        case Obj() | Arr():
            return (*head, Piece("{}" if isinstance(node, Obj) else "[]", node.origin), *tail)


def last_line(node: Obj | Arr, last: bool) -> tuple[Piece, ...]:
    """Return the pieces of the line that closes a container."""
    closing = Piece("}" if isinstance(node, Obj) else "]", node.origin)
    return (closing,) if last else (closing, *_COMMA)


def _lines(
    node: Tree, indent: int, key: str | None, last: bool, start: int, stop: int
) -> Iterator[Line]:
    """Yield the lines `start` to `stop` of a node under a key. Children outside the range cost
    nothing.
    """
    if start <= 0 < stop:
        yield Line(indent, first_line(node, key, last))
    if isinstance(node, Str | Lit) or not node.items:
        return
    starts = line_starts(node)
    end = len(node.items) - 1
    index = max(bisect_right(starts, start) - 1, 0)
    while index <= end and starts[index] < stop:
        name, value = node.items[index] if isinstance(node, Obj) else (None, node.items[index])
        at = starts[index]
        yield from _lines(value, indent + 1, name, index == end, start - at, stop - at)
        index += 1
    if start <= starts[-1] < stop:
        yield Line(indent, last_line(node, last))


def _origin_of(node: Tree) -> Origin:
    """Return the origin a key shares with its value: the value's, where it is one."""
    if isinstance(node, Str):
        spans = node.text.spans
        return spans[0].origin if len(spans) == 1 else GLUE
    return node.origin


_QUOTE = Piece('"', GLUE)


def _string_pieces(text: Text) -> Iterator[Piece]:
    yield _QUOTE
    for span in text.spans:
        yield Piece(quoted(span.text)[1:-1], span.origin, span.start)
    yield _QUOTE
