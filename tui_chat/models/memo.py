"""Results remembered by the identity of a frozen value.

1. Keys are compared by identity: values here are immutable, so one object always gives one
   result, while hashing or comparing a long text would cost as much as the work saved. A keystroke
   replaces the draft and nothing else, so everything derived from the other turns is found here.
2. A result is remembered for as long as its key lives. A tuple cannot be weakly referred to, and a
   result that refers to its key would keep it alive for ever; `recent_memo` is for those. It keeps
   the last few keys alive, until `forget_recent`.
3. Of each key one result is remembered: that for the latest details.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, TypeVar, TypeVarTuple
from weakref import WeakSet, ref

K = TypeVar("K")
Details = TypeVarTuple("Details")
V = TypeVar("V")


class _WeakEntry(ref[K]):
    """A weak reference to a key, with the key's identity and what was computed from it."""

    __slots__ = ("details", "identity", "value")

    identity: int
    details: tuple[Any, ...]
    value: Any


class _StrongEntry(Generic[K]):
    """A key that is kept alive, with what was computed from it."""

    __slots__ = ("details", "key", "value")

    def __init__(self, key: K) -> None:
        self.key = key
        self.details: tuple[Any, ...] = ()
        self.value: Any = None


class Memo(Generic[K, *Details, V]):
    """`memo(key, *details)` is `compute(key, *details)`, computed once per object `key` and equal
    details. Usable as a decorator.

    `compute` must be pure. Unless `recent` is given, keys must be weakly referable
    (`weakref_slot=True` on slotted dataclasses), and a result must not refer to its key. Two
    threads may compute the same result once each, and both get a right one.
    """

    def __init__(self, compute: Callable[[K, *Details], V], recent: int = 0) -> None:
        """`recent`: how many keys to keep alive; 0 to refer to all keys weakly."""
        update_wrapper(self, compute)
        self._compute = compute
        self._recent = recent
        self._entries: dict[int, _WeakEntry[K] | _StrongEntry[K]] = {}
        entries = self._entries  # what the keys call must not keep the memo itself

        def forget(entry: _WeakEntry[K]) -> None:
            entries.pop(entry.identity, None)

        self._forget = forget
        if recent:
            _recent_memos.add(self)

    def __call__(self, key: K, *details: *Details) -> V:
        """Return the remembered result, computing it the first time."""
        identity = id(key)
        entry = self._entries.get(identity)
        if entry is not None and entry.details == details:
            return entry.value
        value = self._compute(key, *details)
        if self._recent:
            entry = _StrongEntry(key)
            self._entries.pop(identity, None)  # the newest result goes last
        else:
            entry = _WeakEntry(key, self._forget)
            entry.identity = identity
        entry.details = details
        entry.value = value
        self._entries[identity] = entry
        if 0 < self._recent < len(self._entries):
            self._entries.pop(next(iter(tuple(self._entries))), None)
        return value

    def __len__(self) -> int:
        """The number of keys with a result."""
        return len(self._entries)

    def results(self) -> tuple[V, ...]:
        """Return all remembered results, the newest first."""
        return tuple(entry.value for entry in reversed(list(self._entries.values())))

    def clear(self) -> None:
        """Forget all results."""
        self._entries.clear()


def recent_memo(
    size: int = 4,
) -> Callable[[Callable[[K, *Details], V]], Memo[K, *Details, V]]:
    """Return a decorator that remembers results for the last `size` keys, and keeps those alive."""

    def decorate(compute: Callable[[K, *Details], V]) -> Memo[K, *Details, V]:
        return Memo(compute, recent=size)

    return decorate


_recent_memos: WeakSet[Memo[Any, *tuple[Any, ...], Any]] = WeakSet()


def forget_recent() -> None:
    """Let every memo of recent keys go of them: the conversation that they belong to was left, and
    would be kept alive. A long one weighs as much as five times its text.
    """
    for memo in tuple(_recent_memos):
        memo.clear()
