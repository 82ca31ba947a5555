"""The common part of the commands about presets, roles, profiles and lorebooks.

Each of these is a `LibraryKind`: it says where its items are, what a list and a description have,
and the commands `list`, `show` and `export` are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.names import find
from tui_chat.cli.output import Styled, write_line, write_list, write_request
from tui_chat.errors import InputError
from tui_chat.files import write_bytes
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line, sanitize


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_T = TypeVar("_T", bound=_Named)


@dataclass(frozen=True, slots=True)
class Item(Generic[_T]):
    """A preset, role, profile or lorebook, which may have errors."""

    name: str
    place: str
    """Its file, or what else has it."""
    read: Callable[[], _T]
    """Reads it. Raises InputError."""
    text: Callable[[], str]
    """Returns its file, or JSON in the form of one. Raises InputError."""
    is_bundled: bool = False
    """True for one that comes with the program."""


@dataclass(frozen=True, slots=True)
class Listed(Generic[_T]):
    """A line of a list."""

    item: Item[_T]
    value: _T | None
    """None if it cannot be read."""
    error: str = ""


class LibraryKind(ABC, Generic[_T]):
    """Presets, roles, profiles or lorebooks."""

    noun: str
    head: tuple[str, ...]
    """The head of the table that `list` prints."""
    narrowed: tuple[tuple[int, int], ...]
    """The columns that give way on a narrow terminal, with their least widths."""

    @abstractmethod
    def items(self, common: CommonOptions) -> Sequence[Item[_T]]:
        """Return all items, in the order of the list. Raises InputError and StoreError."""

    @abstractmethod
    def row(self, listed: Listed[_T]) -> tuple[str, ...]:
        """Return the cells of an item in the table."""

    @abstractmethod
    def json(self, listed: Listed[_T]) -> dict[str, Any]:
        """Return an item of the list as JSON."""

    @abstractmethod
    def describe(self, value: _T) -> None:
        """Print everything below the heading with the name."""

    def find(self, common: CommonOptions, name: str) -> Item[_T]:
        """Return the item with a name. Raises InputError, which suggests the nearest."""
        items = {item.name: item for item in self.items(common)}
        return items[find(self.noun, name, tuple(items))]

    def list(self, common: CommonOptions, *, as_json: bool) -> None:
        """Print all items. A file with errors is listed with its fault."""
        folder = common.config_folder / f"{self.noun}s"
        write_list(
            [_listed(item) for item in self.items(common)],
            as_json,
            self.json,
            self.head,
            self.row,
            *self.narrowed,
            nothing=f"There are no {self.noun}s. They are JSON files in {folder}.",
        )

    def show(self, common: CommonOptions, name: str, *, as_json: bool) -> None:
        """Print an item, or its file. Raises InputError."""
        item = self.find(common, name)
        if as_json:
            write_request(item.text().rstrip("\n"))
            return
        value = item.read()
        write_line(Styled(one_line(value.name), bold=True), f"  {one_line(item.place)}")
        self.describe(value)


def _listed(item: Item[_T]) -> Listed[_T]:
    try:
        return Listed(item, item.read())
    except InputError as error:
        return Listed(item, None, str(error).removeprefix(item.place).lstrip(": "))


def excerpt(text: str) -> str:
    """Return the beginning of a text for a list."""
    return one_line(text, 60) or "—"


def export(content: bytes, output: Path | None, notes: Iterable[str] = ()) -> None:
    """Write a file, or print it without an `output`; notes go to stderr. Raises InputError."""
    for note in notes:
        write_line(one_line(note), err=True)
    if output is None:
        write_request(sanitize(content.decode(), "json").rstrip("\n"))
    else:
        write_bytes(content, output, "shared", overwrite=False)
