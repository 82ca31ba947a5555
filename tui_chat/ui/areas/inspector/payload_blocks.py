"""The heights of a payload's parts at a width, and an index of its sources.

1. A block is what a container node (`Obj`, `Arr`) takes: its opening line, its children, its
   closing row. Children without children are rows of the block they are in.
2. Nodes are immutable and reused between keystrokes. A block is measured anew only when its
   node, its key or its depth changed; otherwise the block measured before is taken over. So
   a keystroke costs what it changed, plus one look at each sibling on the way.
3. Every height is exact, so that scrolling never jumps.
4. Running totals (rows, lines, bytes, kinds of origin) are kept for each child, so that what comes
   before a changed child is copied and not added up again. Messages of the same shape share
   theirs: a long conversation has 10,000 of a role and a content.
5. A block can be folded to its opening line. It stays so from keystroke to keystroke, also
   while what is in it changes. Tools, settings and the data of files are folded at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as quoted  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree, body_of
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.areas.inspector.drawn_row import DrawnLine, data_in, drawn_pieces
from tui_chat.ui.areas.inspector.row_wrapping import LEAST, breaks

BIT = {kind: 1 << number for number, kind in enumerate(OriginKind)}
"""A bit for each kind: the kinds below a node are one number."""


_FOLDED = BIT[OriginKind.TOOL] | BIT[OriginKind.SETTING]
_WRITTEN = sum(BIT.values()) & ~(_FOLDED | BIT[OriginKind.GLUE])
"""The kinds of origin of what people and models wrote."""


class PayloadBlock:
    """The rows of a container that is not empty."""

    __slots__ = (
        "children",
        "depth",
        "folded",
        "key",
        "kinds",
        "lines",
        "node",
        "sizes",
        "starts",
        "taken",
    )

    def __init__(
        self,
        node: Obj | Arr,
        depth: int,
        key: str | None,
        old: PayloadBlock | None,
        totals: RunningTotals,
    ) -> None:
        self.node = node
        self.depth = depth
        self.key = key
        """Its key in an object."""
        self.folded = old is not None and old.folded
        self.taken = totals.taken
        """Number of first children taken over from the block before."""
        self.children: Sequence[PayloadBlock | None] = totals.children
        """A block for each child that has children, None for the others."""
        self.starts: Sequence[int] = totals.starts
        """For each child its first row, counted from the block's first; then the closing row."""
        self.lines: Sequence[int] = totals.lines
        """For each child its first line of the pretty text, counted from the block's first; then
        the closing line."""
        self.kinds: Sequence[int] = totals.kinds
        """For each child the kinds in it and in its elder siblings, as bits."""
        self.sizes: Sequence[int] = totals.sizes
        """For each child the bytes it and its elder siblings take in the body, keys and commas
        included."""
        if not any(totals.children):
            self.children = _shared(tuple(totals.children))
            self.starts = _shared(tuple(totals.starts))
            self.lines = _shared(tuple(totals.lines))
            self.kinds = _shared(tuple(totals.kinds))
            self.sizes = tuple(totals.sizes)

    @property
    def opening(self) -> int:
        """Rows of the opening line; more than one only under a very long key."""
        return self.starts[0]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.opening if self.folded else self.starts[-1] + 1

    def grow(self, child: int, rows: int) -> None:
        """Account for a child that has become higher by so many rows."""
        before = self.starts
        self.starts = [*before[: child + 1], *(start + rows for start in before[child + 1 :])]

    def restack(self, depth: int) -> None:
        """Add up the heights of the children again, down to a depth."""
        if self.depth >= depth:
            return
        before = self.starts
        starts = [before[0]]
        for index, child in enumerate(self.children):
            if child is None:
                rows = before[index + 1] - before[index]
            else:
                child.restack(depth)
                rows = child.rows
            starts.append(starts[-1] + rows)
        self.starts = starts

    @property
    def size(self) -> int:
        """Bytes in the body: the children less one comma, and the brackets."""
        return self.sizes[-1] + 1

    @property
    def all_kinds(self) -> int:
        """The kinds of origin in it, as bits."""
        return self.kinds[-1] if self.kinds else 0


class FoldChoices:
    """What is folded when the body is laid out: tools, settings and the data of files at first,
    then what the user left folded.
    """

    def __init__(self) -> None:
        self._chosen: dict[str, bool] = {}
        """By the key of the body, or the end of the data."""

    def remember(self, block: PayloadBlock) -> None:
        """Remember whether the user left a value of the body, or data, folded."""
        if name := self._name(block):
            self._chosen[name] = block.folded

    def __call__(self, block: PayloadBlock) -> bool:
        """Return True if a block that is new is folded."""
        kinds = block.all_kinds
        is_folded = block.depth != 1 or (bool(kinds & _FOLDED) and not kinds & _WRITTEN)
        name = self._name(block)
        return bool(name) and self._chosen.get(name, is_folded)

    def _name(self, block: PayloadBlock) -> str:
        return (block.key or "") if block.depth == 1 else data_in(block.node)[-64:]


class RunningTotals:
    """The running totals of a block that is being measured."""

    __slots__ = ("children", "kinds", "lines", "sizes", "starts", "taken")

    def __init__(self, old: PayloadBlock | None, same: int) -> None:
        self.taken = same
        self.children: list[PayloadBlock | None] = []
        self.starts: list[int] = []
        self.lines: list[int] = [1]
        self.kinds: list[int] = []
        self.sizes: list[int] = []
        if old is not None and same:
            self.children += old.children[:same]
            self.starts += old.starts[: same + 1]
            self.lines[:] = old.lines[: same + 1]
            self.kinds += old.kinds[:same]
            self.sizes += old.sizes[:same]

    def add(self, child: PayloadBlock | None, rows: int, kinds: int, size: int) -> None:
        """Add a child."""
        self.children.append(child)
        self.starts.append(self.starts[-1] + rows)
        self.lines.append(self.lines[-1] + (1 if child is None else child.lines[-1] + 1))
        self.kinds.append((self.kinds[-1] if self.kinds else 0) | kinds)
        self.sizes.append((self.sizes[-1] if self.sizes else 0) + size + 1)


@lru_cache(1_000)
def _shared(values: tuple[Any, ...]) -> Any:
    """Return the same object for equal values."""
    return values


_LONG = 20_000
_remembered_breaks = lru_cache(8)(breaks)
"""Very long lines are broken twice: to be measured and to be drawn."""


class HeightMeasurer:
    """Measures payloads for a width."""

    __slots__ = ("folded", "folds", "pause", "step", "width")

    def __init__(
        self,
        width: int,
        pause: Callable[[], object] | None = None,
        folds: FoldChoices | None = None,
        folded: frozenset[int] = frozenset(),
    ) -> None:
        self.width = max(width, LEAST)
        """In cells."""
        self.pause = pause
        """Called before each container; an exception it raises ends the measuring."""
        self.folds = folds
        """Says which values of the body are folded at first; None for none."""
        self.folded = folded
        """The identities of other containers that are folded at first."""
        self.step = 2 if self.width >= 44 else 1
        """Cells of indent per level."""

    def indent(self, depth: int) -> int:
        """Return the cells in front of a line's first row; deep levels share the last indent."""
        return min(depth * self.step, self.width // 3)

    def hang(self, depth: int) -> int:
        """Return the cells in front of a line's other rows."""
        return min(self.indent(depth) + 2, self.width - LEAST)

    def block(
        self, node: Obj | Arr, depth: int, key: str | None, old: PayloadBlock | None
    ) -> PayloadBlock:
        """Measure a container, reusing what the block before it knows."""
        if self.pause is not None:
            self.pause()
        if old is not None and (old.depth != depth or old.key != key):
            old = None
        if old is not None and old.node is node:
            return old
        same = _common(old.node, node) if old is not None else 0
        totals = RunningTotals(old, same)
        if not same:
            totals.starts.append(self._rows(f"{_head(key)}{{", depth, len(_head(key))))
        moved = _moved(old, same) if old is not None else {}
        for index in range(same, len(node.items)):
            name, child = item_of(node, index)
            if isinstance(child, Obj | Arr) and child.items:
                before = moved.get(id(child))
                if before is None and old is not None and index < len(old.children):
                    before = old.children[index]
                below = self.block(child, depth + 1, name, before)
                rows, kinds, size = below.rows, below.all_kinds, below.size
            else:
                below = None
                rows = self.leaf_rows(name, child, depth + 1, index < len(node.items) - 1)
                kinds, size = bits_of(child), len(body_of(child))
            totals.add(below, rows, kinds, _key_size(name) + size)
        block = PayloadBlock(node, depth, key, old, totals)
        if old is None or data_in(old.node) != data_in(node):
            is_chosen = self.folds is not None and self.folds(block)
            block.folded = is_chosen or id(node) in self.folded
        return block

    def leaf_rows(self, key: str | None, leaf: Tree, depth: int, comma: bool) -> int:
        """Return the number of rows of a child without children."""
        head = _head(key)
        if isinstance(leaf, Str):
            plain, room = leaf.text.plain, self.width - self.indent(depth)
            # Nothing in it grows beyond six characters, so short ones need no closer look.
            fits = len(head) + 6 * len(plain) + 3 <= room
            plainly = plain.isascii() and head.isascii() and "\\" not in head
            if fits and plainly and "\n" not in plain:
                return 1
        text = DrawnLine(drawn_pieces(leaf, None, not comma), depth).text
        return self._rows(head + text, depth, len(head))

    def breaks(self, text: str, depth: int, head: int) -> list[int]:
        """Return the row breaks of a line at a depth; its first `head` characters are its key."""
        work = breaks if len(text) < _LONG else _remembered_breaks
        return work(text, self.width - self.indent(depth), self.width - self.hang(depth), head)

    def _rows(self, text: str, depth: int, head: int) -> int:
        return 1 + len(self.breaks(text, depth, head))


def _common(old: Obj | Arr, new: Obj | Arr) -> int:
    """Count the first children that are the same in both, sparing the last of each, whose
    comma may have come or gone.
    """
    most = max(min(len(old.items), len(new.items)) - 1, 0)
    return min(common_prefix(old.items, new.items), most) if type(old) is type(new) else 0


def _moved(old: PayloadBlock, start: int) -> dict[int, PayloadBlock]:
    """Return the blocks of a container from a child on, by the identity of their nodes."""
    return {id(below.node): below for below in old.children[start:] if below is not None}


def same_rows(old: PayloadBlock, new: PayloadBlock | None) -> int:
    """Return the number of first rows that a block shares with the block before. Children that were
    taken over are not looked at.
    """
    row = 0
    while new is not None and new is not old:
        if not _opens_alike(old, new):
            return row
        index, last = new.taken, min(len(old.children), len(new.children)) - 1
        while index < last and _same_child(old, new, index):
            index += 1
        row += new.starts[index]
        below = old.children[index] if index < len(old.children) else None
        if below is None:
            return row
        old, new = below, new.children[index]
    # The last row of the last child may have another comma.
    return row if new is None else row + new.rows - (row > 0)


def _opens_alike(old: PayloadBlock, new: PayloadBlock) -> bool:
    alike = type(old.node) is type(new.node) and old.node.origin == new.node.origin
    return alike and old.key == new.key and not old.folded and not new.folded


def _same_child(old: PayloadBlock, new: PayloadBlock, index: int) -> bool:
    """Return True if a child is equal in both: a system prompt is built for every request, and
    seldom changes.
    """
    was, after = old.children[index], new.children[index]
    if was is not None and after is not None:
        return was is after or (
            _opens_alike(was, after)
            and len(was.children) == len(after.children)
            and all(_same_child(was, after, n) for n in range(after.taken, len(after.children)))
        )
    was_key, before = item_of(old.node, index)
    key, node = item_of(new.node, index)
    return key == was_key and _same_leaf(before, node)


def _same_leaf(one: Tree, other: Tree) -> bool:
    match one, other:
        case Str(), Str():
            return one.text == other.text
        case Lit(), Lit():
            # Not `==`: `false` is not `0`, nor `1` the same text as `1.0`.
            return repr(one.value) == repr(other.value) and one.origin == other.origin
        case _:
            return one is other


def item_of(node: Obj | Arr, index: int) -> tuple[str | None, Tree]:
    """Return a child and its key."""
    return node.items[index] if isinstance(node, Obj) else (None, node.items[index])


def bits_of(node: Tree) -> int:
    """Return the kinds of origin in a string or literal, as bits."""
    if isinstance(node, Str):
        bits = 0
        for span in node.text.spans:
            bits |= BIT[span.origin.kind]
        return bits or BIT[OriginKind.GLUE]
    return BIT[node.origin.kind]


def _head(key: str | None) -> str:
    """Return the key and colon before a value."""
    return "" if key is None else f"{sanitize(quoted(key), 'exact')}: "


def _key_size(key: str | None) -> int:
    return 0 if key is None else len(quoted(key).encode()) + 1


Key: TypeAlias = tuple[OriginKind, str]
"""A source: its kind and its id."""


class SourceIndex:
    """Knows which nodes of a list have text of a source; another list costs its new nodes."""

    def __init__(self) -> None:
        self._items: tuple[Tree, ...] = ()
        self._numbers: dict[Key, list[int]] = {}
        """For each source the indexes of the nodes that have text of it."""

    def numbers(self, items: tuple[Tree, ...], key: Key) -> Sequence[int]:
        """Return the indexes of the nodes that have text of a source."""
        self._take(items)
        return sorted(self._numbers.get(key, ()))

    def _take(self, items: tuple[Tree, ...]) -> None:
        was = self._items
        first = common_prefix(was, items)
        last = len(items)
        if len(was) == last:
            last -= common_prefix(was[first:][::-1], items[first:][::-1])
        elif not first:
            was = ()
            self._numbers.clear()
        for number in range(first, last if len(was) == len(items) else len(was)):
            for key in _keys(was[number]):
                numbers = self._numbers[key]
                numbers.remove(number)
                if not numbers:
                    del self._numbers[key]
        for number in range(first, last):
            for key in _keys(items[number]):
                self._numbers.setdefault(key, []).append(number)
        self._items = items


def _keys(node: Tree) -> set[Key]:
    origins = (each for origin in _origins(node) for each in origin.lineage())
    return {(each.kind, each.id) for each in origins if each.kind is not OriginKind.GLUE}


def _origins(node: Tree) -> Iterator[Origin]:
    """Yield the origins of strings and literals."""
    match node:
        case Obj():
            for _, child in node.items:
                yield from _origins(child)
        case Arr():
            for child in node.items:
                yield from _origins(child)
        case Str():
            for span in node.text.spans:
                yield span.origin
        case _:
            yield node.origin
