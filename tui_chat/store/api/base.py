"""What all methods of a store work with."""

from __future__ import annotations

from collections.abc import Callable

from tui_chat.store.database import Database


class Base:
    """A database, a clock and a source of ids."""

    def __init__(
        self, database: Database, *, now: Callable[[], float], new_id: Callable[[], str]
    ) -> None:
        self._database = database
        self._now = now
        self._new_id = new_id
