"""A session's branches as lines: each begins where it parts from another one.

The first message that follows another goes on with its branch; every other one begins a branch
of its own, drawn below and further in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tui_chat.models.session import Node


@dataclass(frozen=True, slots=True)
class BranchLine:
    """One branch, from where it parts to its end."""

    first: Node
    """Its first message that no branch above it has."""
    leaf: Node
    """Its last message."""
    level: int
    """How often it parted; 0 for what began the session."""
    number: int
    """Place of its first message in the conversation, counted from 1."""
    count: int
    """Messages from there to its end."""


def branch_lines(nodes: Iterable[Node]) -> list[BranchLine]:
    """Return the branches of a tree, each below the one that it parts from."""
    children: dict[str | None, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent_id, []).append(node)
    lines: list[BranchLine] = []
    waiting = [(node, min(at, 1), 1) for at, node in enumerate(children.get(None, ()))][::-1]
    while waiting:
        first, level, number = waiting.pop()
        leaf, count = first, 1
        parting: list[tuple[Node, int, int]] = []
        while below := children.get(leaf.message_id):
            parting += [(node, level + 1, number + count) for node in below[1:]]
            leaf, count = below[0], count + 1
        lines.append(BranchLine(first, leaf, level, number, count))
        waiting += parting[::-1]
    return lines
