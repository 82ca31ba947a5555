"""One connection, one writer.

1. Work is an async function on a `Transaction`. It runs alone: from its BEGIN to its COMMIT no
   other statement reaches the connection, so half a change is never visible.
2. All work is a task that the database owns, and callers await it through a shield. aiosqlite runs
   statements in a thread, where cancelling the caller stops nothing: a cancelled BEGIN would still
   run, and break the connection for later callers. So a cancelled caller is released, and its work
   continues to the end.
3. Work runs in the order of the calls.
4. Nothing is written to a file that was removed or replaced meanwhile.
5. `close` awaits pending work and refuses new work.

Durability: in WAL mode with `synchronous = FULL` every commit is synced, so a committed
message survives a loss of power (`NORMAL` would sync at checkpoints only and could lose the
last seconds). Replies are flushed a few times a second, so a sync each is affordable.
`fullfsync` makes macOS really sync, and has no effect elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import wraps
from itertools import chain, islice
from pathlib import Path
from traceback import clear_frames
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)

from tui_chat.errors import StoreError
from tui_chat.models.text import clean
from tui_chat.store.errors import store_errors

if TYPE_CHECKING:
    import aiosqlite

_T = TypeVar("_T")
_P = ParamSpec("_P")
Row: TypeAlias = tuple[Any, ...]

_LOG = logging.getLogger(__name__)

_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "fullfsync = ON",
    "foreign_keys = ON",
    "wal_autocheckpoint = 4000",  # 16 MB; at 4, imports would write twice as much
    "cache_size = -32000",  # at most 32 MB; 2 would be too few for the indexes of a large file
)


IN_MEMORY = ":memory:"
"""SQLite's name of a database in memory."""

_MAX_VALUES = 3_000
"""Maximum values of one statement."""


class Transaction:
    """Statements that are committed together. Valid only while its work runs."""

    __slots__ = ("_connection",)

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, *values: object) -> list[Row]:
        """Run a statement and return all its rows."""
        return await self._run(sql, values)

    async def row(self, sql: str, *values: object) -> Row | None:
        """Run a statement and return its first row; None if there is none."""
        result = await self.rows(sql, *values)
        return result[0] if result else None

    async def run(self, sql: str, *values: object) -> None:
        """Run a statement for its effect."""
        await self.rows(sql, *values)

    async def run_many(self, sql: str, rows: Iterable[Iterable[object]]) -> None:
        """Run a statement once for each row of values."""
        cursor = await self._connection.executemany(sql, map(_storable, rows))
        await cursor.close()

    async def insert(self, into: str, rows: Iterable[Sequence[object]]) -> None:
        """Insert rows, which are generated on another thread. `into` is the SQL before VALUES.

        Many rows are one statement: at each call of SQLite other threads get a turn, so an import
        would wait for the thread that reads its file thousands of times.
        """
        columns = into.count(",") + 1
        row = f"({', '.join('?' * columns)})"
        for values in await asyncio.to_thread(_flat_batches, rows, _MAX_VALUES // columns):
            many = ", ".join([row] * (len(values) // columns))
            await self._run(f"{into} VALUES {many}", values)

    async def _run(self, sql: str, values: tuple[object, ...]) -> list[Row]:
        try:
            result = await self._connection.execute_fetchall(sql, values)
        except UnicodeEncodeError:  # raised before the statement runs
            result = await self._connection.execute_fetchall(sql, _storable(values))
        except Exception as error:
            clear_frames(error.__traceback__)  # a cursor there would keep this state of the file
            raise
        return cast("list[Row]", result)


class Database:
    """The connection and the queue of work in front of it."""

    def __init__(
        self, connection: aiosqlite.Connection, path: Path, *, is_in_memory: bool = False
    ) -> None:
        self.is_in_memory = is_in_memory
        """True if there is no file, and nothing of it is ever written to one."""
        self._connection = connection
        self._path = path
        self._turn = asyncio.Lock()
        self._pending: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._file = _identity(path)

    @classmethod
    async def connect(cls, path: Path, *, busy_timeout: float) -> Database:
        """Open the file, which exists and has the current schema.

        `busy_timeout` is how many seconds a statement waits for another program.
        """
        import aiosqlite

        with store_errors(path):
            connection = await aiosqlite.connect(path, timeout=busy_timeout, isolation_level=None)
            try:
                for setting in _SETTINGS:
                    await connection.execute_fetchall(f"PRAGMA {setting}")
            except BaseException:
                await connection.close()
                raise
        return cls(connection, path)

    @classmethod
    async def create_in_memory(cls, scripts: Iterable[str]) -> Database:
        """Return an empty database in memory; the SQL of `scripts` makes its tables."""
        import aiosqlite

        path = Path(IN_MEMORY)
        with store_errors(path):
            connection = await aiosqlite.connect(IN_MEMORY, isolation_level=None)
            try:
                # Without this SQLite sorts large results in files.
                for setting in ("temp_store = MEMORY", "foreign_keys = ON"):
                    await connection.execute_fetchall(f"PRAGMA {setting}")
                for script in scripts:
                    await (await connection.executescript(script)).close()
            except BaseException:
                await connection.close()
                raise
        return cls(connection, path, is_in_memory=True)

    async def read(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Run work that changes nothing, on one state of the file."""
        return await self._owned("BEGIN", work)

    async def write(
        self,
        work: Callable[[Transaction], Awaitable[_T]],
        *,
        committed: Callable[[_T], object] | None = None,
    ) -> _T:
        """Run work and commit it; it is on the disk when this returns.

        `committed` is called with the result after the commit and before the next work, even if the
        caller was cancelled. It updates what is known in memory about the file.
        """
        return await self._owned(_WRITING, work, committed)

    def reader(
        self, work: Callable[Concatenate[Transaction, _P], Awaitable[_T]]
    ) -> Callable[_P, Coroutine[Any, Any, _T]]:
        """Return the operation that runs `work`, which changes nothing, in a transaction."""

        def run(*args: _P.args, **kwargs: _P.kwargs) -> Coroutine[Any, Any, _T]:
            return self.read(lambda tx: work(tx, *args, **kwargs))

        return run

    def writer(
        self, work: Callable[Concatenate[Transaction, _P], Awaitable[_T]]
    ) -> Callable[_P, Coroutine[Any, Any, _T]]:
        """Return the operation that runs `work` in a transaction and commits it."""

        def run(*args: _P.args, **kwargs: _P.kwargs) -> Coroutine[Any, Any, _T]:
            return self.write(lambda tx: work(tx, *args, **kwargs))

        return run

    async def rows(self, sql: str, *values: object) -> list[Row]:
        """Run a statement that only reads, and return all its rows."""
        return await self.read(lambda tx: tx.rows(sql, *values))

    async def row(self, sql: str, *values: object) -> Row | None:
        """Run a statement that only reads, and return its first row; None if there is none."""
        return await self.read(lambda tx: tx.row(sql, *values))

    async def data_version(self) -> int:
        """Return a number that changes with each commit of another program, at almost no cost."""
        [(version,)] = await self.rows("PRAGMA data_version")
        return version

    async def close(self) -> None:
        """Await pending work, then close the file. Can be called repeatedly."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="store: close")
        await asyncio.shield(self._closing)

    async def _owned(
        self,
        begin: str,
        work: Callable[[Transaction], Awaitable[_T]],
        committed: Callable[[_T], object] | None = None,
    ) -> _T:
        if self._closing is not None:
            raise StoreError("The database is closed.")
        task = asyncio.create_task(self._alone(begin, work, committed), name="store: work")
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_unseen_error)
            raise

    async def _alone(
        self,
        begin: str,
        work: Callable[[Transaction], Awaitable[_T]],
        committed: Callable[[_T], object] | None,
    ) -> _T:
        """Run work when it is its turn."""
        async with self._turn:
            result = await self._transact(begin, work)
            if committed is not None:
                committed(result)
            return result

    async def _transact(self, begin: str, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        with store_errors(self._path):
            if begin is _WRITING and not self.is_in_memory and _identity(self._path) != self._file:
                raise StoreError(
                    f"The database {self._path} was removed or replaced while it was open.",
                    advice="This was not stored. Copy what you want to keep, and restart tui-chat "
                    "to use the present file.",
                )
            try:
                await self._connection.execute_fetchall(begin)
                result = await work(Transaction(self._connection))
                await self._connection.execute_fetchall("COMMIT")
            except BaseException:
                # Also if the loop is closing and cancels this task: the thread runs statements in
                # order, so this one follows the interrupted one.
                await self._connection.rollback()
                raise
            return result

    async def _close(self) -> None:
        if self._pending:
            await asyncio.wait(self._pending)
        with store_errors(self._path):
            await self._connection.close()


_WRITING = "BEGIN IMMEDIATE"


class StoreContext(NamedTuple):
    """What the stores of sessions, branches, messages and replies share."""

    database: Database
    now: Callable[[], float]
    """Returns seconds since the epoch."""
    new_id: Callable[[], str]


class _HasDatabase(Protocol):
    """An object of the store."""

    database: Database


_S = TypeVar("_S", bound=_HasDatabase)
_Operation = Callable[Concatenate[_S, Transaction, _P], Awaitable[_T]]
_Method = Callable[Concatenate[_S, _P], Coroutine[Any, Any, _T]]


def writes(operation: _Operation[_S, _P, _T]) -> _Method[_S, _P, _T]:
    """Make a method run in a transaction, which it gets as `tx`, and commit that."""

    @wraps(operation)
    def run(store: _S, *args: _P.args, **kwargs: _P.kwargs) -> Coroutine[Any, Any, _T]:
        return store.database.write(lambda tx: operation(store, tx, *args, **kwargs))

    return run


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path, None if there is none. Writes to a file without a
    name are lost when it is closed, and SQLite does not notice.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _flat_batches(rows: Iterable[Sequence[object]], count: int) -> list[tuple[object, ...]]:
    """Return the values of rows, flattened in batches of `count` rows."""
    rows = iter(rows)
    many: list[tuple[object, ...]] = []
    while values := tuple(chain.from_iterable(islice(rows, count))):
        many.append(values)
    return many


def _storable(values: Iterable[object]) -> list[object]:
    """Return values with cleaned texts: a lone surrogate must not lose a whole reply."""
    return [
        clean(value) if isinstance(value, str) and not value.isascii() else value
        for value in values
    ]


def _log_unseen_error(task: asyncio.Task[Any]) -> None:
    """Log the error of work whose caller was cancelled."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.warning("work failed after its caller was cancelled: %s", error)
