"""Walks over the nodes of a body: their lines in the pretty text, kinds of origin and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tui_chat.models.json_tree import Arr, Lit, Obj, Str, Tree
from tui_chat.models.payload import line_starts
from tui_chat.models.text import OriginKind

BIT = {kind: 1 << number for number, kind in enumerate(OriginKind)}
"""A bit for each kind: the kinds below a node are one number."""

Source: TypeAlias = tuple[OriginKind, str]
"""Kind and id of an origin."""


def item_of(node: Obj | Arr, index: int) -> tuple[str | None, Tree]:
    """Return the key and the child at an index."""
    return node.items[index] if isinstance(node, Obj) else (None, node.items[index])


def children(node: Obj | Arr) -> tuple[Tree, ...]:
    """Return the children of a container."""
    return node.items if isinstance(node, Arr) else tuple(child for _, child in node.items)


def lines_below(node: Tree, *, backwards: bool = False) -> Iterator[tuple[int, str | None, Tree]]:
    """Yield the number of the first line, the key and the node of each child."""
    if isinstance(node, Obj | Arr) and node.items:
        starts = line_starts(node)
        order = range(len(node.items))
        for index in reversed(order) if backwards else order:
            yield starts[index], *item_of(node, index)


def lines_in(node: Tree, key: str | None = None) -> Iterator[tuple[int, str | None, Tree]]:
    """Yield what `lines_below` yields, of a node and all below it."""
    yield 0, key, node
    for start, name, child in lines_below(node):
        for line, inner, below in lines_in(child, name):
            yield start + line, inner, below


def containers(node: Obj | Arr) -> Iterator[Obj | Arr]:
    """Yield a container and those in it."""
    yield node
    for child in children(node):
        if isinstance(child, Obj | Arr):
            yield from containers(child)


def kinds_in(node: Tree) -> int:
    """Return the kinds of origin of the strings and literals in a node, as bits."""
    if isinstance(node, Str | Lit):
        return bits_of(node)
    bits = 0
    for child in children(node):
        bits |= kinds_in(child)
    return bits if node.items else BIT[node.origin.kind]


def bits_of(node: Str | Lit) -> int:
    """Return the kinds of origin in a string or literal, as bits."""
    if isinstance(node, Lit):
        return BIT[node.origin.kind]
    bits = 0
    for span in node.text.spans:
        bits |= BIT[span.origin.kind]
    return bits or BIT[OriginKind.GLUE]


def sources_in(node: Tree) -> frozenset[Source]:
    """Return the sources of the strings and literals in a node, and what they lie in."""
    found: set[Source] = set()
    for _, _, part in lines_in(node):
        if isinstance(part, Str | Lit):
            origins = (
                [span.origin for span in part.text.spans]
                if isinstance(part, Str)
                else [part.origin]
            )
            for origin in origins:
                found.update((each.kind, each.id) for each in origin.lineage())
    return frozenset(source for source in found if source[0] is not OriginKind.GLUE)
