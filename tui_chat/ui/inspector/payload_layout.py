"""The body laid out for a width: which row shows what, and where something is.

1. The rows are those of the lines of the pretty text, whose numbers `line_starts` knows: the layout
   has the height of each line. Lines that are folded away have the height 0.
2. What a message (an item of a value of the body) takes is measured once and kept while its node
   stays the same, so a keystroke measures what it changed.
3. Tools, settings and the data of files are folded at first; what the user folds or unfolds is
   known by its JSON pointer.
4. A `BodyPosition` names a character by the nodes around it, so that it is found in a later
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

from tui_chat.models.payload import (
    Arr,
    LinePiece,
    Lit,
    Obj,
    Payload,
    Str,
    Tree,
    last_line,
    line_starts,
)
from tui_chat.models.request_edit import json_pointer
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import GLUE, Origin, OriginKind
from tui_chat.ui.inspector.body_nodes import (
    Source,
    child_at,
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

_FOLDED = frozenset((OriginKind.TOOL, OriginKind.SETTING, OriginKind.GLUE))
"""The kinds of origin of a value of the body that is folded at first."""
_KEPT_LINES = 200
_LONG = 20_000
_remembered_breaks = lru_cache(8)(breaks)
"""Very long lines are broken twice: to be measured and to be drawn."""

_Slot: TypeAlias = tuple[int, type, str | None, bool, str, str]
_Drawn: TypeAlias = tuple[Tree | Origin, DrawnLine]
_Item: TypeAlias = tuple[Tree, str | None, list[int]]
"""An item of a value of the body, its key, and the rows of its lines."""


class PayloadLayout:
    """A payload laid out for a width, reusing what the layout `before` measured. `toggled` has the
    JSON pointers of what is not as it is at first, folded or unfolded; without it all is open.
    """

    def __init__(
        self,
        payload: Payload,
        width: int,
        before: PayloadLayout | None = None,
        toggled: set[str] | None = None,
    ) -> None:
        self.payload = payload
        self.width = width
        self._folds = toggled is not None
        self._toggled = set[str]() if toggled is None else toggled
        self._room = max(width, LEAST)
        self._items: dict[int, _Item] = {}
        """The items that were measured, by the identity of their nodes."""
        self._drawn: OrderedDict[_Slot, _Drawn] = OrderedDict()
        """The lines looked at last, in this layout or those before it."""
        if before is not None and before.width == width:
            self._drawn, self._items = before._drawn, before._items
        self._arrange()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._tops[-1]

    # Measuring

    def _arrange(self) -> None:
        """Measure what is not known, and add up the heights."""
        self._known, self._items = self._items, {}
        self._touched = {"/".join(pointer.split("/")[:3]) for pointer in self._toggled}
        self._heights = self._measured(self.payload.tree, None, 0, "", is_last=True)
        self._tops = list(accumulate(self._heights, initial=0))
        self._known = {}

    def _measured(
        self, node: Tree, key: str | None, depth: int, pointer: str, *, is_last: bool
    ) -> list[int]:
        """Return the rows of each line of a node."""
        if not isinstance(node, Obj | Arr) or not node.items:
            return [self._leaf_rows(node, key, depth, is_last)]
        head = _head(key)
        heights = [self._line_rows(f"{head}{{", depth, len(head))]
        is_folded = self._folds and _is_folded_first(node, depth)
        if is_folded is not (pointer in self._toggled):
            return heights + [0] * line_starts(node)[-1]
        end = len(node.items) - 1
        for index in range(end + 1):
            name, child = child_at(node, index)
            inner = f"{pointer}/{index}" if name is None else pointer + json_pointer((name,))
            item = self._known.get(id(child)) if depth == 1 else None
            if item is None or item[:2] != (child, name) or inner in self._touched:
                rows = self._measured(child, name, depth + 1, inner, is_last=index == end)
                item = child, name, rows
            if depth == 1 and isinstance(child, Obj | Arr) and inner not in self._touched:
                self._items[id(child)] = item
            heights += item[2]
        heights.append(1)
        return heights

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
                is_folded = not rest and not self._heights[line + 1]
                hidden = starts[-1] if is_folded else 0
                return BodyRow(place, line, inner, depth, node, owner, is_last, hidden)
            index = bisect_right(starts, rest) - 1
            key, child = child_at(node, index)
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
            _, child = child_at(node, index)
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
            _, node = child_at(node, index)
        return self._row(line)

    def fold(self, row: int) -> int | None:
        """Fold or unfold the container of a row; return its first row, None if nothing folds."""
        spot = self.spot(row)
        steps = spot.place.steps
        if spot.place.part == "leaf":
            steps = steps[:-1]
        if not steps:  # the body itself stays open
            return None
        place = BodyPosition(steps, "open")
        self._toggled ^= {place.pointer}
        self._arrange()
        return self.row_of(place)

    def unfold_to(self, pointer: str) -> None:
        """Unfold everything that hides the node of a JSON pointer."""
        while (row := self.row_at(pointer)) is not None and (spot := self.spot(row)).folded:
            if spot.place.pointer == pointer:
                break
            self.fold(row)

    # Contents

    def _parts(self, *, backwards: bool = False) -> Iterator[tuple[int, Tree]]:
        """Yield the values of the body, or their items where they have some, with their lines."""
        for start, _, value in lines_below(self.payload.tree, backwards=backwards):
            if not isinstance(value, Obj | Arr) or not value.items:
                yield start, value
                continue
            for line, _, child in lines_below(value, backwards=backwards):
                yield start + line, child

    def values(self) -> Iterator[tuple[int, str | None, Str | Lit | None]]:
        """Yield row, key and value of all in the body; None as the value of a container."""
        for line, key, node in lines_in(self.payload.tree):
            if line:
                yield self._row(line), key, node if isinstance(node, Str | Lit) else None

    def leaves_of(self, source: Origin) -> Iterator[int]:
        """Yield the first rows of the strings and literals that have text of a source."""
        wanted: Source = source.kind, source.id
        for start, part in self._parts():
            if wanted in sources_in(part):
                for line, _, node in lines_in(part):
                    if isinstance(node, Str | Lit) and wanted in sources_in(node):
                        yield self._row(start + line)

    def hides(self, spot: BodyRow, source: Source) -> bool:
        """Return True if a row folds a value of the body that has text of a source."""
        is_value = bool(spot.folded) and len(spot.place.steps) == 1
        return is_value and source in sources_in(spot.node)

    def last_row(self, kind: OriginKind) -> int | None:
        """Return the last row with a character of a kind, apart from the system prompt, which some
        bodies have after the messages.
        """
        for start, part in self._parts(backwards=True):
            if kind not in kinds_in(part):
                continue
            for line, _, node in reversed(list(lines_in(part))):
                if not isinstance(node, Str | Lit) or kind not in kinds_in(node):
                    continue
                spot = self.spot(row := self._row(start + line))
                if spot.place.steps[0].key in SYSTEM_KEYS:
                    continue
                drawn = self.line(spot)
                ends = [run.end for run in drawn.runs if run.piece.origin.kind is kind]
                return row + bisect_right(drawn.breaks, ends[-1] - 1) if ends else row
        return None


def _is_folded_first(node: Obj | Arr, depth: int) -> bool:
    """Return True for tools and settings, and for the data of files."""
    if depth > 1:
        return bool(data_in(node))
    kinds: set[OriginKind] = set()
    for _, _, child in lines_below(node) if depth else ():
        kinds |= kinds_in(child)
        if not kinds <= _FOLDED:
            return False
    return bool(kinds - {OriginKind.GLUE})


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
