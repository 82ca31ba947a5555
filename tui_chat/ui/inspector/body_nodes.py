"""Walks over the nodes of a body: their lines in the pretty text, kinds of origin and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tui_chat.models.memo import Memo
from tui_chat.models.payload import Arr, Lit, Obj, Str, Tree, line_starts
from tui_chat.models.text import GLUE, Origin, OriginKind

Source: TypeAlias = tuple[OriginKind, str]
"""Kind and id of an origin."""


def child_at(node: Obj | Arr, index: int) -> tuple[str | None, Tree]:
    """Return the key and the child at an index."""
    return node.items[index] if isinstance(node, Obj) else (None, node.items[index])


def lines_below(node: Tree, *, backwards: bool = False) -> Iterator[tuple[int, str | None, Tree]]:
    """Yield the number of the first line, the key and the node of each child."""
    if isinstance(node, Obj | Arr) and node.items:
        starts = line_starts(node)
        order = range(len(node.items))
        for index in reversed(order) if backwards else order:
            yield starts[index], *child_at(node, index)


def lines_in(node: Tree, key: str | None = None) -> Iterator[tuple[int, str | None, Tree]]:
    """Yield what `lines_below` yields, of a node and all below it."""
    yield 0, key, node
    for start, name, child in lines_below(node):
        for line, inner, below in lines_in(child, name):
            yield start + line, inner, below


def origins_in(leaf: Str | Lit) -> tuple[Origin, ...]:
    """Return the origins of the text of a string or literal."""
    if isinstance(leaf, Lit):
        return (leaf.origin,)
    return tuple(span.origin for span in leaf.text.spans) or (GLUE,)


def kinds_in(node: Tree) -> frozenset[OriginKind]:
    """Return the kinds of origin of the strings and literals in a node."""
    if isinstance(node, Str | Lit):
        return frozenset(origin.kind for origin in origins_in(node))
    return _kinds_below(node)


@Memo
def _kinds_below(node: Obj | Arr) -> frozenset[OriginKind]:
    if not node.items:
        return frozenset((node.origin.kind,))
    return frozenset[OriginKind]().union(*(kinds_in(child) for _, _, child in lines_below(node)))


def sources_in(node: Tree) -> frozenset[Source]:
    """Return the sources of the strings and literals in a node, and what they lie in."""
    if isinstance(node, Str | Lit):
        around = (each for origin in origins_in(node) for each in origin.lineage())
        return frozenset((each.kind, each.id) for each in around)
    return _sources_below(node)


@Memo
def _sources_below(node: Obj | Arr) -> frozenset[Source]:
    return frozenset[Source]().union(*(sources_in(child) for _, _, child in lines_below(node)))
