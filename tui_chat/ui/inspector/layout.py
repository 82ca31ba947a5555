"""Which row of the screen shows what: a payload's lines, wrapped to a width.

1. A line of the pretty text becomes one or more rows (`wrap`). A block is what a container
   node (`Obj`, `Arr`) takes: its opening line, its children, its closing row.
2. Nodes are immutable and reused between keystrokes. A block is laid out anew only when its
   node, its key or its depth changed; otherwise the block of the layout before is taken over.
   So a keystroke costs what it changed, plus one look at each sibling on the way.
3. Every height is exact, so scrolling never jumps. Only the rows that are looked at become
   pieces and text.
4. A `Place` names a character by the nodes around it, not by number. It finds its way in a
   later layout, where rows came or went in front of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from operator import or_
from typing import Literal

from tui_chat.model.payload import Arr, Lines, Lit, Obj, Payload, Str, Tree, render
from tui_chat.model.text import Origin, OriginKind
from tui_chat.ui.inspector.drawn_line import DrawnLine
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.wrap import LEAST, breaks

BIT = {kind: 1 << number for number, kind in enumerate(OriginKind)}
"""A bit for each kind, so that the kinds below a node are one number."""

Part = Literal["open", "close", "leaf"]


class Block:
    """What a container takes."""

    __slots__ = ("children", "depth", "head", "kinds", "node", "opening", "rows", "sizes", "starts")

    def __init__(self, node: Obj | Arr, depth: int, head: int) -> None:
        self.node = node
        self.depth = depth
        self.head = head
        """Characters of the key and its colon in front."""
        self.opening = 1
        """Rows of the opening line; more than one only under a very long key."""
        self.children: list[Block | None] = []
        """A block for each child that has children, None for the others."""
        self.starts: list[int] = []
        """For each child its first row, counted from the block's first; then the closing row."""
        self.kinds: list[int] = []
        """For each child the kinds in it and in its elder siblings."""
        self.sizes: list[int] = []
        """For each child the bytes it and its elder siblings take in the body, keys and commas
        included."""
        self.rows = 1

    @property
    def size(self) -> int:
        """Bytes in the body: what the children take, less one comma, between brackets."""
        return self.sizes[-1] + 1 if self.sizes else 2

    @property
    def all_kinds(self) -> int:
        """The kinds in it, as bits."""
        return self.kinds[-1] if self.kinds else 0


@dataclass(frozen=True, slots=True)
class Step:
    """A way down from a container to one of its children."""

    index: int
    key: str | None
    child: Tree


@dataclass(frozen=True, slots=True)
class Place:
    """A character of the pretty text, by the nodes around it."""

    steps: tuple[Step, ...]
    part: Part = "leaf"
    offset: int = 0
    """In characters of the line as drawn."""

    @property
    def pointer(self) -> str:
        """The node it is in, as a JSON pointer."""
        names = (str(s.index) if s.key is None else _escaped(s.key) for s in self.steps)
        return "".join(f"/{name}" for name in names)


@dataclass(frozen=True, slots=True)
class Spot:
    """What a row shows."""

    place: Place
    """Its first character."""
    line: int
    """The number of the pretty line, from 0."""
    row: int
    """Which of the line's rows it is, from 0."""
    depth: int
    node: Tree
    """The child the line belongs to; for opening and closing rows the container."""
    owner: Origin
    """Of the innermost container around it that somebody made."""
    last: bool
    """Whether no comma follows the node."""


class Layout:
    """A payload laid out for a width. Made from the one before where there is one."""

    def __init__(self, payload: Payload, width: int, before: Layout | None = None) -> None:
        self.payload = payload
        self.width = max(width, LEAST)
        self.step = 2 if width >= 44 else 1
        """Cells a level is indented by."""
        self._lines = payload.lines
        self._drawn: dict[tuple[int, str | None, bool, Part], tuple[Tree, DrawnLine]] = {}
        old = None
        if before is not None and before.width == self.width:
            old = before.root
            if len(before._drawn) < _KEPT_LINES:
                self._drawn = before._drawn
        tree = payload.tree
        self.root = self._block(tree, 0, 0, old) if isinstance(tree, Obj | Arr) else None
        self.rows = self.root.rows if self.root else 1
        self.size = self.root.size if self.root else len(payload.body)
        """Length of the body in bytes, without making it."""

    # Geometry

    def indent(self, depth: int) -> int:
        """Cells in front of a line's first row; deep levels share the last indent."""
        return min(depth * self.step, self.width // 3)

    def hang(self, depth: int) -> int:
        """Cells in front of a line's other rows."""
        return min(self.indent(depth) + 2, self.width - LEAST)

    # Finding

    def spot(self, row: int) -> Spot:
        """Return what a row shows. IndexError outside."""
        if not 0 <= row < self.rows:
            raise IndexError(row)
        block, tree = self.root, self.payload.tree
        if block is None:
            return Spot(Place(()), 0, row, 0, tree, _origin(tree), True)
        steps: list[Step] = []
        line, owner, last = 0, block.node.origin, True
        while True:
            if row < block.opening or not block.children:
                place = Place(tuple(steps), "open")
                return Spot(place, line, row, block.depth, block.node, owner, last)
            line_starts = block.node.drawn[0].line_starts
            if row == block.rows - 1:
                line += line_starts[-1]
                place = Place(tuple(steps), "close")
                return Spot(place, line, 0, block.depth, block.node, owner, last)
            index = bisect_right(block.starts, row) - 1
            key, child = _item(block.node, index)
            steps.append(Step(index, key, child))
            row -= block.starts[index]
            line += line_starts[index]
            last = index == len(block.children) - 1
            below = block.children[index]
            if below is None:
                return Spot(Place(tuple(steps)), line, row, block.depth + 1, child, owner, last)
            block = below
            if block.node.origin.kind is not OriginKind.GLUE:
                owner = block.node.origin

    def line(self, spot: Spot) -> DrawnLine:
        """Return the whole line a row belongs to, drawn and broken."""
        steps = spot.place.steps
        slot = (id(spot.node), steps[-1].key if steps else None, spot.last, spot.place.part)
        kept = self._drawn.get(slot)
        if kept is not None and kept[0] is spot.node and kept[1].depth == spot.depth:
            return kept[1]
        line = DrawnLine(self._lines[spot.line].pieces, spot.depth)
        line.breaks = self._breaks(line.text, spot.depth, line.head)
        # The node is kept with its line, so that its id is not given to another.
        self._drawn[slot] = (spot.node, line)
        return line

    def row_of(self, place: Place) -> int:
        """Return the row a place is on, by its nodes where they still are, else by number."""
        block, row = self.root, 0
        if block is None:
            return 0
        for step in place.steps:
            index = _index(block.node, step)
            if index is None:
                return row
            row += block.starts[index]
            below = block.children[index]
            if below is None:
                if place.part != "leaf" or not place.offset:
                    return row
                line = self.line(self.spot(row))
                return row + min(bisect_right(line.breaks, place.offset), len(line.breaks))
            block = below
        if place.part == "close":
            return row + block.rows - 1
        return row

    def row_at(self, pointer: str) -> int | None:
        """Return the row of a JSON pointer; None where it leads nowhere."""
        block, row = self.root, 0
        names = pointer.split("/")[1:]
        for depth, name in enumerate(names):
            if block is None:
                return None
            index = _named(block.node, name.replace("~1", "/").replace("~0", "~"))
            if index is None:
                return None
            row += block.starts[index]
            block = block.children[index]
            if block is None and depth < len(names) - 1:
                return None
        return row

    def leaves(
        self, kind: OriginKind, after: int = -1, *, backwards: bool = False
    ) -> Iterator[tuple[int, Str | Lit]]:
        """Yield the strings and literals with characters of a kind that begin below the row
        `after`, each with its first row.
        """
        if self.root is not None:
            yield from _leaves(self.root, 0, BIT[kind], after, backwards)

    def last_row(self, kind: OriginKind) -> int | None:
        """Return the last row that shows a character of a kind."""
        for row, node in self.leaves(kind, backwards=True):
            if isinstance(node, Lit):
                return row
            line = self.line(self.spot(row))
            ends = [run.end for run in line.runs if run.piece.origin.kind is kind]
            return row + bisect_right(line.breaks, ends[-1] - 1) if ends else row
        return None

    def kinds(self) -> frozenset[OriginKind]:
        """The kinds of origin that occur."""
        bits = self.root.all_kinds if self.root else _bits(self.payload.tree)
        return frozenset(kind for kind, bit in BIT.items() if bits & bit)

    # Measuring

    def _block(self, node: Obj | Arr, depth: int, head: int, old: Block | None) -> Block:
        """Measure a container, taking over what the block before it already knew."""
        if old is not None and old.node is node and old.depth == depth and old.head == head:
            return old
        block = Block(node, depth, head)
        if head > LEAST:
            block.opening = 1 + len(self._breaks("x" * (head + 1), depth, head))
        if not node.items:
            return block
        same = _common(old.node, node) if old is not None and old.depth == depth else 0
        heights: list[int] = []
        bits: list[int] = []
        sizes: list[int] = []
        if old is not None and same:
            block.children = old.children[:same]
        again: dict[int, Block] | None = None
        for index in range(same, len(node.items)):
            key, child = _item(node, index)
            comma = index < len(node.items) - 1
            if not isinstance(child, Obj | Arr):
                block.children.append(None)
                heights.append(self._leaf_rows(key, child, depth + 1, comma))
                bits.append(_bits(child))
                sizes.append(_key_size(key) + len(render(child).body))
                continue
            if again is None:
                again = {} if old is None else _moved(old, same)
            before = again.get(id(child))
            if before is None and old is not None and index < len(old.children):
                before = old.children[index]
            below = self._block(child, depth + 1, _head(key), before)
            block.children.append(below)
            heights.append(below.rows)
            bits.append(below.all_kinds)
            sizes.append(_key_size(key) + below.size)
        shift = block.opening - old.opening if old is not None else 0
        known = old.starts[: same + 1] if old is not None and same and not shift else None
        if known is None:
            first = block.opening
            if old is not None and same:
                heights[:0] = [b - a for a, b in zip(old.starts, old.starts[1 : same + 1])]
            block.starts = list(accumulate(heights, initial=first))
        else:
            known.extend(accumulate(heights, initial=known.pop()))
            block.starts = known
        elder = old.kinds[:same] if old is not None and same else []
        elder.extend(list(accumulate(bits, or_, initial=elder[-1] if elder else 0))[1:])
        block.kinds = elder
        block.sizes = old.sizes[:same] if old is not None and same else []
        block.sizes.extend(
            list(accumulate(sizes, _with_comma, initial=block.sizes[-1] if same else 0))[1:]
        )
        block.rows = block.starts[-1] + 1
        return block

    def _leaf_rows(self, key: str | None, leaf: Str | Lit, depth: int, comma: bool) -> int:
        room = self.width - self.indent(depth)
        head = _head(key)
        if isinstance(leaf, Str):
            plain = leaf.text.plain
            # Nothing in it grows beyond six characters, so short ones need no closer look.
            if head + 6 * len(plain) + 3 <= room and plain.isascii() and "\n" not in plain:
                return 1
        text = DrawnLine(Lines(leaf)[0].pieces, depth).text
        text = " " * head + text + ("," if comma else "")
        if key is not None:
            text = shown(quoted(key)) + ": " + text[head:]
        return 1 + len(self._breaks(text, depth, head))

    def _breaks(self, text: str, depth: int, head: int) -> list[int]:
        return breaks(text, self.width - self.indent(depth), self.width - self.hang(depth), head)


_KEPT_LINES = 2_000


def _leaves(
    block: Block, row: int, bit: int, after: int, backwards: bool
) -> Iterator[tuple[int, Str | Lit]]:
    if not block.all_kinds & bit:
        return
    first = max(bisect_right(block.starts, after - row) - 1, 0)
    indexes = range(first, len(block.children))
    for index in reversed(indexes) if backwards else indexes:
        at = row + block.starts[index]
        below = block.children[index]
        if below is not None:
            yield from _leaves(below, at, bit, after, backwards)
            continue
        _, child = _item(block.node, index)
        if at > after and isinstance(child, Str | Lit) and _bits(child) & bit:
            yield at, child


def _common(old: Obj | Arr, new: Obj | Arr) -> int:
    """Count the first children that are the same in both, sparing the last of each, whose
    comma may have come or gone.
    """
    most = min(len(old.items), len(new.items)) - 1
    if isinstance(old, Arr) and isinstance(new, Arr):
        for count, (a, b) in enumerate(zip(old.items, new.items)):
            if a is not b:
                return min(count, most)
        return max(most, 0)
    if isinstance(old, Obj) and isinstance(new, Obj):
        for count, (c, d) in enumerate(zip(old.items, new.items)):
            if c[1] is not d[1] or c[0] != d[0]:
                return min(count, most)
        return max(most, 0)
    return 0


def _moved(old: Block, start: int) -> dict[int, Block]:
    """The blocks of a container from a child on, by the identity of their nodes."""
    return {id(below.node): below for below in old.children[start:] if below is not None}


def _item(node: Obj | Arr, index: int) -> tuple[str | None, Tree]:
    return node.items[index] if isinstance(node, Obj) else (None, node.items[index])


def _index(node: Obj | Arr, step: Step) -> int | None:
    """Find a step's child again: the same node, else the same key, else the same number."""
    if isinstance(node, Obj):
        for index, (key, child) in enumerate(node.items):
            if key == step.key if step.key is not None else child is step.child:
                return index
    else:
        items = node.items
        if step.index < len(items) and items[step.index] is step.child:
            return step.index
        for index, child in enumerate(items):
            if child is step.child:
                return index
    return min(step.index, len(node.items) - 1) if node.items else None


def _named(node: Obj | Arr, name: str) -> int | None:
    if isinstance(node, Obj):
        return next((i for i, (key, _) in enumerate(node.items) if key == name), None)
    if not (name.isascii() and name.isdigit()) or int(name) >= len(node.items):
        return None
    return int(name)


def _head(key: str | None) -> int:
    return 0 if key is None else len(shown(quoted(key))) + 2


def _key_size(key: str | None) -> int:
    return 0 if key is None else len(quoted(key).encode()) + 1


def _with_comma(elder: int, size: int) -> int:
    return elder + size + 1


def _bits(node: Tree) -> int:
    if isinstance(node, Str):
        bits = 0
        for span in node.text.spans:
            bits |= BIT[span.origin.kind]
        return bits or BIT[OriginKind.GLUE]
    return BIT[node.origin.kind]


def _origin(node: Tree) -> Origin:
    if isinstance(node, Str):
        return node.text.spans[0].origin if node.text.spans else Origin(OriginKind.GLUE)
    return node.origin


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
