"""What all methods of a store work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tui_chat.errors import StoreError
from tui_chat.models.session import Entry
from tui_chat.store.database import Database
from tui_chat.store.session_list import SessionList


@dataclass(frozen=True, slots=True)
class UnsavedEnd:
    """How a reply ended whose end the file has not taken yet."""

    session_id: str
    entry: Entry


class Base:
    """A database, a clock, a source of ids, and what is kept in memory of the file."""

    def __init__(
        self, database: Database, *, now: Callable[[], float], new_id: Callable[[], str]
    ) -> None:
        self._database = database
        self._now = now
        self._new_id = new_id
        self._list = SessionList()
        self._unsaved: dict[str, UnsavedEnd] = {}
        """Replies that have ended and are stored as far as they were flushed, by entry id."""
        self._unsaved_texts: dict[str, str] = {}
        """Drafts and settings that the file has not taken yet, by the keys of their writes."""

    async def commits_elsewhere(self) -> int:
        """Return a number that is another one after a commit of another program. Costs next to
        nothing.
        """
        [(version,)] = await self._database.read(lambda tx: tx.rows("PRAGMA data_version"))
        return version

    # Writes that the file did not take

    @property
    def write_fault(self) -> StoreError | None:
        """Why something is in memory only; None if everything is stored."""
        return self._database.write_fault

    def watch_deferred(self, deferred: Callable[[], None]) -> None:
        """Have `deferred` called each time something had to stay in memory."""
        self._database.on_deferred = deferred

    async def write_deferred(self) -> bool:
        """Try again to write what is in memory only; return True if everything is stored."""
        return await self._database.write_deferred()

    async def wait_until_written(self) -> None:
        """Wait until everything is stored."""
        await self._database.all_written.wait()

    def _with_unsaved(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return entries that were read with their ends, where those are in memory only."""
        if not self._unsaved:
            return entries
        return tuple(self._as_ended(entry) for entry in entries)

    def _as_ended(self, entry: Entry) -> Entry:
        unsaved = self._unsaved.get(entry.message.id)
        if unsaved is None:
            return entry
        end, fault = unsaved.entry, self._database.write_fault
        return replace(
            end,
            message=replace(end.message, pinned=entry.message.pinned),
            parent_id=entry.parent_id,
            model=entry.model,
            endpoint=entry.endpoint,
            sibling=entry.sibling,
            siblings=entry.siblings,
            unsaved=str(fault) if fault else "",
        )
