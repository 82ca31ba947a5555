"""The body laid out for a width: which row shows what, and where something is.

1. The rows are those of the lines of the pretty text, whose numbers `line_starts` knows: the layout
   has the height of each line. Lines that are folded away have the height 0.
2. What a message (an item of a value of the body) takes is measured once and kept while its node
   stays the same, so a keystroke measures what it changed.
3. A `BodyPosition` names a character by the nodes around it, so that it is found in a later
   layout, where rows before it came or went.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from typing import TypeAlias

from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree
from tui_chat.models.payload import LinePiece, Payload, last_line, line_starts
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.ui.inspector.body_nodes import (
    BIT,
    Source,
    bits_of,
    children,
    containers,
    item_of,
    kinds_in,
    lines_below,
    lines_in,
    sources_in,
)
from tui_chat.ui.inspector.drawn_row import (
    SYSTEM_KEYS,
    BodyPosition,
    BodyRow,
    DrawnLine,
    PathStep,
    data_in,
    drawn_pieces,
)
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks

_FOLDED = BIT[OriginKind.TOOL] | BIT[OriginKind.SETTING]
_WRITTEN = sum(BIT.values()) & ~(_FOLDED | BIT[OriginKind.GLUE])
"""The kinds of origin of what people and models wrote."""
_KEPT_LINES = 200
_LONG = 20_000
_remembered_breaks = lru_cache(8)(breaks)
"""Very long lines are broken twice: to be measured and to be drawn."""

_Slot: TypeAlias = tuple[int, type, str | None, bool, str, str]
_Drawn: TypeAlias = tuple[Tree | Origin, DrawnLine]
_Part: TypeAlias = "tuple[int, Tree, MeasuredItem | None]"


class MeasuredItem:
    """What an item of a value of the body takes at a width: a message, or a tool."""

    __slots__ = ("_sources", "folded", "heights", "key", "kinds", "node")

    def __init__(
        self,
        node: Obj | Arr,
        key: str | None,
        heights: list[int],
        folded: tuple[Obj | Arr, ...],
    ) -> None:
        self.node = node
        self.key = key
        self.heights = heights
        """The rows of each line while it is open."""
        self.folded = folded
        """The containers in it that are folded."""
        self.kinds = kinds_in(node)
        self._sources: frozenset[Source] | None = None

    @property
    def sources(self) -> frozenset[Source]:
        """The sources of its text."""
        if self._sources is None:
            self._sources = sources_in(self.node)
        return self._sources


class FoldChoices:
    """What is folded when the body is laid out: tools, settings and the data of files at first,
    then what the user left folded.
    """

    def __init__(self) -> None:
        self._chosen: dict[str, bool] = {}
        """By the key of the body, or the end of the data."""

    def remember(self, node: Obj | Arr, key: str | None, depth: int, is_folded: bool) -> None:
        """Remember whether the user left a value of the body, or data, folded."""
        if name := _fold_name(node, key, depth):
            self._chosen[name] = is_folded

    def folds(self, node: Obj | Arr, key: str | None, depth: int) -> bool:
        """Return True if a container that is new is folded."""
        if not (name := _fold_name(node, key, depth)):
            return False
        if (chosen := self._chosen.get(name)) is not None:
            return chosen
        kinds = kinds_in(node) if depth == 1 else _FOLDED
        return bool(kinds & _FOLDED) and not kinds & _WRITTEN


def _fold_name(node: Obj | Arr, key: str | None, depth: int) -> str:
    return (key or "") if depth == 1 else data_in(node)[-64:]


class PayloadLayout:
    """A payload laid out for a width, reusing the layout `before`; what is folded stays so at
    another width. `folds` says what else is folded at first.
    """

    def __init__(
        self,
        payload: Payload,
        width: int,
        before: PayloadLayout | None = None,
        folds: FoldChoices | None = None,
    ) -> None:
        self.payload = payload
        self.width = width
        self._folds = folds
        self._room = max(width, LEAST)
        self._folded: dict[int, Obj | Arr] = {}
        """The folded containers by their identity."""
        self._folds_items = False
        """True if items, or containers in them, have been folded."""
        self._items: dict[int, MeasuredItem] = {}
        """The items of the body's values by the identity of their nodes."""
        self._drawn: OrderedDict[_Slot, _Drawn] = OrderedDict()
        """The lines looked at last, in this layout or those before it."""
        self._before = before
        if before is not None and before.width == width:
            self._drawn = before._drawn
        self._arrange()
        self._before = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._tops[-1]

    # Measuring

    def _arrange(self) -> None:
        """Measure what is not known, and add up the heights."""
        was = self._before.payload.tree if self._before is not None else None
        self._heights = self._measured(self.payload.tree, None, 0, True, was)
        self._tops = list(accumulate(self._heights, initial=0))

    def _measured(
        self, node: Tree, key: str | None, depth: int, is_last: bool, was: Tree | None
    ) -> list[int]:
        """Return the rows of each line of a node. `was` is what the body had in its place."""
        if not isinstance(node, Obj | Arr) or not node.items:
            return [self._leaf_rows(node, key, depth, is_last)]
        self._fold_new(node, key, depth, was)
        if depth == 2:
            item = self._item(node, key, depth, was)
            heights = item.heights
        else:
            heights = self._open_heights(node, key, depth, was)
        if id(node) in self._folded:
            return [heights[0], *[0] * line_starts(node)[-1]]
        return heights

    def _item(self, node: Obj | Arr, key: str | None, depth: int, was: Tree | None) -> MeasuredItem:
        before = self._before
        item = self._items.get(id(node))
        if item is None and before is not None and before.width == self.width:
            item = before._items.get(id(node))
        if item is None or item.key != key:
            heights = self._open_heights(node, key, depth, was)
            inside = (inner for inner in containers(node) if id(inner) in self._folded)
            item = MeasuredItem(
                node, key, heights, tuple(each for each in inside if each is not node)
            )
        else:
            self._folded.update((id(inner), inner) for inner in item.folded)
        self._items[id(node)] = item
        return item

    def _open_heights(
        self, node: Obj | Arr, key: str | None, depth: int, was: Tree | None
    ) -> list[int]:
        head = _head(key)
        heights = [self._line_rows(f"{head}{{", depth, len(head))]
        same = self._take_over(node, was, heights) if depth == 1 else 0
        end = len(node.items) - 1
        for index in range(same, end + 1):
            name, child = item_of(node, index)
            before = _counterpart(was, node, index)
            heights += self._measured(child, name, depth + 1, index == end, before)
        heights.append(1)
        return heights

    def _take_over(self, node: Obj | Arr, was: Tree | None, heights: list[int]) -> int:
        """Take over the first messages, which are the same as before; return how many."""
        before = self._before
        if before is None or before.width != self.width or not isinstance(was, Arr):
            return 0
        if not isinstance(node, Arr) or id(was) in before._folded:
            return 0
        lines = lines_below(before.payload.tree)
        first = next(line for line, _, value in lines if value is was)
        if not (was.items and node.items):
            return 0
        same = min(common_prefix(was.items, node.items), len(was.items) - 1, len(node.items) - 1)
        for child in node.items[:same]:
            if (item := before._items.get(id(child))) is not None:
                self._items[id(child)] = item
        if before._folds_items:
            self._folds_items = True
            for child in node.items[:same]:
                self._keep_folded(child)
        heights += before._heights[first + 1 : first + line_starts(was)[same]]
        return same

    def _keep_folded(self, child: Tree) -> None:
        """Keep folded what is in a message that was taken over."""
        item, before = self._items.get(id(child)), self._before
        if item is not None and before is not None:
            inside = (item.node, *item.folded)
            self._folded.update((id(node), node) for node in inside if id(node) in before._folded)

    def _fold_new(self, node: Obj | Arr, key: str | None, depth: int, was: Tree | None) -> None:
        """Fold a container that was folded before, or is folded at first."""
        if id(node) in self._folded or (self._before is None and self._folds is None):
            return
        known = self._before._folded if self._before is not None else {}
        is_followed = isinstance(was, Obj | Arr) and data_in(was) == data_in(node)
        is_folded = id(node) in known or (is_followed and id(was) in known)
        is_new = not is_folded and not is_followed and not self._was_open(node)
        if is_new and self._folds is not None:
            is_folded = self._folds.folds(node, key, depth)
        if is_folded:
            self._folded[id(node)] = node
            self._folds_items |= depth > 1

    def _was_open(self, node: Obj | Arr) -> bool:
        """Return True if a message was in the body before, at another place."""
        return self._before is not None and id(node) in self._before._items

    def _leaf_rows(self, leaf: Tree, key: str | None, depth: int, is_last: bool) -> int:
        """Return the number of rows of a child without children."""
        head = _head(key)
        if isinstance(leaf, Str):
            plain, room = leaf.text.plain, self._room - self._indent(depth)
            # Nothing in it grows beyond six characters, so short ones need no closer look.
            fits = len(head) + 6 * len(plain) + 3 <= room
            plainly = plain.isascii() and head.isascii() and "\\" not in head
            if fits and plainly and "\n" not in plain:
                return 1
        text = DrawnLine(drawn_pieces(leaf, None, is_last), depth).text
        return self._line_rows(head + text, depth, len(head))

    def _line_rows(self, text: str, depth: int, head: int) -> int:
        return 1 + len(self._breaks(text, depth, head))

    def _breaks(self, text: str, depth: int, head: int) -> list[int]:
        """Return the row breaks of a line at a depth; its first `head` characters are its key."""
        work = breaks if len(text) < _LONG else _remembered_breaks
        return work(text, self._room - self._indent(depth), self._room - self._hang(depth), head)

    def _indent(self, depth: int) -> int:
        """Return the cells in front of a line's first row; deep levels share the last indent."""
        return min(depth * (2 if self._room >= 44 else 1), self._room // 3)

    def _hang(self, depth: int) -> int:
        """Return the cells in front of a line's other rows."""
        return min(self._indent(depth) + 2, self._room - LEAST)

    # Rows and lines

    def lead(self, spot: BodyRow) -> int:
        """Return the number of blank cells before a row."""
        return self._hang(spot.depth) if spot.row else self._indent(spot.depth)

    def _row(self, line: int) -> int:
        """Return the first row of a line; of one that is folded away, that of what hides it."""
        if self._heights[line]:
            return self._tops[line]
        return self._tops[bisect_left(self._tops, self._tops[line]) - 1]

    def spot(self, row: int) -> BodyRow:
        """Return a row. Raises IndexError outside."""
        if not 0 <= row < self.rows:
            raise IndexError(row)
        line = bisect_right(self._tops, row) - 1
        node, depth, rest, is_last = self.payload.tree, 0, line, True
        owner, inner = _origin(node), row - self._tops[line]
        steps: list[PathStep] = []
        while isinstance(node, Obj | Arr) and node.items:
            starts = line_starts(node)
            if not rest or rest == starts[-1]:
                place = BodyPosition(tuple(steps), "close" if rest else "open")
                hidden = starts[-1] if not rest and id(node) in self._folded else 0
                return BodyRow(place, line, inner, depth, node, owner, is_last, hidden)
            index = bisect_right(starts, rest) - 1
            key, child = item_of(node, index)
            steps.append(PathStep(index, key, child))
            is_last = index == len(node.items) - 1
            rest -= starts[index]
            depth += 1
            node = child
            if (
                isinstance(node, Obj | Arr)
                and node.items
                and node.origin.kind is not OriginKind.GLUE
            ):
                owner = node.origin
        return BodyRow(BodyPosition(tuple(steps)), line, inner, depth, node, owner, is_last)

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
        line.breaks = self._breaks(line.text, spot.depth, line.head)
        return line

    # Places

    def row_of(self, place: BodyPosition) -> int:
        """Return the row of a position, by its nodes if they still exist, else by index."""
        node, line = self.payload.tree, 0
        if not isinstance(node, Obj | Arr) or not node.items:
            return 0
        for step in place.steps:
            if (index := _index(node, step)) is None:
                return self._row(line)
            line += line_starts(node)[index]
            _, child = item_of(node, index)
            if not isinstance(child, Obj | Arr) or not child.items:
                row = self._row(line)
                if place.part != "leaf" or not place.offset or not self._heights[line]:
                    return row
                drawn = self.line(self.spot(row))
                return row + bisect_right(drawn.breaks, place.offset)
            node = child
        return self._row(line + line_starts(node)[-1] if place.part == "close" else line)

    def row_at(self, pointer: str) -> int | None:
        """Return the row of a JSON pointer; None if it does not exist."""
        node, line = self.payload.tree, 0
        for name in pointer.split("/")[1:]:
            if not isinstance(node, Obj | Arr):
                return None
            index = _named(node, name.replace("~1", "/").replace("~0", "~"))
            if index is None:
                return None
            line += line_starts(node)[index]
            _, node = item_of(node, index)
        return self._row(line)

    def fold(self, row: int) -> int | None:
        """Fold or unfold the container of a row; return its first row, None if nothing folds."""
        spot = self.spot(row)
        steps = spot.place.steps
        if spot.place.part == "leaf":
            steps = steps[:-1]
        if not steps:  # the body itself stays open
            return None
        node, depth = steps[-1].child, len(steps)
        assert isinstance(node, Obj | Arr)
        is_folded = self._folded.pop(id(node), None) is None
        if is_folded:
            self._folded[id(node)] = node
            self._folds_items |= depth > 1
        if self._folds is not None:
            self._folds.remember(node, steps[-1].key, depth, is_folded)
        if depth > 2:
            self._items.pop(id(steps[1].child), None)
        self._arrange_again()
        return self.row_of(BodyPosition(steps, "open"))

    def _arrange_again(self) -> None:
        """Lay out what is open with the containers that are folded now."""
        folds, self._folds = self._folds, None
        self._arrange()
        self._folds = folds

    def unfold_to(self, pointer: str) -> None:
        """Unfold everything that hides the node of a JSON pointer."""
        while (row := self.row_at(pointer)) is not None and (spot := self.spot(row)).folded:
            if spot.place.pointer == pointer:
                break
            self.fold(row)

    # Contents

    def _parts(self, *, backwards: bool = False) -> Iterator[_Part]:
        """Yield the values of the body, or their items where they have some, with their lines."""
        for start, _, value in lines_below(self.payload.tree, backwards=backwards):
            if not isinstance(value, Obj | Arr) or not value.items:
                yield start, value, None
                continue
            for line, _, child in lines_below(value, backwards=backwards):
                yield start + line, child, self._items.get(id(child))

    def values(self) -> Iterator[tuple[int, str | None, Str | Lit | None]]:
        """Yield row, key and value of all in the body; None as the value of a container."""
        for line, key, node in lines_in(self.payload.tree):
            if line:
                yield self._row(line), key, node if isinstance(node, Str | Lit) else None

    def leaves_of(self, source: Origin) -> Iterator[tuple[int, Str | Lit]]:
        """Yield the strings and literals that may have text of a source, each with its first row.
        Messages without any are skipped.
        """
        wanted = source.kind, source.id
        for start, part, item in self._parts():
            if item is None or wanted in item.sources:
                for line, _, node in lines_in(part):
                    if isinstance(node, Str | Lit):
                        yield self._row(start + line), node

    def hides(self, spot: BodyRow, kind: OriginKind, name: str) -> bool:
        """Return True if a row folds a value of the body that has text of a source."""
        node = spot.node
        if not spot.folded or len(spot.place.steps) != 1 or not isinstance(node, Obj | Arr):
            return False
        items = (self._items.get(id(child)) for child in children(node))
        return any(item is not None and (kind, name) in item.sources for item in items)

    def last_row(self, kind: OriginKind) -> int | None:
        """Return the last row with a character of a kind, apart from the system prompt, which some
        bodies have after the messages.
        """
        for start, part, item in self._parts(backwards=True):
            if item is not None and not item.kinds & BIT[kind]:
                continue
            for line, _, node in reversed(list(lines_in(part))):
                if not isinstance(node, Str | Lit) or not bits_of(node) & BIT[kind]:
                    continue
                spot = self.spot(row := self._row(start + line))
                if spot.place.steps[0].key in SYSTEM_KEYS:
                    continue
                drawn = self.line(spot)
                ends = [run.end for run in drawn.runs if run.piece.origin.kind is kind]
                return row + bisect_right(drawn.breaks, ends[-1] - 1) if ends else row
        return None


def _counterpart(was: Tree | None, node: Obj | Arr, index: int) -> Tree | None:
    """Return what was in the place of a child: at the same index, under the same key."""
    if not isinstance(was, Obj | Arr) or type(was) is not type(node) or index >= len(was.items):
        return None
    key, child = item_of(was, index)
    return child if key == item_of(node, index)[0] else None


def _head(key: str | None) -> str:
    """Return the key and colon before a value."""
    return "" if key is None else f"{sanitize(quoted(key), 'exact')}: "


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
