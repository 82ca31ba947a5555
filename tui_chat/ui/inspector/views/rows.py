"""What a view shows: rows that are made when they are looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

from rich.cells import cell_len

from tui_chat.models.text import Origin
from tui_chat.ui.inspector.figures import cut

Piece: TypeAlias = tuple[str, str]
"""Text without line breaks, and the names of its styles, parted by blanks."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the screen."""

    pieces: tuple[Piece, ...]
    origin: Origin | None = None
    """Where what it shows came from."""
    does: str = ""
    """What Enter or a click asks for; empty where there is nothing to ask for."""
    says: str = ""
    """More of it in a sentence, for the line below."""

    @property
    def text(self) -> str:
        """The row without its colours."""
        return "".join(text for text, _ in self.pieces)


Part: TypeAlias = tuple[int, Callable[[int], Row]]
"""So many rows, and what makes each by its number in the part."""


class Rows(Sequence[Row]):
    """Rows in parts; making one costs nothing for the others."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._starts: list[int] = []
        self._make: list[Callable[[int], Row]] = []
        self._length = 0
        for count, make in parts:
            if count:
                self._starts.append(self._length)
                self._make.append(make)
                self._length += count

    def __len__(self) -> int:
        return self._length

    def parts(self) -> Iterator[tuple[range, Callable[[int], Row]]]:
        """Yield the numbers of each part's rows, and what makes them."""
        stops = (*self._starts, self._length)[1:]  # nothing, where there are no parts
        for start, stop, make in zip(self._starts, stops, self._make, strict=True):
            yield range(start, stop), make

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._length))]
        if not 0 <= index < self._length:
            raise IndexError(index)
        part = bisect_right(self._starts, index) - 1
        return self._make[part](index - self._starts[part])


def one(row: Row) -> Part:
    """Return a part of a row that is already made."""
    return 1, lambda _: row


def many(rows: Sequence[Row]) -> Part:
    """Return a part of rows that are already made."""
    return len(rows), rows.__getitem__


def line(*pieces: Piece, origin: Origin | None = None, does: str = "", says: str = "") -> Part:
    """Return a part of one row."""
    return one(Row(pieces, origin, does, says))


BLANK = line(("", ""))


def sides(width: int, left: Sequence[Piece], right: str, style: str = "muted") -> tuple[Piece, ...]:
    """Return pieces with a text at the right edge, where there is room for both."""
    room = width - cell_len(right) - 1
    fitted: list[Piece] = []
    for text, name in left:
        text = cut(text, room)
        fitted.append((text, name))
        room -= cell_len(text)
        if room <= 0:
            break
    return (*fitted, (" " * (max(room, 0) + 1), ""), (right, style))
