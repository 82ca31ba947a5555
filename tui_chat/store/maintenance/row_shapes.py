"""The shapes of our tables' rows, for assigning orphan rows to their tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from tui_chat.store import schema
from tui_chat.store.maintenance.page_reader import RawRow, Value

_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "REAL": (float, int),  # SQLite writes 2.0 as the shorter 2
    "TEXT": (str,),
    "BLOB": (bytes,),
}


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """A column of a table."""

    name: str
    types: tuple[type, ...]
    """What a value may be, besides NULL."""
    may_be_null: bool
    default: Value
    may_be_missing: bool
    """True if it was added later, so that older rows do not have it."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table."""

    table: str
    columns: tuple[ColumnShape, ...]
    rowid: int | None
    """The place of the column that is the rowid, None where no column is."""
    has_rowid: bool
    references: tuple[tuple[int, str, str], ...]
    """Column places, and the table and column that each refers to."""

    def with_text_for_bytes(self, row: RawRow) -> RawRow:
        """Return a row of this table with text where bytes stand: a bit tells the two apart."""
        pairs = zip_longest(row.values, self.columns[: len(row.values)])
        values = [
            value.decode(errors="replace")
            if isinstance(value, bytes) and column is not None and column.types == (str,)
            else value
            for value, column in pairs
        ]
        return replace(row, values=tuple(values))

    def match(self, row: RawRow) -> tuple[Value, ...] | None:
        """Return the values of all columns if the row may be of this table, else None."""
        if (row.rowid is not None) != self.has_rowid or len(row.values) > len(self.columns):
            return None
        taken: list[Value] = []
        for place, column in enumerate(self.columns):
            if place >= len(row.values):
                if not column.may_be_missing:
                    return None
                taken.append(column.default)
                continue
            value = row.values[place]
            if place == self.rowid:
                if value is not None:
                    return None
                value = row.rowid
            elif value is None:
                if not column.may_be_null:
                    return None
            elif not isinstance(value, column.types):
                return None
            taken.append(value)
        return tuple(taken)


def shapes_of_version(version: int) -> dict[str, TableShape]:
    """Return the tables of a version by name."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.migrate(connection, Path(":memory:"), schema.migrations()[:version])
        return {shape.table: shape for shape in _shapes(connection)}


def _shapes(connection: sqlite3.Connection) -> Iterator[TableShape]:
    tables = connection.execute(
        "SELECT name, wr FROM pragma_table_list "
        "WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' "
        "AND name NOT LIKE 'unindexed_%'"  # what waits for the search index is told anew
    ).fetchall()
    for table, without_rowid in tables:
        columns: list[ColumnShape] = []
        rowid: int | None = None
        for place, name, kind, strict, default, key in connection.execute(
            "SELECT * FROM pragma_table_info(?)", (table,)
        ):
            if key == 1 and kind == "INTEGER" and not without_rowid:
                rowid = place
            may_be_missing = place > 0 and not key and (default is not None or not strict)
            value: Value = None
            if default is not None:
                value = connection.execute(f"SELECT {default}").fetchone()[0]
            columns.append(ColumnShape(name, _TYPES[kind], not strict, value, may_be_missing))
        names = [column.name for column in columns]
        references = tuple(
            (names.index(column), other, target)
            for other, column, target in connection.execute(
                'SELECT "table", "from", "to" FROM pragma_foreign_key_list(?)', (table,)
            )
        )
        yield TableShape(table, tuple(columns), rowid, not without_rowid, references)
