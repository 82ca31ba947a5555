"""Strings and literals of a laid-out payload, in order, each with the row it begins on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from tui_chat.models.json_tree import Lit, Str
from tui_chat.ui.inspector.blocks import Block, bits_of, item_of


def leaves(
    block: Block, row: int, bit: int, after: int, backwards: bool, hidden: bool = False
) -> Iterator[tuple[int, Str | Lit]]:
    """Yield what has characters of a kind (`bit`) and begins below the row `after`."""
    if not block.all_kinds & bit:
        return
    hidden = hidden or block.folded
    first = 0 if hidden else max(bisect_right(block.starts, after - row) - 1, 0)
    indexes = range(first, len(block.children))
    indexes = reversed(indexes) if backwards else indexes
    yield from leaves_in(block, indexes, row, bit, after, backwards, hidden)


def leaves_in(
    block: Block,
    indexes: Iterable[int],
    row: int,
    bit: int,
    after: int = -1,
    backwards: bool = False,
    hidden: bool = False,
) -> Iterator[tuple[int, Str | Lit]]:
    """Yield what `leaves` does, of some of the block's children."""
    hidden = hidden or block.folded
    for index in indexes:
        at = row if hidden else row + block.starts[index]
        below = block.children[index]
        if below is not None:
            yield from leaves(below, at, bit, after, backwards, hidden)
            continue
        _, child = item_of(block.node, index)
        if at > after and isinstance(child, Str | Lit) and bits_of(child) & bit:
            yield at, child


def values(
    block: Block, row: int, after: int, hidden: bool = False
) -> Iterator[tuple[int, str | None, Str | Lit | None]]:
    """Yield everything that begins below the row `after`, each with its key; for an object or an
    array None, then what is in it.
    """
    hidden = hidden or block.folded
    first = 0 if hidden else max(bisect_right(block.starts, after - row) - 1, 0)
    for index in range(first, len(block.children)):
        at = row if hidden else row + block.starts[index]
        below = block.children[index]
        key, child = item_of(block.node, index)
        if at > after:
            yield at, key, child if isinstance(child, Str | Lit) else None
        if below is not None:
            yield from values(below, at, after, hidden)


def at_depth(block: Block, depth: int) -> Iterator[Block]:
    """Yield the blocks that stand at a depth."""
    if block.depth == depth:
        yield block
        return
    for below in block.children:
        if below is not None:
            yield from at_depth(below, depth)
