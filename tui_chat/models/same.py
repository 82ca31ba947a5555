"""What two sequences begin with alike; of tuples of nodes told by identity, which is how one sees
what a keystroke changed.
"""

from __future__ import annotations

from collections.abc import Sequence


def same_objects(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    """Return how many items at the beginning are the very same objects.

    The items must have no equality of their own, as nodes and turns have none, or be pairs of a
    key and such a node: comparing slices is comparing identities then, in C.
    """
    return same_beginning(one, other)


def same_beginning(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many items, or characters, at the beginning are equal."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
