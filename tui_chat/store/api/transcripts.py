"""Whole conversations in and out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tui_chat.models.transcript import Imported, Transcript
from tui_chat.store import transcripts
from tui_chat.store.api.base import Base
from tui_chat.store.database import Transaction


class Transcripts(Base):
    """The store's methods for imports and exports."""

    async def import_session(self, transcript: Transcript) -> Imported:
        """Take in a conversation; see `Transcript` for what stays as it is. One in the trash
        comes back. What does not fit is told in the result's `fault`.
        """
        (imported,) = await self.import_sessions((transcript,))
        return imported

    async def import_sessions(
        self, batch: Iterable[Transcript], *, dry_run: bool = False
    ) -> tuple[Imported, ...]:
        """Take in several conversations in one transaction, which is much faster than one by one.
        One that does not fit is left out, as its `fault` says, and keeps no other from coming in.

        With `dry_run` nothing is changed, and the result says what would be.

        While it runs nothing else reaches the database: some thousand messages are a good batch.
        """
        wanted, now = tuple(batch), self._now()

        async def work(tx: Transaction) -> tuple[Imported, ...]:
            done = await transcripts.take_in(tx, wanted, now)
            if dry_run:
                raise _Tried(done)
            return done

        try:
            return await self._database.write(work)
        except _Tried as tried:
            return tried.done

    async def read_session(self, session_id: str, *, requests: bool = True) -> Transcript | None:
        """Return a session with all its branches, its role and variables; None if it is gone.

        With `requests`, also what was sent for its replies, the exact bodies as far as they are
        kept, and what is being typed.
        """
        found = await self._database.read(
            lambda tx: transcripts.give_out(tx, session_id, requests=requests)
        )
        if found is None or not self._unsaved:
            return found
        return replace(found, entries=self._with_unsaved(found.entries))


class _Tried(Exception):
    """Takes back what was done, and brings along what would have come of it."""

    def __init__(self, done: tuple[Imported, ...]) -> None:
        super().__init__()
        self.done = done
