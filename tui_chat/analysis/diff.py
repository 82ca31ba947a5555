"""The difference of two request bodies, line by line of their pretty text.

1. Trees are compared, not texts: an inserted message is one change, and its comma is none.
2. Parts that are the same object, or have the same bytes, are skipped without laying them out.
3. Lines are numbers in `Payload.lines`; the screen fetches those that it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.common_prefix import common_ends
from tui_chat.models.payload import Arr, Obj, Payload, PrettyLines, Tree, body_of, line_starts

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
    is_folded: bool = False
    """True for equal lines that are far from any difference."""


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

    def folded(self, context: int = CONTEXT) -> Iterator[DiffRun]:
        """Yield the runs with equal lines folded, except `context` lines around a difference."""
        for run in self.runs:
            head = 0 if run is self.runs[0] else context
            end = len(run.now) - (0 if run is self.runs[-1] else context)
            if not run.same or end - head <= 1:
                yield run
                continue
            for part in (slice(0, head), slice(head, end), slice(end, None)):
                if run.now[part]:
                    yield DiffRun(True, run.was[part], run.now[part], part.start == head)


def diff_payloads(was: Payload, now: Payload) -> Difference:
    """Compare two bodies. Pure; the cost follows the differences and the number of items."""
    runs: list[DiffRun] = []
    for run in _compare(was.tree, now.tree, 0, 0):
        if runs and runs[-1].same == run.same:
            before = runs.pop()
            run = DiffRun(run.same, _joined(before.was, run.was), _joined(before.now, run.now))
        if run.was or run.now:
            runs.append(run)
    return Difference(was, now, tuple(runs))


def _joined(one: range, other: range) -> range:
    return range(one.start, other.stop)


def changed_part(was: str, now: str) -> tuple[range, range]:
    """Return the differing characters of two corresponding lines."""
    head, tail = common_ends(was, now)
    return range(head, len(was) - tail), range(head, len(now) - tail)


def _compare(one: Tree, other: Tree, line: int, other_line: int) -> Iterator[DiffRun]:
    """Yield the runs of two corresponding nodes, which start at the given lines."""
    height, other_height = len(PrettyLines(one)), len(PrettyLines(other))
    was, now = range(line, line + height), range(other_line, other_line + other_height)
    # A large part is compared item by item, so that its bytes need not be rendered.
    alike = height == other_height < _HIGH
    if one is other or (alike and body_of(one) == body_of(other)):
        yield DiffRun(True, was, now)
    elif height == 1 or other_height == 1 or type(one) is not type(other):
        yield DiffRun(False, was, now)
    elif isinstance(one, Obj | Arr) and isinstance(other, Obj | Arr):
        yield DiffRun(True, was[:1], now[:1])
        yield from _compare_items(one, other, line, other_line)
        yield DiffRun(True, was[-1:], now[-1:])


def _compare_items(one: _List, other: _List, line: int, other_line: int) -> Iterator[DiffRun]:
    """Yield the runs of the items of two objects or two arrays, whose first lines are given."""
    starts, other_starts = line_starts(one), line_starts(other)

    def run(same: bool, items: range, other_items: range) -> DiffRun:
        was = range(line + starts[items.start], line + starts[items.stop])
        start, stop = other_starts[other_items.start], other_starts[other_items.stop]
        return DiffRun(same, was, range(other_line + start, other_line + stop))

    is_object = isinstance(one, Obj)
    for same, items, other_items in _aligned(one, other):
        if same and not is_object:
            yield run(True, items, other_items)
            continue
        # Values under different keys do not correspond, however similar they are.
        pairs = 0 if is_object and not same else min(len(items), len(other_items))
        for index, other_index in zip(items[:pairs], other_items[:pairs], strict=True):
            places = line + starts[index], other_line + other_starts[other_index]
            yield from _compare(_value(one, index), _value(other, other_index), *places)
        yield run(False, items[pairs:], other_items[pairs:])


_List: TypeAlias = "Obj | Arr"


def _aligned(one: _List, other: _List) -> Iterator[tuple[bool, range, range]]:
    """Yield which items correspond: those of equal identity, and those between them."""
    keys, other_keys = _identities(one), _identities(other)
    head, tail = common_ends(keys, other_keys)
    count, other_count = len(keys), len(other_keys)
    yield True, range(head), range(head)
    keys, other_keys = keys[head : count - tail], other_keys[head : other_count - tail]
    quick = len(keys) * len(other_keys) > _PATIENCE
    matcher = SequenceMatcher(None, keys, other_keys, autojunk=quick)
    for tag, start, stop, other_start, other_stop in matcher.get_opcodes():
        was = range(head + start, head + stop)
        yield tag == "equal", was, range(head + other_start, head + other_stop)
    yield True, range(count - tail, count), range(other_count - tail, other_count)


def _identities(node: _List) -> Sequence[str | bytes]:
    """Return the identity of each item: its key in an object, its bytes in an array."""
    if isinstance(node, Obj):
        return [key for key, _ in node.items]
    return list(map(body_of, node.items))


def _value(node: _List, index: int) -> Tree:
    return node.items[index][1] if isinstance(node, Obj) else node.items[index]
