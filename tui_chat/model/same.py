"""What two tuples begin with alike, told by identity: how one sees what a keystroke changed."""

from __future__ import annotations


def same_objects(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    """Return how many items at the beginning are the very same objects.

    The items must have no equality of their own, as nodes and turns have none, or be pairs of a
    key and such a node: comparing slices is comparing identities then, in C.
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
