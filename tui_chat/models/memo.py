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
from functools import partial, update_wrapper
from typing import Any, Generic, TypeVar, TypeVarTuple
from weakref import WeakSet, ref

K = TypeVar("K")
Details = TypeVarTuple("Details")
V = TypeVar("V")


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
        self._entries: dict[int, tuple[K | ref[K], tuple[Any, ...], V]] = {}
        """A key or a weak reference to it, the details, and the result, by the key's identity."""
        if recent:
            _recent_memos.add(self)

    def __call__(self, key: K, *details: *Details) -> V:
        """Return the remembered result, computing it the first time."""
        identity = id(key)
        entries = self._entries
        known = entries.get(identity)
        if known is not None and known[1] == details:
            return known[2]
        value = self._compute(key, *details)
        holder = key if self._recent else ref(key, partial(_forget, entries, identity))
        if self._recent:
            entries.pop(identity, None)  # the newest result goes last
        entries[identity] = holder, details, value
        if 0 < self._recent < len(entries):
            entries.pop(next(iter(tuple(entries))), None)
        return value

    def __len__(self) -> int:
        """The number of keys with a result."""
        return len(self._entries)

    def results(self) -> tuple[V, ...]:
        """Return all remembered results, the newest first."""
        return tuple(value for *_, value in reversed(list(self._entries.values())))

    def clear(self) -> None:
        """Forget all results."""
        self._entries.clear()


def _forget(entries: dict[int, Any], identity: int, _: object) -> None:
    entries.pop(identity, None)


def recent_memo(
    size: int = 4,
) -> Callable[[Callable[[K, *Details], V]], Memo[K, *Details, V]]:
    """Return a decorator that remembers results for the last `size` keys, and keeps those alive."""
    return lambda compute: Memo(compute, recent=size)


_recent_memos: WeakSet[Memo[Any, *tuple[Any, ...], Any]] = WeakSet()


def forget_recent() -> None:
    """Let every memo of recent keys go of them: the conversation that they belong to was left, and
    would be kept alive. A long one weighs as much as five times its text.
    """
    for memo in tuple(_recent_memos):
        memo.clear()
