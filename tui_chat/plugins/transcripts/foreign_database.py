"""The SQLite databases of other programs, opened for reading only.

1. A database is opened with `mode=ro`: nothing is written, migrated or repaired, and a lock is held
   only while a query runs. One with a write-ahead log that no program has open is opened as
   `immutable` as well, since SQLite would create files beside it otherwise.
2. A database may come from anyone: only its tables are read, never its views; its functions and
   triggers do not run; values are limited, and so is the work of all queries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tui_chat.errors import InputError
from tui_chat.interop.formats import FileFormat, FoundConversation, ImportSource
from tui_chat.models.json_text import JsonObject
from tui_chat.plugins.transcripts.json_text import BadLine, parse_line

MAGIC = b"SQLite format 3\0"
_LARGEST_VALUE = 64 * 2**20
"""Maximum bytes of a value."""
_STEPS = 1_000_000
"""Instructions of SQLite's machine between two looks at the limit."""
_MOST_FAULTS = 100
_MOST_STEPS = 20_000
"""Maximum number of looks: some minutes."""


class ForeignDatabase:
    """An open database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.faults: list[FoundConversation] = []
        """The parts that could not be read so far; the rows before a damaged one were."""
        self._left = _MOST_STEPS
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        connection.set_progress_handler(self._count, _STEPS)
        for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
        self.columns: dict[str, frozenset[str]] = {
            name: frozenset(
                row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,))
            )
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 LIMIT 1000"
            ).fetchall()
        }
        """The columns of each table."""

    @property
    def tables(self) -> frozenset[str]:
        """The names of the tables."""
        return frozenset(self.columns)

    def rows(
        self, table: str, *columns: str, where: str = "", values: tuple[object, ...] = (),
        order: str = "rowid",
    ) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        """Yield these columns of a table's rows; None for a column or table that is absent.

        `where` and `order` are SQL and must name columns that are there. What cannot be read is
        added to `faults`.
        """
        own_columns = self.columns.get(table, frozenset[str]())
        if not own_columns:
            return
        listed = ", ".join(f'"{name}"' if name in own_columns else "NULL" for name in columns)
        sql = f'SELECT {listed} FROM "{table}"'  # noqa: S608  names are ours
        sql += f" WHERE {where}" if where else ""
        sql += f" ORDER BY {order}" if order else ""
        try:
            yield from self._connection.execute(sql, values)
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            if len(self.faults) < _MOST_FAULTS:
                fault = f"cannot be read further: {_reason(error)}"
                self.faults.append(FoundConversation(f"table {table}", fault=fault))

    def _count(self) -> int:
        self._left -= 1
        return int(self._left < 0)


def _reason(error: Exception) -> str:
    return "it takes too long" if "interrupt" in str(error) else str(error)


def json_column(value: object) -> JsonObject:
    """Return the object in a column of JSON. Raises BadLine."""
    line = parse_line(value.encode("utf-8", "replace")) if isinstance(value, str) else None
    if line is None:
        raise BadLine("is not JSON: it is empty")
    return line


@contextmanager
def open_database(path: Path) -> Generator[ForeignDatabase]:
    """Open a database for reading only. Raises InputError."""
    # An import goes on on whichever thread is free, one at a time.
    opened = sqlite3.connect(_uri(path), uri=True, timeout=2.0, check_same_thread=False)
    with closing(opened) as connection:
        try:
            database = ForeignDatabase(connection)
        except sqlite3.Error as error:
            raise InputError(f"the database cannot be read: {_reason(error)}") from error
        yield database


def database_format(
    detect: Callable[[frozenset[str]], bool],
    read: Callable[[ForeignDatabase, ImportSource], Iterator[FoundConversation]],
) -> FileFormat:
    """Return the format of a database that is detected by the names of its tables."""

    def detect_file(path: Path) -> bool:
        with open_database(path) as database:
            return detect(database.tables)

    def read_file(path: Path, source: ImportSource) -> Iterator[FoundConversation]:
        with open_database(path) as database:
            yield from read(database, source)
            yield from database.faults

    return FileFormat(MAGIC, detect_file, read_file)


def _uri(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(20)
    uses_log = (
        len(head) == 20 and 2 in head[18:20]
    )  # https://sqlite.org/fileformat.html#file_format_version_numbers
    log = path.with_name(path.name + "-wal")
    closed = uses_log and not (log.exists() and log.stat().st_size)
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if closed else ''}"
