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
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tui_chat.errors import StoreDamaged
from tui_chat.store import schema
from tui_chat.store.errors import store_errors
from tui_chat.store.maintenance.access import refuse_in_use, require_database
from tui_chat.store.maintenance.backup import create_private, publish, require_free_target
from tui_chat.store.maintenance.page_reader import Pages, RawRow, Value
from tui_chat.store.maintenance.repair import count_missing_messages, rebuild_derived, repair
from tui_chat.store.maintenance.row_shapes import TableShape, shapes_of_version
from tui_chat.store.maintenance.upkeep import move_aside


@dataclass(frozen=True, slots=True)
class SalvageResult:
    """What was saved."""

    target: Path
    rows: Mapping[str, int]
    """How many rows there are now, by table."""
    partial: int
    """How many of them lost their end."""
    pages: int
    """How many pages the old file has."""
    unreadable: int
    """How many of them could not be read."""
    missing: int
    """Messages that sessions say they have and that were not found. Those of sessions whose own
    row is lost, too, nobody knows of."""
    mended: tuple[str, ...]
    """What had to be put right, a sentence each."""


def _no_progress(rows: int, pages: int) -> None:
    """Stand in for who does not want to know how far it is."""


def salvage(
    source: Path, target: Path, *, progress: Callable[[int, int], object] = _no_progress
) -> SalvageResult:
    """Read what is readable of `source` into `target`, which must not exist.

    `progress` is told how many rows were read, and of how many pages. Raises InputError where
    a file cannot be used, StoreBusy while another program has it open, StoreDamaged where
    nothing could be saved. Not for a program that has the file open itself.
    """
    require_database(source)
    refuse_in_use(source)
    require_free_target(target, force=False)
    with store_errors(source), source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            raise StoreDamaged(
                f"{source} is empty: there is nothing to save in it.",
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
                    connection.execute("PRAGMA synchronous = OFF")  # settled at the end
                    rows, missing, mended = self._fill(connection, version)
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
            tuple(mended),
        )

    def _version(self) -> int:
        """Return the version of the old file; where it does not tell, what fits its rows best."""
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
        # Of equals the oldest, so that migrations derive what they add from the rows.
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
        self._read_strays(connection)
        missing = count_missing_messages(connection)
        mended = repair(connection)
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
            raise AssertionError(f"the new file is not sound: {verdict}")
        return rows, missing, mended

    def _read_trees(self, connection: sqlite3.Connection) -> None:
        roots = self.pages.table_roots() if self.pages.has_header else {}
        # Where they stand tells whose rows these are, also where one byte of a status was hit.
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for table, root in roots.items():
            shape = self.shapes.get(table)
            for row in self.pages.table_rows(root):
                if shape is not None and not self._put(
                    connection, shape, shape.with_text_for_bytes(row)
                ):
                    self._place(connection, row)
        connection.execute("PRAGMA ignore_check_constraints = OFF")

    def _read_strays(self, connection: sqlite3.Connection) -> None:
        self.pages.mark_free_pages()
        for rows in self.pages.orphan_leaves():
            for row in rows:
                self._place(connection, row)
        for row, fitting in self.undecided:
            fitting.sort(key=lambda shape: _reference_doubt(connection, shape, row))
            any(self._put(connection, shape, row) for shape in fitting)

    def _place(self, connection: sqlite3.Connection, row: RawRow) -> None:
        """Put a row into the table it fits; one that fits several waits until all are read."""
        fitting = [shape for shape in self.shapes.values() if shape.match(row)]
        if len(fitting) == 1:
            self._put(connection, fitting[0], row)
        elif fitting:
            self.undecided.append((row, fitting))

    def _put(self, connection: sqlite3.Connection, shape: TableShape, row: RawRow) -> bool:
        """Put a row into a table; False if it is none of its rows."""
        values = shape.match(row)
        if values is None:
            return False
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {shape.table} VALUES ({marks})"
        try:
            connection.execute(sql, values)
        except sqlite3.IntegrityError as error:
            # A row that is there already is no other table's either.
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
    """Return 0 if all that a row of this shape refers to is there, 1 if it refers to nothing,
    2 if something is not there.
    """
    values: Iterable[tuple[Value, str, str]] = (
        (row.values[place], other, target)
        for place, other, target in shape.references
        if place < len(row.values)
    )
    found = [
        connection.execute(f"SELECT 1 FROM {other} WHERE {target} = ?", (value,)).fetchone()
        for value, other, target in values
        if value is not None
    ]
    if not found:
        return 1
    return 0 if all(found) else 2


@dataclass(frozen=True, slots=True)
class RescueResult:
    """A database that was damaged and can be used again."""

    saved: SalvageResult
    aside: Path
    """Where the damaged file is now."""

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
