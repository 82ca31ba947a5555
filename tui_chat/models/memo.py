"""Remembering what was computed from a frozen value, for as long as the value lives.

Why by identity: values here are immutable, so one object always gives one result, while
hashing or comparing a long text would cost as much as the work saved. A keystroke replaces
the draft and nothing else, so everything derived from the other turns is found here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet, ref

K = TypeVar("K")
V = TypeVar("V")


class _Key(ref[K]):
    """A weak reference that knows where its object was, and what was computed from it."""

    __slots__ = ("identity", "value")

    identity: int
    value: Any


class Memo(Generic[K, V]):
    """`memo(key)` is `compute(key)`, computed once per live object `key`.

    `compute` must be pure. Keys must be weakly referable (`weakref_slot=True` on slotted
    dataclasses), and a value must not refer to its key, or neither is ever let go. Not thread-safe
    beyond the GIL: two threads may compute the same value once
    each, and both get a right one.
    """

    __slots__ = ("_compute", "_forget", "_values")

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute
        self._values: dict[int, _Key[K]] = {}
        values = self._values  # what the keys call must not keep the memo itself

        def forget(key: _Key[K]) -> None:
            values.pop(key.identity, None)

        self._forget = forget

    def __call__(self, key: K) -> V:
        """Return the remembered result for this very object, computing it the first time."""
        identity = id(key)
        found = self._values.get(identity)
        if found is not None:
            return found.value
        reference = _Key(key, self._forget)
        reference.identity = identity
        value = reference.value = self._compute(key)
        self._values[identity] = reference
        return value

    def __len__(self) -> int:
        return len(self._values)


class Recent(Generic[K, V]):
    """`recent(key)` is `compute(key)`, remembered for the last few objects `key`.

    For keys that cannot be weakly referred to, such as tuples: they are kept alive, so that an
    identity always means the same object, and only the last `size` of them are.
    """

    __slots__ = ("__weakref__", "_compute", "_size", "_values")

    def __init__(self, compute: Callable[[K], V], size: int = 4) -> None:
        self._compute = compute
        self._size = size
        self._values: tuple[tuple[K, V], ...] = ()
        """Newest first. Replaced as a whole, so that threads see one state or the other."""
        _recents.add(self)

    def __call__(self, key: K) -> V:
        """Return the remembered result for this very object, computing it the first time."""
        for known, value in self._values:
            if known is key:
                return value
        value = self._compute(key)
        self._values = ((key, value), *self._values)[: self._size]
        return value

    def forget(self) -> None:
        """Remember nothing."""
        self._values = ()

    def values(self) -> tuple[V, ...]:
        """Return what is remembered, newest first."""
        return tuple(value for _, value in self._values)


_recents: WeakSet[Recent[Any, Any]] = WeakSet()


def forget_recent() -> None:
    """Let every `Recent` go of its keys: a conversation was left, and would be kept alive."""
    for recent in tuple(_recents):
        recent.forget()
