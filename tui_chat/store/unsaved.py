"""Values that are only in memory because the database file could not be written to.

`Database.write_or_defer` keeps the write and repeats it; these classes keep the values, so that
reading returns them as if they were in the file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from tui_chat.errors import StoreError
from tui_chat.models.session import Entry
from tui_chat.store.database import Database, Transaction

_T = TypeVar("_T")


class UnsavedReplies:
    """Replies that have ended, but whose end is not in the file yet."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ended: dict[str, tuple[str, Entry]] = {}
        """Session id and ended entry, by entry id."""

    def __len__(self) -> int:
        return len(self._ended)

    def add(self, session_id: str, entry: Entry) -> None:
        """Keep the end of a reply."""
        self._ended[entry.message.id] = session_id, entry

    def discard(self, entry_id: str) -> None:
        """Drop the end of a reply, which is in the file now."""
        self._ended.pop(entry_id, None)

    def get(self, entry_id: str) -> Entry | None:
        """Return the ended reply; None if its end is in the file or it has not ended."""
        ended_reply = self._ended.get(entry_id)
        return None if ended_reply is None else ended_reply[1]

    def session_statuses(self) -> dict[str, str]:
        """Return by session id how its unsaved reply ended."""
        return {session_id: entry.status for session_id, entry in self._ended.values()}

    def applied_to(self, entry: Entry) -> Entry:
        """Return a stored entry with its unsaved end, if it has one."""
        end = self.get(entry.message.id)
        if end is None:
            return entry
        fault = self._database.write_fault
        return replace(
            end,
            message=replace(end.message, pinned=entry.message.pinned, muted=entry.message.muted),
            parent_id=entry.parent_id,
            model=entry.model,
            endpoint=entry.endpoint,
            sibling=entry.sibling,
            siblings=entry.siblings,
            unsaved=str(fault) if fault else "",
        )

    def applied_to_all(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return stored entries, each with its unsaved end if it has one."""
        if not self._ended:
            return entries
        return tuple(self.applied_to(entry) for entry in entries)


class UnsavedTexts:
    """Texts by key, each kept in memory until the file takes it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._texts: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """Return the text of a failed write; None if the file has the newest text."""
        return self._texts.get(key)

    async def write(
        self,
        key: str,
        text: str,
        work: Callable[[Transaction], Awaitable[_T]],
        committed: Callable[[_T], object] | None = None,
    ) -> None:
        """Write `text` with `work`, or keep it under `key` until that succeeds.

        `key` names the deferred write as well, so it is unique in the database. `committed` is
        called with the result once it is written. Raises `StoreError` if the text is in memory
        only, `RecordGone` if it can never be written.
        """

        def written(result: _T) -> None:
            self._texts.pop(key, None)
            if committed is not None:
                committed(result)

        try:
            await self._database.write_or_defer(key, work, committed=written)
        except StoreError:
            if key in self._database.deferred:
                self._texts[key] = text
            raise


class StoreContext(NamedTuple):
    """What the stores of sessions, branches, messages and replies share."""

    database: Database
    unsaved: UnsavedReplies
    now: Callable[[], float]
    """Returns seconds since the epoch."""
    new_id: Callable[[], str]
