"""The common ends of two sequences."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many items, or characters, at the beginning are equal.

    A binary search over slices, which Python compares in C: quick for texts, and for tuples whose
    items have no equality of their own (tree nodes, turns) or are pairs of a key and such a node.
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return how many items, or characters, at the beginning and then at the end are equal."""
    start = common_prefix(one, other)
    return start, common_prefix(one[start:][::-1], other[start:][::-1])
