"""One connection, one writer.

1. Work is an async function over a `Transaction`. It runs alone: from its BEGIN to its COMMIT
   no other statement reaches the connection, so nobody sees half of a change.
2. Every piece of work is a task that the database owns, and callers await it through a
   shield. aiosqlite runs statements in a thread, where cancelling the caller stops nothing: a
   cancelled BEGIN would still begin, and poison the connection for all who follow. So a
   cancelled caller is released, and its work goes on to its end.
3. Work runs in the order in which it was asked for.
4. Nothing is written to a file that was removed or replaced meanwhile.
5. A write that must not be lost (`write_or_defer`) stays in memory where the file cannot be
   written to. It is tried again before every later write, by `write_deferred` and by `close`.
6. `close` awaits what is pending and refuses what comes after.

Durability: in WAL mode with `synchronous = FULL` every commit is synced, so a committed
message survives a loss of power (`NORMAL` would sync at checkpoints only and could lose the
last seconds). Replies are flushed a few times a second, so a sync each is affordable.
`fullfsync` makes macOS sync for real and means nothing elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from tui_chat.errors import RecordGone, StoreBusy, StoreError
from tui_chat.models.text import clean
from tui_chat.store.errors import store_errors

if TYPE_CHECKING:
    import aiosqlite

_T = TypeVar("_T")
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


_TOGETHER = 3_000
"""Values that are given to one statement, at most."""


class Transaction:
    """Statements that happen together or not at all. Not to be kept after its work ended."""

    __slots__ = ("_connection",)

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, *values: object) -> list[Row]:
        """Run a statement and return all its rows."""
        return await self._run(sql, values)

    async def row(self, sql: str, *values: object) -> Row | None:
        """Run a statement and return its first row; None if there is none."""
        found = await self.rows(sql, *values)
        return found[0] if found else None

    async def made(self, make: Callable[[object, Row], _T], sql: str, *values: object) -> list[_T]:
        """Run a statement and return what `make` makes of its cursor and each row. SQLite's thread
        makes it as it reads, so that the memory of one row is that of the next.
        """
        self._connection.row_factory = cast("type", make)  # any callable will do
        try:
            return cast("list[_T]", await self._run(sql, values))
        finally:
            self._connection.row_factory = None

    async def run(self, sql: str, *values: object) -> None:
        """Run a statement for its effect."""
        await self.rows(sql, *values)

    async def run_many(self, sql: str, rows: Iterable[Iterable[object]]) -> None:
        """Run a statement once for each row of values."""
        cursor = await self._connection.executemany(sql, map(_storable, rows))
        await cursor.close()

    async def insert(self, into: str, rows: Iterable[Sequence[object]]) -> None:
        """Add rows: `into` is what stands before VALUES. They are made in another thread.

        Many of them are one statement. On each way to SQLite and back other threads have their
        turn, so that an import would wait thousands of times for the reading of its file.
        """
        columns = into.count(",") + 1
        row = f"({', '.join('?' * columns)})"
        for values in await asyncio.to_thread(_together, rows, _TOGETHER // columns):
            many = ", ".join([row] * (len(values) // columns))
            await self._run(f"{into} VALUES {many}", values)

    async def _run(self, sql: str, values: tuple[object, ...]) -> list[Row]:
        try:
            found = await self._connection.execute_fetchall(sql, values)
        except UnicodeEncodeError:  # met before the statement runs
            found = await self._connection.execute_fetchall(sql, _storable(values))
        except Exception as error:
            clear_frames(error.__traceback__)  # a cursor there holds on to this state of the file
            raise
        return cast("list[Row]", found)


@dataclass(frozen=True, slots=True)
class _DeferredWrite:
    """A write that the file did not take, to be tried again."""

    work: Callable[[Transaction], Awaitable[Any]]
    committed: Callable[[Any], object] | None


class Database:
    """The connection and the queue of work in front of it."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._turn = asyncio.Lock()
        self._pending: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._file = _identity(path)
        self._deferred: dict[str, _DeferredWrite] = {}
        """By the key of `write_or_defer`, oldest first."""
        self.write_fault: StoreError | None = None
        """Why the deferred writes could not be done at the last attempt; None if there are none."""
        self.on_deferred: Callable[[], None] | None = None
        """Called each time a write had to be deferred; must be quick and not raise."""
        self.all_written = asyncio.Event()
        """Set while no write is deferred."""
        self.all_written.set()

    @classmethod
    async def connect(cls, path: Path, *, busy_timeout: float) -> Database:
        """Open the file, which exists and has the present schema.

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

    async def read(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Run work that changes nothing, on one state of the file."""
        return await self._owned("BEGIN", work)

    async def write(
        self,
        work: Callable[[Transaction], Awaitable[_T]],
        *,
        committed: Callable[[_T], object] | None = None,
    ) -> _T:
        """Run work and commit it; when this returns it is on the disk.

        `committed` gets the result when it is there and before the next work begins, also
        when the caller has been cancelled: for what is known in memory of the file.
        """
        return await self._owned(_WRITING, work, committed)

    async def write_or_defer(
        self,
        key: str,
        work: Callable[[Transaction], Awaitable[_T]],
        *,
        committed: Callable[[_T], object] | None = None,
    ) -> _T:
        """Like `write`, but work that fails because the file cannot be written to is kept and
        tried again later. A later call with the same `key` replaces it.

        Raises StoreError all the same. `RecordGone` and errors other than StoreError are final:
        trying again would not help, so that work is not kept.
        """
        return await self._owned(_WRITING, work, committed, key)

    async def data_version(self) -> int:
        """Return a number that changes with each commit of another program. Costs next to
        nothing.
        """
        [(version,)] = await self.read(lambda tx: tx.rows("PRAGMA data_version"))
        return version

    @property
    def deferred(self) -> frozenset[str]:
        """The keys of the writes that are still to be done."""
        return frozenset(self._deferred)

    async def write_deferred(self) -> bool:
        """Try the deferred writes now; return True if none is left."""
        if self._deferred and self._closing is None:

            async def nothing(tx: Transaction) -> None:
                """Writing comes with the deferred writes."""

            with suppress(StoreError):
                await self._owned(_WRITING, nothing)
        return not self._deferred

    async def close(self) -> None:
        """Let pending work end, then close the file. May be called again."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="store: close")
        await asyncio.shield(self._closing)

    async def _owned(
        self,
        begin: str,
        work: Callable[[Transaction], Awaitable[_T]],
        committed: Callable[[_T], object] | None = None,
        key: str = "",
    ) -> _T:
        if self._closing is not None:
            raise StoreError("The database is closed.")
        task = asyncio.create_task(self._alone(begin, work, committed, key), name="store: work")
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_unheard)
            raise

    async def _alone(
        self,
        begin: str,
        work: Callable[[Transaction], Awaitable[_T]],
        committed: Callable[[_T], object] | None,
        key: str = "",
    ) -> _T:
        """Run work when its turn comes; with a `key`, keep it if it cannot be written."""
        async with self._turn:
            self._deferred.pop(key, None)  # this is newer
            try:
                if begin is _WRITING:
                    await self._try_deferred()
                result = await self._transact(begin, work)
            except RecordGone:
                raise
            except StoreError as error:
                if key:
                    self._deferred[key] = _DeferredWrite(work, committed)
                    self.write_fault = error
                raise
            finally:
                self._note_deferred()
            if committed is not None:
                committed(result)
            return result

    async def _try_deferred(self) -> None:
        """Do the deferred writes, each as a transaction of its own.

        Raises StoreBusy: whoever waits for the file behind it would wait as long again, in vain.
        """
        for key, deferred in list(self._deferred.items()):
            try:
                result = await self._transact(_WRITING, deferred.work)
            except RecordGone:
                self._deferred.pop(key, None)
                continue
            except StoreError as error:
                self.write_fault = error
                if isinstance(error, StoreBusy):
                    raise
                continue
            self._deferred.pop(key, None)
            if deferred.committed is not None:
                deferred.committed(result)

    def _note_deferred(self) -> None:
        if self._deferred:
            self.all_written.clear()
            if self.on_deferred is not None:
                self.on_deferred()
        else:
            self.write_fault = None
            self.all_written.set()

    async def _transact(self, begin: str, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        with store_errors(self._path):
            if begin is _WRITING and _identity(self._path) != self._file:
                raise StoreError(
                    f"The database {self._path} was removed or replaced while it was open.",
                    advice="This was not stored. Copy what you want to keep, and start "
                    "tui-chat again to work with the file that is there now.",
                )
            try:
                await self._connection.execute_fetchall(begin)
                result = await work(Transaction(self._connection))
                await self._connection.execute_fetchall("COMMIT")
            except BaseException:
                # Also when the loop itself is going down and cancels this task: the thread
                # takes statements in order, so this one follows the one that was cut off.
                await self._connection.rollback()
                raise
            return result

    async def _close(self) -> None:
        if self._pending:
            await asyncio.wait(self._pending)
        if self._deferred:
            with suppress(StoreError):
                await self._try_deferred()
            self._note_deferred()
        with store_errors(self._path):
            await self._connection.close()


_WRITING = "BEGIN IMMEDIATE"


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file is at a path, None where none is. What is written to a file that lost its
    name is gone when it is closed, and SQLite would not notice.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _together(rows: Iterable[Sequence[object]], count: int) -> list[tuple[object, ...]]:
    """Return the values of rows, those of so many rows together."""
    rows = iter(rows)
    many: list[tuple[object, ...]] = []
    while values := tuple(chain.from_iterable(islice(rows, count))):
        many.append(values)
    return many


def _storable(values: Iterable[object]) -> list[object]:
    """Texts are cleaned once more: a lone surrogate must not cost a whole reply."""
    return [
        clean(value) if isinstance(value, str) and not value.isascii() else value
        for value in values
    ]


def _log_unheard(task: asyncio.Task[Any]) -> None:
    """Someone should know that work failed whose caller was cancelled meanwhile."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.warning("work went wrong after its caller had left: %s", error)
