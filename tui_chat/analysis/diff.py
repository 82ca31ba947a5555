"""The difference of two request bodies, line by line of their pretty text.

1. Trees are compared, not texts: an inserted message is one change, and its comma is none.
2. Parts that are the same object, or have the same bytes, are skipped without laying them out.
3. Lines are numbers in `Payload.lines`; the screen fetches those that it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_ends
from tui_chat.models.json_tree import Arr, Obj, Tree, body_of
from tui_chat.models.payload import Payload, PrettyLines, line_starts

CONTEXT = 2
"""Equal lines shown around a difference."""
_HIGH = 100
"""Lines from which a part is compared item by item and not as a whole."""
_PATIENCE = 4_000_000
"""Maximum pairs of items for which the best alignment is computed; beyond it, a good one."""


@dataclass(frozen=True, slots=True)
class DiffRun:
    """Lines that are equal, correspond to each other, or are in one body only."""

    same: bool
    was: range
    """Line numbers in the first body."""
    now: range
    """Line numbers in the second."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of the displayed difference."""

    kind: Literal["same", "gone", "new", "folded"]
    was: int | None = None
    """The line's number in the first body, from 0."""
    now: int | None = None
    """The line's number in the second body, from 0."""
    folded: int = 0
    """Number of hidden equal lines."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two bodies."""

    was: Payload
    now: Payload
    runs: tuple[DiffRun, ...]

    @property
    def is_none(self) -> bool:
        """True if the bodies are equal."""
        return all(run.same for run in self.runs)

    @property
    def gone(self) -> int:
        """Lines that only the first body has."""
        return sum(len(run.was) for run in self.runs if not run.same)

    @property
    def new(self) -> int:
        """Lines that only the second body has."""
        return sum(len(run.now) for run in self.runs if not run.same)

    def rows(self, context: int = CONTEXT) -> tuple[DiffRow, ...]:
        """Return the rows to show: the differences with `context` equal lines around them."""
        rows: list[DiffRow] = []
        last = len(self.runs) - 1
        for index, run in enumerate(self.runs):
            if not run.same:
                rows += [DiffRow("gone", was=line) for line in run.was]
                rows += [DiffRow("new", now=line) for line in run.now]
                continue
            pairs = list(zip(run.was, run.now, strict=True))
            head = 0 if index == 0 else context
            tail = 0 if index == last else context
            if len(pairs) <= head + tail + 1:
                rows += [DiffRow("same", one, other) for one, other in pairs]
                continue
            rows += [DiffRow("same", one, other) for one, other in pairs[:head]]
            rows.append(DiffRow("folded", folded=len(pairs) - head - tail))
            if tail:
                rows += [DiffRow("same", one, other) for one, other in pairs[-tail:]]
        return tuple(rows)


def diff_payloads(was: Payload, now: Payload) -> Difference:
    """Compare two bodies. Pure; the cost follows the differences and the number of items."""
    return Difference(was, now, tuple(_joined(_compare(was.tree, now.tree, 0, 0))))


def changed_part(was: str, now: str) -> tuple[range, range]:
    """Return the differing characters of two corresponding lines."""
    head, tail = common_ends(was, now)
    return range(head, len(was) - tail), range(head, len(now) - tail)


def _joined(runs: Iterator[DiffRun]) -> Iterator[DiffRun]:
    waiting: DiffRun | None = None
    for run in runs:
        if not (run.was or run.now):
            continue
        if waiting is not None and waiting.same == run.same:
            waiting = DiffRun(
                run.same,
                range(waiting.was.start, run.was.stop),
                range(waiting.now.start, run.now.stop),
            )
            continue
        if waiting is not None:
            yield waiting
        waiting = run
    if waiting is not None:
        yield waiting


def _compare(one: Tree, other: Tree, line: int, other_line: int) -> Iterator[DiffRun]:
    """Yield the runs of two corresponding nodes, which start at the given lines."""
    height, other_height = len(PrettyLines(one)), len(PrettyLines(other))
    whole = range(line, line + height), range(other_line, other_line + other_height)
    # A large part is compared item by item, so that its bytes need not be rendered.
    alike = height == other_height < _HIGH
    if one is other or (alike and body_of(one) == body_of(other)):
        yield DiffRun(True, *whole)
        return
    if not _are_same_kind(one, other) or height == 1 or other_height == 1:
        yield DiffRun(False, *whole)
        return
    assert isinstance(one, Obj | Arr)
    assert isinstance(other, Obj | Arr)
    yield DiffRun(True, range(line, line + 1), range(other_line, other_line + 1))
    for same, items, other_items in _aligned(one, other):
        yield from _items(same, (one, items, line), (other, other_items, other_line))
    yield DiffRun(True, whole[0][-1:], whole[1][-1:])


_Slice = tuple["Obj | Arr", range, int]


def _items(same: bool, one: _Slice, other: _Slice) -> Iterator[DiffRun]:
    """Yield the runs of corresponding items, pair by pair, then of the rest."""
    (node, items, line), (other_node, other_items, other_line) = one, other
    if same and isinstance(node, Arr):
        yield DiffRun(True, _lines(node, items, line), _lines(other_node, other_items, other_line))
        return
    # Values under different keys do not correspond, however similar they are.
    pairs = 0 if isinstance(node, Obj) and not same else min(len(items), len(other_items))
    for index, other_index in zip(items[:pairs], other_items[:pairs], strict=True):
        yield from _compare(
            _value(node, index),
            _value(other_node, other_index),
            _lines(node, range(index, index + 1), line).start,
            _lines(other_node, range(other_index, other_index + 1), other_line).start,
        )
    yield DiffRun(
        False,
        _lines(node, items[pairs:], line),
        _lines(other_node, other_items[pairs:], other_line),
    )


def _aligned(one: Obj | Arr, other: Obj | Arr) -> Iterator[tuple[bool, range, range]]:
    """Yield which items correspond: those of equal identity, and those between them."""
    keys, other_keys = _keys(one), _keys(other)
    head, tail = common_ends(keys, other_keys)
    count, other_count = len(keys), len(other_keys)
    yield True, range(head), range(head)
    keys, other_keys = keys[head : count - tail], other_keys[head : other_count - tail]
    quick = len(keys) * len(other_keys) > _PATIENCE
    matcher = SequenceMatcher(None, keys, other_keys, autojunk=quick)
    for tag, start, stop, other_start, other_stop in matcher.get_opcodes():
        yield (
            tag == "equal",
            range(head + start, head + stop),
            range(head + other_start, head + other_stop),
        )
    yield True, range(count - tail, count), range(other_count - tail, other_count)


def _keys(node: Obj | Arr) -> Sequence[str | bytes]:
    """Return the identity of each item: its key in an object, its bytes in an array."""
    if isinstance(node, Obj):
        return [key for key, _ in node.items]
    return list(map(body_of, node.items))


def _value(node: Obj | Arr, index: int) -> Tree:
    return node.items[index][1] if isinstance(node, Obj) else node.items[index]


def _lines(node: Obj | Arr, items: range, first_line: int) -> range:
    """Return the lines of some items of a node whose first line is `at`."""
    starts = line_starts(node)
    if not items:
        return range(first_line + starts[items.start], first_line + starts[items.start])
    return range(first_line + starts[items.start], first_line + starts[items.stop])


def _are_same_kind(one: Tree, other: Tree) -> bool:
    """True if both are objects, or both are arrays."""
    return (isinstance(one, Obj) and isinstance(other, Obj)) or (
        isinstance(one, Arr) and isinstance(other, Arr)
    )
