"""The body laid out for a width: which row shows what, and where something is.

1. `payload_blocks` knows every height; here rows are found by number, JSON pointer and origin.
   Only rows that are looked at become text.
2. A `BodyPosition` names a character by the nodes around it, so that it is found in a later
   layout, where rows before it came or went.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from threading import Event
from typing import TypeAlias

from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree
from tui_chat.models.payload import LinePiece, Payload, last_line
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.ui.areas.inspector.drawn_row import (
    SYSTEM_KEYS,
    BodyPosition,
    BodyRow,
    DrawnLine,
    PathStep,
    drawn_pieces,
)
from tui_chat.ui.areas.inspector.payload_blocks import (
    BIT,
    FoldChoices,
    HeightMeasurer,
    PayloadBlock,
    SourceIndex,
    bits_of,
    item_of,
    same_rows,
)


def leaves(
    block: PayloadBlock, row: int, bit: int, after: int, backwards: bool, hidden: bool = False
) -> Iterator[tuple[int, Str | Lit]]:
    """Yield strings and literals with characters of a kind (`bit`), below the row `after`."""
    if not block.all_kinds & bit:
        return
    hidden = hidden or block.folded
    first = 0 if hidden else max(bisect_right(block.starts, after - row) - 1, 0)
    indexes = range(first, len(block.children))
    indexes = reversed(indexes) if backwards else indexes
    yield from leaves_in(block, indexes, row, bit, after, backwards, hidden)


def leaves_in(
    block: PayloadBlock,
    indexes: Iterable[int],
    row: int,
    bit: int,
    after: int = -1,
    backwards: bool = False,
    hidden: bool = False,
) -> Iterator[tuple[int, Str | Lit]]:
    """Yield what `leaves` yields, of some children of the block."""
    hidden = hidden or block.folded
    for index in indexes:
        child_row = row if hidden else row + block.starts[index]
        below = block.children[index]
        if below is not None:
            yield from leaves(below, child_row, bit, after, backwards, hidden)
            continue
        _, child = item_of(block.node, index)
        if child_row > after and isinstance(child, Str | Lit) and bits_of(child) & bit:
            yield child_row, child


def values(
    block: PayloadBlock, row: int, after: int, hidden: bool = False
) -> Iterator[tuple[int, str | None, Str | Lit | None]]:
    """Yield row, key and value of all that begins below the row `after`; None as the value of a
    container.
    """
    hidden = hidden or block.folded
    first = 0 if hidden else max(bisect_right(block.starts, after - row) - 1, 0)
    for index in range(first, len(block.children)):
        child_row = row if hidden else row + block.starts[index]
        below = block.children[index]
        key, child = item_of(block.node, index)
        if child_row > after:
            yield child_row, key, child if isinstance(child, Str | Lit) else None
        if below is not None:
            yield from values(below, child_row, after, hidden)


def at_depth(block: PayloadBlock, depth: int) -> Iterator[PayloadBlock]:
    """Yield the blocks at a depth."""
    if block.depth == depth:
        yield block
        return
    for below in block.children:
        if below is not None:
            yield from at_depth(below, depth)


def _folded_blocks(block: PayloadBlock | None) -> Iterator[PayloadBlock]:
    if block is None:
        return
    if block.folded:
        yield block
    for below in block.children:
        yield from _folded_blocks(below)


_Slot: TypeAlias = tuple[int, type, str | None, bool, str, str]
_Drawn: TypeAlias = tuple[Tree | Origin, DrawnLine]


class PayloadLayout:
    """A payload laid out for a width, reusing the layout `before`; what is folded stays so at
    another width. `folds` says what else is folded at first. `pause` is called between messages and
    cancels the work by raising an exception.
    """

    def __init__(
        self,
        payload: Payload,
        width: int,
        before: PayloadLayout | None = None,
        folds: FoldChoices | None = None,
        *,
        pause: Callable[[], object] | None = None,
    ) -> None:
        self.payload = payload
        self._folds = folds
        self.width = width
        self._drawn: OrderedDict[_Slot, _Drawn] = OrderedDict()
        """The lines looked at last, in this layout or those before it."""
        old = None
        if before is not None and before.width == width:
            old = before.root
            self._drawn = before._drawn
        folded = before.folded_nodes() if before is not None and old is None else frozenset[int]()
        self._measure = HeightMeasurer(width, pause, folds, folded)
        self._sources: dict[str | None, SourceIndex] = before._sources if before is not None else {}
        """By the key of the indexed array."""
        tree, self.root = payload.tree, None
        if isinstance(tree, Obj | Arr) and tree.items:
            self.root = self._measure.block(tree, 0, None, old)
            self.rows = self.root.rows
        else:
            self.rows = self._measure.leaf_rows(None, tree, 0, False)
        self.size = self.root.size if self.root else len(payload.body)
        """ Length of the body in bytes, without encoding it."""
        self.same_rows = same_rows(old, self.root) if old is not None else 0
        """Number of first rows shared with the layout before."""

    def lead(self, spot: BodyRow) -> int:
        """Return the number of blank cells before a row."""
        return self._measure.hang(spot.depth) if spot.row else self._measure.indent(spot.depth)

    def spot(self, row: int) -> BodyRow:
        """Return a row. Raises IndexError outside."""
        if not 0 <= row < self.rows:
            raise IndexError(row)
        block, tree = self.root, self.payload.tree
        if block is None:
            return BodyRow(BodyPosition(()), 0, row, 0, tree, _origin(tree), True)
        steps: list[PathStep] = []
        line, owner, last = 0, block.node.origin, True
        while True:
            if row < block.opening:
                place = BodyPosition(tuple(steps), "open")
                hidden = block.lines[-1] if block.folded else 0
                return BodyRow(place, line, row, block.depth, block.node, owner, last, hidden)
            if row == block.rows - 1:
                line += block.lines[-1]
                place = BodyPosition(tuple(steps), "close")
                return BodyRow(place, line, 0, block.depth, block.node, owner, last)
            index = bisect_right(block.starts, row) - 1
            key, child = item_of(block.node, index)
            steps.append(PathStep(index, key, child))
            row -= block.starts[index]
            line += block.lines[index]
            last = index == len(block.children) - 1
            below = block.children[index]
            if below is None:
                return BodyRow(
                    BodyPosition(tuple(steps)), line, row, block.depth + 1, child, owner, last
                )
            block = below
            if block.node.origin.kind is not OriginKind.GLUE:
                owner = block.node.origin

    def line(self, spot: BodyRow) -> DrawnLine:
        """Return the whole line a row belongs to, drawn and broken."""
        key = spot.place.steps[-1].key if spot.place.steps else None
        node, part = spot.node, spot.place.part
        # The line of a container shows its kind and origin only. Caching by the container would
        # keep everything in it alive, and miss after every keystroke.
        of = node.origin if isinstance(node, Obj | Arr) and part != "leaf" else node
        slot = id(of), type(node), key, spot.last, part, spot.hidden
        kept = self._drawn.get(slot)
        if kept is None or kept[1].depth != spot.depth:
            # The key object is kept with its line, so that its id is not reused.
            self._drawn[slot] = kept = of, self._draw(spot, key)
            if len(self._drawn) > _KEPT_LINES:
                self._drawn.popitem(last=False)
        self._drawn.move_to_end(slot)
        return kept[1]

    def seen(self, row: int) -> tuple[BodyRow, DrawnLine]:
        """Return a row and its line. Raises IndexError outside."""
        spot = self.spot(row)
        return spot, self.line(spot)

    def _draw(self, spot: BodyRow, key: str | None) -> DrawnLine:
        node = spot.node
        if spot.place.part == "close" and isinstance(node, Obj | Arr):
            pieces = last_line(node, spot.last)
        else:
            pieces = drawn_pieces(node, key, spot.last)
        if spot.folded:
            closing = ("}" if isinstance(node, Obj) else "]") + "," * (not spot.last)
            pieces = (*pieces, LinePiece(f" ⋯ {spot.hidden} {closing}", GLUE))
        line = DrawnLine(pieces, spot.depth)
        line.breaks = self._measure.breaks(line.text, spot.depth, line.head)
        return line

    def row_of(self, place: BodyPosition) -> int:
        """Return the row of a position, by its nodes if they still exist, else by index."""
        block, row = self.root, 0
        if block is None:
            return 0
        for step in place.steps:
            index = _index(block.node, step)
            if index is None:
                return row
            row += block.starts[index]
            below = block.children[index]
            if below is not None and below.folded:
                return row
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
        """Return the row of a JSON pointer; None if it does not exist."""
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
            if block is not None and block.folded:
                return row
            if block is None and depth < len(names) - 1:
                return None
        return row

    def fold(self, row: int) -> int | None:
        """Fold or unfold the container of a row; return its first row, None if nothing folds."""
        above: list[tuple[PayloadBlock, int]] = []
        block, first_row = self.root, 0
        while block is not None:
            inside = row - first_row
            if inside < block.opening or inside == block.rows - 1:
                break
            index = bisect_right(block.starts, inside) - 1
            below = block.children[index]
            if below is None:
                break
            above.append((block, index))
            first_row += block.starts[index]
            block = below
        if block is None or not above:  # the body itself stays open
            return None
        before = block.rows
        block.folded = not block.folded
        if self._folds is not None:
            self._folds.remember(block)
        for around, index in above:
            around.grow(index, block.rows - before)
        self.rows = self.root.rows if self.root else self.rows
        return first_row

    def unfold_to(self, pointer: str) -> None:
        """Unfold everything that hides the node of a JSON pointer."""
        while (row := self.row_at(pointer)) is not None and (spot := self.spot(row)).folded:
            if spot.place.pointer == pointer:
                break
            self.fold(row)

    def folded_nodes(self) -> frozenset[int]:
        """Return the identities of the folded containers inside the values of the body."""
        return frozenset(id(block.node) for block in _folded_blocks(self.root) if block.depth > 1)

    def fold_all(self, depth: int) -> None:
        """Fold all containers at a depth, or unfold them if one is folded."""
        if self.root is None:
            return
        blocks = list(at_depth(self.root, depth))
        folded = not any(block.folded for block in blocks)
        for block in blocks:
            block.folded = folded
        self.root.restack(depth)
        self.rows = self.root.rows

    def values(self, after: int = -1) -> Iterator[tuple[int, str | None, Str | Lit | None]]:
        """Yield row, key and value of all that begins below the row `after`; None as the value of
        a container.
        """
        if self.root is not None:
            yield from values(self.root, 0, after)

    def leaves(
        self, kind: OriginKind, after: int = -1, *, backwards: bool = False
    ) -> Iterator[tuple[int, Str | Lit]]:
        """Yield the strings and literals with characters of a kind that begin below the row
        `after`, each with its first row.
        """
        if self.root is not None:
            yield from leaves(self.root, 0, BIT[kind], after, backwards)

    def leaves_of(self, source: Origin) -> Iterator[tuple[int, Str | Lit]]:
        """Yield the strings and literals that may have text of a source, each with its first row.
        Messages without any are skipped by the index.
        """
        root = self.root
        if root is None:
            return
        kinds = BIT[source.kind] | BIT[OriginKind.MACRO] | BIT[OriginKind.SETTING]
        for index, block in enumerate(root.children):
            if block is None or not isinstance(block.node, Arr):
                yield from leaves_in(root, (index,), 0, kinds)
            else:
                sources = self._sources.setdefault(block.key, SourceIndex())
                numbers = sources.numbers(block.node.items, (source.kind, source.id))
                yield from leaves_in(block, numbers, root.starts[index], kinds)

    def hides(self, spot: BodyRow, kind: OriginKind, name: str) -> bool:
        """Return True if a row folds a value of the body that has text of a source."""
        steps, node = spot.place.steps, spot.node
        if not spot.folded or len(steps) != 1 or not isinstance(node, Obj | Arr):
            return False
        children = node.items if isinstance(node, Arr) else tuple(child for _, child in node.items)
        sources = self._sources.setdefault(steps[0].key, SourceIndex())
        return bool(sources.numbers(children, (kind, name)))

    def last_row(self, kind: OriginKind) -> int | None:
        """Return the last row with a character of a kind, apart from the system prompt, which some
        bodies have after the messages.
        """
        for row, node in self.leaves(kind, backwards=True):
            spot = self.spot(row)
            if spot.place.steps[0].key in SYSTEM_KEYS:
                continue
            if isinstance(node, Lit):
                return row
            line = self.line(spot)
            ends = [run.end for run in line.runs if run.piece.origin.kind is kind]
            return row + bisect_right(line.breaks, ends[-1] - 1) if ends else row
        return None

    def kinds(self) -> frozenset[OriginKind]:
        """Return the kinds of origin in the body."""
        bits = self.root.all_kinds if self.root else bits_of(self.payload.tree)
        return frozenset(kind for kind, bit in BIT.items() if bits & bit)


_KEPT_LINES = 200


def _index(node: Obj | Arr, step: PathStep) -> int | None:
    """Return the index of a step's child: the same node, else the same key, else the same index."""
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


def _origin(node: Tree) -> Origin:
    if isinstance(node, Str):
        return node.text.spans[0].origin if node.text.spans else GLUE
    return node.origin


_WIDTH_SETTLED = 0.1
"""Seconds for which a width must stay before a long body is laid out for it."""


class _WidthChanged(Exception):
    """The width changed again; the layout is no longer wanted."""


async def lay_out_in_thread(
    payload: Payload,
    width: int,
    before: PayloadLayout | None,
    folds: FoldChoices,
    cancelled: Event,
) -> PayloadLayout | None:
    """Return the layout of a long payload, made in a thread; None if `cancelled` was set first.

    A dragged border passes many widths, and each layout would hold the interpreter for up to half
    a second. So a width must stay for a moment, and the work for one that has passed is ended.
    """
    pauses = count()

    def pause() -> None:
        if cancelled.is_set():
            raise _WidthChanged
        if next(pauses) % 8 == 0:  # each takes a tenth of a millisecond
            time.sleep(0)  # lets the waiting screen thread run

    await asyncio.sleep(_WIDTH_SETTLED)
    try:
        return await asyncio.to_thread(PayloadLayout, payload, width, before, folds, pause=pause)
    except _WidthChanged:
        return None
    finally:
        cancelled.set()
