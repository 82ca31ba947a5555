"""Salvage: copying what can be read of a damaged database into a new one.

1. The old file is read page by page (see `page_reader`) and never written to.
2. Rows are inserted into a new file of the version that the old one had, those of the tables'
   trees first, then those of orphan leaves; duplicates count once.
3. References that are broken are repaired (see `repair`), and only then the new file is migrated
   to the present version, so that everything derived is computed from the rows that are there.
4. The new file gets its name when it is complete, checked and on the disk.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import mmap
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import field, replace
from itertools import zip_longest
from pathlib import Path

from tui_chat.errors import StoreDamaged
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.salvage.page_reader import Pages, RawRow, Value
from tui_chat.plugins.salvage.repair import count_missing_messages, repair
from tui_chat.store import schema
from tui_chat.store.errors import store_errors
from tui_chat.store.maintenance.access import refuse_in_use, require_database
from tui_chat.store.maintenance.backup import create_private, publish, require_free_target
from tui_chat.store.maintenance.faults import rebuild_derived
from tui_chat.store.maintenance.upkeep import move_aside

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
    """The types that a value may have, besides NULL."""
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
    """The index of the column that is the rowid, None if no column is."""
    has_rowid: bool
    references: tuple[tuple[int, str, str], ...]
    """Column indexes, and the table and column that each refers to."""

    def with_text_for_bytes(self, row: RawRow) -> RawRow:
        """Return a row with bytes in text columns as text: one bit distinguishes the two."""
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
        "AND name NOT LIKE 'unindexed_%'"  # the queues of the search index are rebuilt
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


@dataclass(frozen=True, slots=True)
class SalvageResult:
    """The counts of what was saved."""

    target: Path
    rows: Mapping[str, int]
    """The number of saved rows by table."""
    partial: int
    """The number of rows that are cut off."""
    pages: int
    """The number of pages of the old file."""
    unreadable: int
    """The number of unreadable pages."""
    missing: int
    """The number of messages that are missing according to the counts of saved sessions. Those of
    lost sessions are unknown."""
    repairs: tuple[str, ...]
    """A sentence for each kind of repair."""


def _no_progress(rows: int, pages: int) -> None:
    """Report no progress."""


def salvage(
    source: Path, target: Path, *, progress: Callable[[int, int], object] = _no_progress
) -> SalvageResult:
    """Save the readable rows of `source` to `target`, which must not exist.

    `progress` is called with the number of rows read and of all pages. Raises InputError if a file
    cannot be used, StoreBusy while another program has it open, StoreDamaged if nothing could be
    saved. Must not be called by a program that has the file open itself.
    """
    require_database(source)
    refuse_in_use(source)
    require_free_target(target, force=False)
    with store_errors(source), source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise StoreDamaged(
                f"{source} is empty; there is nothing to save.",
                advice="Restore a backup: `tui-chat db restore FILE`.",
            )
        log = source.with_name(f"{source.name}-wal")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            pages = Pages(data, log.read_bytes() if log.is_file() else b"")
            return _Salvager(pages, source).into(target, progress)


@dataclass
class _Salvager:
    pages: Pages
    source: Path
    partial: int = 0
    read: int = 0
    undecided: list[tuple[RawRow, list[TableShape]]] = field(
        default_factory=list[tuple[RawRow, list[TableShape]]]
    )

    def into(self, target: Path, progress: Callable[[int, int], object]) -> SalvageResult:
        self.progress = progress
        version = self._version()
        self.shapes = shapes_of_version(version)
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        try:
            with store_errors(target):
                create_private(partial)
                with closing(schema.connect(partial, 1.0)) as connection:
                    connection.execute("PRAGMA synchronous = OFF")  # synced at the end
                    rows, missing, repairs = self._fill(connection, version)
                publish(partial, target, force=False)
        finally:
            partial.unlink(missing_ok=True)
        return SalvageResult(
            target,
            rows,
            self.partial,
            self.pages.count,
            len(self.pages.unreadable),
            missing,
            tuple(repairs),
        )

    def _version(self) -> int:
        """Return the version of the old file; if unknown, the one that fits its rows best."""
        latest = len(schema.migrations())
        version = self.pages.version
        if version is not None and 0 < version <= latest:
            return version
        if version is not None and latest < version < schema.NO_VERSION:
            raise schema.newer_error(self.source, version)
        fitting = Counter[int]()
        every = [shapes_of_version(number) for number in range(1, latest + 1)]
        for rows in self.pages.orphan_leaves():
            for row in rows[:5]:
                for number, shapes in enumerate(every, 1):
                    if any(shape.match(row) for shape in shapes.values()):
                        fitting[number] += 1
        # The oldest of equally good ones: migrations compute what they add from the rows.
        return max(range(1, latest + 1), key=lambda number: (fitting[number], -number))

    def _fill(
        self, connection: sqlite3.Connection, version: int
    ) -> tuple[dict[str, int], int, list[str]]:
        path = Path(":new:")
        schema.migrate(connection, path, schema.migrations()[:version])
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        self._read_trees(connection)
        self._read_orphans(connection)
        missing = count_missing_messages(connection)
        repairs = repair(connection)
        for _, sql in triggers:
            connection.execute(sql)
        rows = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in self.shapes
        }
        if not sum(rows.values()):
            raise StoreDamaged(
                f"Nothing in {self.source} can be read.",
                advice="Restore a backup: `tui-chat db restore FILE`.",
            )
        connection.execute("COMMIT")
        schema.migrate(connection, path)
        rebuild_derived(connection)
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise AssertionError(f"the new file is damaged: {verdict}")
        return rows, missing, repairs

    def _read_trees(self, connection: sqlite3.Connection) -> None:
        roots = self.pages.table_roots() if self.pages.has_header else {}
        # Their page says which table these rows belong to, even with a corrupted status.
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for table, root in roots.items():
            shape = self.shapes.get(table)
            for row in self.pages.table_rows(root):
                if shape is not None and not self._put(
                    connection, shape, shape.with_text_for_bytes(row)
                ):
                    self._place(connection, row)
        connection.execute("PRAGMA ignore_check_constraints = OFF")

    def _read_orphans(self, connection: sqlite3.Connection) -> None:
        self.pages.mark_free_pages()
        for rows in self.pages.orphan_leaves():
            for row in rows:
                self._place(connection, row)
        for row, fitting in self.undecided:
            fitting.sort(key=lambda shape: _reference_doubt(connection, shape, row))
            any(self._put(connection, shape, row) for shape in fitting)

    def _place(self, connection: sqlite3.Connection, row: RawRow) -> None:
        """Insert a row into the table that it fits; one that fits several waits for the others."""
        fitting = [shape for shape in self.shapes.values() if shape.match(row)]
        if len(fitting) == 1:
            self._put(connection, fitting[0], row)
        elif fitting:
            self.undecided.append((row, fitting))

    def _put(self, connection: sqlite3.Connection, shape: TableShape, row: RawRow) -> bool:
        """Insert a row into a table; return False if it does not belong there."""
        values = shape.match(row)
        if values is None:
            return False
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {shape.table} VALUES ({marks})"
        try:
            connection.execute(sql, values)
        except sqlite3.IntegrityError as error:
            # A duplicate does not belong to another table either.
            return error.sqlite_errorcode in _DUPLICATE
        self.partial += not row.whole
        self.read += 1
        if self.read % 1000 == 0:
            self.progress(self.read, self.pages.count)
        return True


_DUPLICATE = (
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
)


def _reference_doubt(connection: sqlite3.Connection, shape: TableShape, row: RawRow) -> int:
    """Return 0 if all references of a row of this shape exist, 1 without any, 2 if one is gone."""
    values: Iterable[tuple[Value, str, str]] = (
        (row.values[place], other, target)
        for place, other, target in shape.references
        if place < len(row.values)
    )
    tables = [
        connection.execute(f"SELECT 1 FROM {other} WHERE {target} = ?", (value,)).fetchone()
        for value, other, target in values
        if value is not None
    ]
    if not tables:
        return 1
    return 0 if all(tables) else 2


@dataclass(frozen=True, slots=True)
class RescueResult:
    """The result of salvaging a database in place."""

    saved: SalvageResult
    aside: Path
    """The new path of the damaged file."""

    def __str__(self) -> str:
        saved = self.saved
        messages = _count(saved.rows["messages"], "message")
        return (
            f"Saved {messages} in {_count(saved.rows['sessions'], 'session')}; "
            f"{saved.unreadable:,} of {saved.pages:,} pages could not be read.\n"
            f"The damaged file is kept: {self.aside}"
        )


def rescue(path: Path, *, now: float) -> RescueResult:
    """Salvage the database at `path` into a new file and put that in its place; the damaged file
    is kept beside it.

    Raises StoreBusy while another program has the database open, StoreDamaged if nothing can be
    read; then nothing is changed.
    """
    new = path.with_name(f"{path.name}.salvaged-{int(now)}")
    saved = salvage(path, new)
    aside = move_aside(path, now)
    new.rename(path)
    return RescueResult(saved, aside)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
