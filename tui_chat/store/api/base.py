"""What all methods of a store work with."""

from __future__ import annotations

from collections.abc import Callable

from tui_chat.store.database import Database
from tui_chat.store.session_list import SessionList


class Base:
    """A database, a clock, a source of ids, and what is kept in memory of the file."""

    def __init__(
        self, database: Database, *, now: Callable[[], float], new_id: Callable[[], str]
    ) -> None:
        self._database = database
        self._now = now
        self._new_id = new_id
        self._list = SessionList()

    async def commits_elsewhere(self) -> int:
        """Return a number that is another one after a commit of another program. Costs next to
        nothing.
        """
        [(version,)] = await self._database.read(lambda tx: tx.rows("PRAGMA data_version"))
        return version
