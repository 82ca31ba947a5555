"""The list of all sessions, kept between readings, so that reading it again costs what changed.

1. All sessions are read once. Triggers of this connection alone, in SQLite's temporary schema, then
   note the sessions that this program adds, changes or removes, and take a note back where the
   change is taken back.
2. SQLite counts the commits of other programs (`data_version`). Where there was one, or a role has
   changed, which lends its name and model to its sessions, all is read anew.
"""
# ruff: noqa: S608 - only our own constants are put into SQL

from __future__ import annotations

from tui_chat.models.session import SessionSummary
from tui_chat.store.database import Transaction
from tui_chat.store.rows import Place, RoleNames
from tui_chat.store.sessions import places, role_names

_ALL = "deleted IS NULL"
_NOTED = "seq IN (SELECT seq FROM temp.changed_sessions)"


class SessionList:
    """All sessions but deleted ones, the one that was active last first."""

    def __init__(self) -> None:
        self._version: int | None = None
        """SQLite's count when it was read; None before."""
        self._roles: RoleNames = {}
        self._places: list[Place] = []
        self._sessions: tuple[SessionSummary, ...] = ()

    async def read(self, tx: Transaction) -> tuple[SessionSummary, ...]:
        """Return the list as it is now; the very same object where nothing changed."""
        roles = await role_names(tx)  # from here on one state of the file is read
        found = await tx.row("PRAGMA data_version")
        version: int | None = found[0] if found else None
        if self._version is None:
            await _note_changes(tx)
        if version != self._version or roles != self._roles:
            which, stay = _ALL, list[Place]()
        else:
            changed = {seq for (seq,) in await tx.rows("SELECT seq FROM temp.changed_sessions")}
            if not changed:
                return self._sessions
            which = f"{_ALL} AND {_NOTED}"
            stay = [place for place in self._places if place[1] not in changed]
        listed = await places(tx, which, roles)
        await tx.run("DELETE FROM temp.changed_sessions")
        listed += stay
        listed.sort(reverse=True)
        self._version, self._roles, self._places = version, roles, listed
        self._sessions = tuple([place[2] for place in listed])
        return self._sessions


async def _note_changes(tx: Transaction) -> None:
    await tx.run("CREATE TEMP TABLE IF NOT EXISTS changed_sessions (seq INTEGER)")
    await tx.run("CREATE INDEX IF NOT EXISTS temp.changed_session ON changed_sessions (seq)")
    for event, which in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
        # No unique key: how its breach is met would be up to the statement that was triggered by.
        await tx.run(
            f"CREATE TEMP TRIGGER IF NOT EXISTS note_{event} AFTER {event} ON main.sessions BEGIN "
            f"INSERT INTO changed_sessions (seq) SELECT {which}.seq WHERE NOT EXISTS "
            f"(SELECT 1 FROM changed_sessions WHERE seq = {which}.seq); END"
        )
