"""Which messages of a body have something of a source in them, known without looking at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tui_chat.models.json_tree import Arr, Obj, Str, Tree
from tui_chat.models.same import same_objects
from tui_chat.models.text import Origin, OriginKind

Key: TypeAlias = tuple[OriginKind, str]
"""A source: its kind and its id."""


class Sources:
    """Looks at one list of nodes after the other; costs the nodes that were not there before."""

    def __init__(self) -> None:
        self._items: tuple[Tree, ...] = ()
        self._numbers: dict[Key, list[int]] = {}
        """For each source the numbers of the nodes that have something of it."""

    def numbers(self, items: tuple[Tree, ...], key: Key) -> Sequence[int]:
        """Return the numbers of the nodes in which something came from a source."""
        self._take(items)
        return sorted(self._numbers.get(key, ()))

    def _take(self, items: tuple[Tree, ...]) -> None:
        was = self._items
        first = same_objects(was, items)
        last = len(items)
        if len(was) == last:
            last -= same_objects(was[first:][::-1], items[first:][::-1])
        elif not first:
            was = ()
            self._numbers.clear()
        for number in range(first, last if len(was) == len(items) else len(was)):
            for key in _keys(was[number]):
                numbers = self._numbers[key]
                numbers.remove(number)
                if not numbers:
                    del self._numbers[key]
        for number in range(first, last):
            for key in _keys(items[number]):
                self._numbers.setdefault(key, []).append(number)
        self._items = items


def _keys(node: Tree) -> set[Key]:
    return {(origin.kind, origin.id) for origin in _origins(node)}


def _origins(node: Tree) -> Iterator[Origin]:
    """Yield where strings and literals came from, and what those stood in."""
    match node:
        case Obj():
            for _, child in node.items:
                yield from _origins(child)
        case Arr():
            for child in node.items:
                yield from _origins(child)
        case Str():
            for span in node.text.spans:
                yield from _around(span.origin)
        case _:
            yield from _around(node.origin)


def _around(origin: Origin | None) -> Iterator[Origin]:
    while origin is not None:
        if origin.kind is not OriginKind.GLUE:
            yield origin
        origin = origin.within
