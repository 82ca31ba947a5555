"""Remembering what was computed from a frozen value, for as long as the value lives.

Why by identity: values here are immutable, so one object always gives one result, while
hashing or comparing a long text would cost as much as the work saved. A keystroke replaces
the draft and nothing else, so everything derived from the other turns is found here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")


class Memo(Generic[K, V]):
    """`memo(key)` is `compute(key)`, computed once per live object `key`.

    `compute` must be pure. Keys must be weakly referable (`weakref_slot=True` on slotted
    dataclasses). Not thread-safe beyond the GIL: two threads may compute the same value once
    each, and both get a right one.
    """

    __slots__ = ("_compute", "_values")

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute
        self._values: dict[int, tuple[ref[K], V]] = {}

    def __call__(self, key: K) -> V:
        """Return the remembered result for this very object, computing it the first time."""
        found = self._values.get(id(key))
        if found is not None:
            return found[1]
        value = self._compute(key)
        identity = id(key)
        values = self._values

        def forget(_: ref[K]) -> None:
            values.pop(identity, None)

        values[identity] = (ref(key, forget), value)
        return value

    def __len__(self) -> int:
        return len(self._values)


class Recent(Generic[K, V]):
    """`recent(key)` is `compute(key)`, remembered for the last few objects `key`.

    For keys that cannot be weakly referred to, such as tuples: they are kept alive, so that an
    identity always means the same object, and only the last `size` of them are.
    """

    __slots__ = ("_compute", "_size", "_values")

    def __init__(self, compute: Callable[[K], V], size: int = 4) -> None:
        self._compute = compute
        self._size = size
        self._values: tuple[tuple[K, V], ...] = ()
        """Newest first. Replaced as a whole, so that threads see one state or the other."""

    def __call__(self, key: K) -> V:
        """Return the remembered result for this very object, computing it the first time."""
        for known, value in self._values:
            if known is key:
                return value
        value = self._compute(key)
        self._values = ((key, value), *self._values)[: self._size]
        return value

    def values(self) -> tuple[V, ...]:
        """Return what is remembered, newest first."""
        return tuple(value for _, value in self._values)
