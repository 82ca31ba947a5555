"""A rendered request body: the exact bytes that are sent, and the lines in which it is read.

1. Both come from one tree and one escaping, so the lines cannot show what the bytes do not have.
2. The lines are those of `json.dumps(indent=2, ensure_ascii=False)`. They are made on demand, and
   lines that nobody asks for cost nothing: a container remembers on which lines its children begin.
3. A line is made of pieces, each of one origin. A quoted piece's characters, unescaped, are a
   verbatim part of that origin's text; the others (keys, punctuation, numbers) carry the origin of
   what they stand for.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from typing import overload

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_tree import LEAVES, Arr, Lit, Obj, Str, Tree, written
from tui_chat.models.text import GLUE, Origin, Text


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
            return (*head, *_string_pieces(node.text), *tail)
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


_QUOTE = LinePiece('"', GLUE)


def _string_pieces(text: Text) -> Iterator[LinePiece]:
    yield _QUOTE
    for span in text.spans:
        yield LinePiece(quoted(span.text)[1:-1], span.origin, span.start)
    yield _QUOTE


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
