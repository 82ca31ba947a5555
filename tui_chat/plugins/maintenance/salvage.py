"""Salvage: copying the rows that SQLite can read of a damaged database into a new one.

1. The old file is never changed: a copy is read. What SQLite itself cannot open, such as a file
   whose first page is damaged, is for `sqlite3 FILE .recover`, or a backup.
2. Rows are read in the order of their ids; where a page is damaged, those behind it are looked for.
   They are inserted into a new file of the version that the old one has.
3. References that are broken are repaired (see `repair`), and only then the new file is migrated to
   the present version, so that everything derived is computed from the rows that are there.
4. The new file gets its name when it is complete, checked and on the disk.
"""
# ruff: noqa: S608 - only names of our own tables are put into SQL

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from tui_chat.cli.output import counted
from tui_chat.errors import StoreDamaged
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.maintenance.faults import rebuild_derived
from tui_chat.plugins.maintenance.repair import repair, unhide_ancestors
from tui_chat.plugins.maintenance.upkeep import move_aside, refuse_in_use
from tui_chat.store import schema
from tui_chat.store.access import require_database
from tui_chat.store.backup import create_private, publish, require_free_target
from tui_chat.store.errors import store_errors

Row = tuple[object, ...]
_TABLES = """
    SELECT name, wr FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
    AND name NOT LIKE 'unindexed_%'
"""
"""Our tables, save the queues of the search index, which is rebuilt."""
_FARTHEST = 2**40
"""How far behind a damaged page rows are looked for, by their ids."""
_MANY_TRIES = 200
"""As many ids are tried one by one: more rows than a page has."""


@dataclass(frozen=True, slots=True)
class SalvageResult:
    """The counts of what was saved."""

    target: Path
    rows: Mapping[str, int]
    """The number of saved rows by table."""
    gaps: int
    """How often a table could not be read further."""
    repairs: tuple[str, ...]
    """A sentence for each kind of repair."""


def salvage(source: Path, target: Path) -> SalvageResult:
    """Save the readable rows of `source` to `target`, which must not exist.

    Raises InputError if a file cannot be used, StoreBusy while another program has it open,
    StoreDamaged if nothing could be saved. Must not be called by a program that has the file open
    itself.
    """
    require_database(source)
    refuse_in_use(source)
    require_free_target(target, force=False)
    schema.refuse_empty(source)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    # A copy is read: SQLite would apply the log to the file itself, or refuse it.
    copy = target.with_name(f"{target.name}.{os.getpid()}.reading")
    try:
        with store_errors(source), closing(_readable_copy(source, copy)) as old:
            version, latest = schema.version_of(old), len(schema.migrations())
            if latest < version < schema.NO_VERSION:
                raise schema.newer_error(source, version)
            version = version if 0 < version <= latest else latest
            with store_errors(target):
                create_private(partial)
                with closing(schema.connect(partial, 1.0)) as new:
                    new.execute("PRAGMA synchronous = OFF")  # synced at the end
                    result = _Salvage(old, new, target).run(version)
                publish(partial, target, force=False)
        return result
    finally:
        for path in (partial, copy, *(schema.companion(copy, end) for end in ("-wal", "-shm"))):
            path.unlink(missing_ok=True)


def _lenient(data: bytes) -> str:
    return data.decode(errors="replace")


def _readable_copy(source: Path, copy: Path) -> sqlite3.Connection:
    """Copy a file with its log, and open the copy."""
    create_private(copy)
    copy.write_bytes(source.read_bytes())
    if (log := schema.companion(source, "-wal")).is_file():
        schema.companion(copy, "-wal").write_bytes(log.read_bytes())
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.text_factory = _lenient
    connection.execute("PRAGMA writable_schema = ON")  # opens a file with a damaged schema, too
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class _Salvage:
    """The copying of one file."""

    def __init__(self, old: sqlite3.Connection, new: sqlite3.Connection, target: Path) -> None:
        self._old, self._new, self._target = old, new, target
        self._gaps = 0

    def run(self, version: int) -> SalvageResult:
        """Copy all tables. Raises StoreDamaged if there is nothing to copy."""
        new = self._new
        schema.migrate(new, Path(":new:"), schema.migrations()[:version])
        new.execute("PRAGMA foreign_keys = OFF")
        new.execute("BEGIN")
        new.execute("PRAGMA ignore_check_constraints = ON")
        triggers = new.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = triggers.fetchall()
        for name, _ in triggers:
            new.execute(f"DROP TRIGGER {name}")
        tables = new.execute(_TABLES).fetchall()
        for table, without_rowid in tables:
            self._copy(table, has_rowid=not without_rowid)
        new.execute("PRAGMA ignore_check_constraints = OFF")
        repairs = repair(new)
        for _, sql in triggers:
            new.execute(sql)
        rows = {
            table: int(new.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for table, _ in tables
        }
        if not any(rows.values()):
            raise StoreDamaged(
                f"Nothing in {self._target.name} can be read by SQLite itself.",
                advice="Restore a backup with `tui-chat db restore FILE`, or try "
                "`sqlite3 FILE .recover`.",
            )
        new.execute("COMMIT")
        schema.migrate(new, Path(":new:"))
        new.execute("BEGIN")
        unhide_ancestors(new)
        rebuild_derived(new)
        new.execute("COMMIT")
        return SalvageResult(self._target, rows, self._gaps, tuple(repairs))

    def _copy(self, table: str, *, has_rowid: bool) -> None:
        """Copy the rows of a table that can be read."""
        names = self._new.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        columns = ", ".join(name for (name,) in names)
        marks = ", ".join("?" * len(names))
        insert = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})"
        rows = self._by_id(table, columns) if has_rowid else self._plain(table, columns)
        for row in rows:
            try:
                self._new.execute(insert, row)
            except sqlite3.Error:  # a flipped bit makes a text bytes
                with suppress(sqlite3.Error):
                    self._new.execute(insert, tuple(map(_text_of, row)))

    def _plain(self, table: str, columns: str) -> Iterator[Row]:
        """Yield the rows of a table without ids, up to the first that cannot be read."""
        yield from self._readable(f"SELECT {columns} FROM {table}")

    def _by_id(self, table: str, columns: str) -> Iterator[Row]:
        """Yield the rows of a table in the order of their ids, also behind damaged pages."""
        at, step, tries = -1, 1, 0
        sql = f"SELECT rowid, {columns} FROM {table} WHERE rowid > ? ORDER BY rowid"
        while step < _FARTHEST:
            before, gaps = at, self._gaps
            for row in self._readable(sql, at):
                at = int(str(row[0]))
                yield row[1:]
            if self._gaps == gaps:
                return
            # Behind the row that could not be read; farther where many tries found none.
            tries = 1 if at > before else tries + 1
            step = 1 if tries <= _MANY_TRIES else 2 * step
            at += step
            self._gaps = gaps + (tries == 1)

    def _readable(self, sql: str, *values: object) -> Iterator[Row]:
        """Yield the rows of a query, up to the first that cannot be read: a gap."""
        try:
            yield from self._old.execute(sql, values)
        except (sqlite3.Error, UnicodeDecodeError):
            self._gaps += 1


def _text_of(value: object) -> object:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def rescue(path: Path, *, now: float) -> str:
    """Salvage the database at `path` into a new file and put that in its place; the damaged file
    is kept beside it. Return a sentence.

    Raises StoreBusy while another program has the database open, StoreDamaged if nothing can be
    read; then nothing is changed.
    """
    new = path.with_name(f"{path.name}.salvaged-{int(now)}")
    rows = salvage(path, new).rows
    aside = move_aside(path, now)
    new.rename(path)
    messages = counted(rows["messages"], "message")
    sessions = counted(rows["sessions"], "session")
    return f"Saved {messages} in {sessions}.\nThe damaged file is kept: {aside}"
