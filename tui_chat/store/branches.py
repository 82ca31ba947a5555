"""The tree of a session: reading a branch of it, moving between branches, and forking.

1. The active branch leads from a first message down to the session's head. Whatever is edited or
   regenerated becomes a sibling; nothing is overwritten.
2. A deleted message is hidden with all that follows it; hidden messages are in no branch, no
   tree, no count and no search. The head is never hidden, so nothing that leads to it is.
3. Children have a higher `seq` than their parents, so the newest message below another one is
   a leaf.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

from tui_chat.errors import NotYet, StoreError
from tui_chat.models.blocks import CallBlock
from tui_chat.models.boundary import pack
from tui_chat.models.session import Entry, Node, Session
from tui_chat.store import index
from tui_chat.store.database import Row, StoreContext, Transaction, writes
from tui_chat.store.errors import decoding
from tui_chat.store.rows import BLOCKS, ENTRY, ENTRY_NAMES, entry_of
from tui_chat.store.sessions import insert_session, require_session, set_head
from tui_chat.store.stream_journal import read_streamed_fields

PlacedRow: TypeAlias = "tuple[Row, tuple[int, int]]"
"""The arguments of `entry_of`: a row, and which of how many siblings it is."""

_VISIBLE = "m.hidden IS NULL"

_BRANCH = f"""
    WITH RECURSIVE up (seq, parent_id) AS (
        SELECT seq, parent_id FROM messages WHERE message_id = ?
        UNION ALL
        SELECT m.seq, m.parent_id FROM up JOIN messages AS m ON m.message_id = up.parent_id
        LIMIT ?
    )
    SELECT {ENTRY}, m.seq FROM up JOIN messages AS m ON m.seq = up.seq
"""

# True for a reply of which nothing arrived, and that nothing follows: it is no version, since the
# next attempt replaces it.
_FAILED_ATTEMPT = """(
    m.status = 'failed' AND m.content = '' AND m.blocks = '' AND m.about = '' AND NOT EXISTS (
        SELECT 1 FROM messages AS below
        WHERE below.session_id = m.session_id AND below.parent_id = m.message_id
    )
)"""

# Messages with siblings: the only ones whose place among them has to be counted.
_FORKS = f"""
    SELECT m.parent_id, m.message_id, {_FAILED_ATTEMPT}
    FROM (
        SELECT parent_id FROM messages WHERE session_id = ?1
        GROUP BY parent_id HAVING count(*) > 1
    ) AS fork
    JOIN messages AS m ON m.session_id = ?1 AND m.parent_id IS fork.parent_id
    WHERE {_VISIBLE} ORDER BY m.seq
"""

_PATH = """
    WITH RECURSIVE up (seq, message_id, parent_id, status) AS (
        SELECT seq, message_id, parent_id, status FROM messages WHERE message_id = ?
        UNION ALL
        SELECT m.seq, m.message_id, m.parent_id, m.status
        FROM up JOIN messages AS m ON m.message_id = up.parent_id
    )
"""

# What a copied message has in common with its original; ids, place and owner are its own.
_COPIED = ", ".join([*(name for name in ENTRY_NAMES if not name.endswith("_id")), "created"])

# A visible message and all visible ones below it, as `down`.
DESCENDANTS = """
    WITH RECURSIVE down (seq, message_id) AS (
        SELECT seq, message_id FROM messages WHERE message_id = ?
        UNION ALL
        SELECT m.seq, m.message_id FROM down JOIN messages AS m ON m.parent_id = down.message_id
        WHERE m.hidden IS NULL
    )
"""

_NO_LIMIT = -1  # as SQLite has it

_MANY_ROWS = 500
"""The number of rows from which reading them would block the event loop noticeably."""

_STATUS = ENTRY_NAMES.index("status")


class BranchStore:
    """The branches of sessions."""

    def __init__(self, context: StoreContext) -> None:
        self.database, self._now, self._new_id = context

    async def load(self, session_id: str) -> tuple[Entry, ...]:
        """Return the active branch, first message first; of a streaming reply what has arrived."""

        async def work(tx: Transaction) -> list[PlacedRow]:
            sql = "SELECT head_id FROM sessions WHERE session_id = ?"
            end = await tx.row(sql, session_id)
            if end is None or end[0] is None:
                return []
            placed = await read_path(tx, session_id, end[0])
            if len(placed) >= _MANY_ROWS:
                # The caller keeps what was read; SQLite would keep its pages as well.
                await tx.run("PRAGMA shrink_memory")
            return placed

        return await self._entries(await self.database.read(work))

    async def path_to(self, message_id: str, *, below: bool = False) -> tuple[Entry, ...]:
        """Return the messages that lead to one, itself included, on whatever branch; with `below`,
        also those that follow it, down to the newest leaf. Empty if it is gone for good; deleted
        messages are returned, since requests were made of them.
        """

        async def work(tx: Transaction) -> list[PlacedRow]:
            row = await tx.row("SELECT session_id FROM messages WHERE message_id = ?", message_id)
            if row is None:
                return []
            end = await newest_below(tx, message_id) if below else message_id
            return await read_path(tx, row[0], end)

        return await self._entries(await self.database.read(work))

    async def around(self, message_id: str, before: int = 2) -> tuple[Entry, ...]:
        """Return a message with `before` messages before it and the newest after; else empty."""

        async def work(tx: Transaction) -> list[PlacedRow]:
            row = await tx.row(
                f"SELECT session_id FROM messages AS m WHERE message_id = ? AND {_VISIBLE}",
                message_id,
            )
            if row is None:
                return []
            after = await tx.row(
                "SELECT message_id FROM messages AS m "
                f"WHERE parent_id = ? AND {_VISIBLE} ORDER BY seq DESC LIMIT 1",
                message_id,
            )
            end, count = (message_id, before + 1) if after is None else (after[0], before + 2)
            return await read_path(tx, row[0], end, count)

        return await self._entries(await self.database.read(work))

    async def tree(self, session_id: str) -> tuple[Node, ...]:
        """Return all branches of a session, message by message in the order in which they were
        created, so that every message comes after its parent. Texts are not read; see `excerpts`.
        """
        return await self.database.read(lambda tx: read_tree(tx, session_id))

    async def excerpts(self, message_ids: Iterable[str], length: int = 200) -> dict[str, str]:
        """Return the first characters of messages' texts. Of a message without text it is the names
        of the tools that it calls. Messages that are gone are left out.
        """
        rows = await self.database.rows(
            "SELECT m.message_id, substr(m.content, 1, ?), iif(m.content = '', "
            "m.blocks, '') FROM json_each(?) CROSS JOIN messages AS m ON m.message_id = value",
            *(length, json.dumps(list(message_ids))),
        )
        with decoding("message"):
            return {id: (content or _called(calls))[:length] for id, content, calls in rows}

    async def session_of(self, message_id: str) -> str:
        """Return the id of the session with a message; empty if it is gone or deleted."""
        rows = await self.database.rows(
            f"SELECT session_id FROM messages AS m WHERE message_id = ? AND {_VISIBLE}", message_id
        )
        return rows[0][0] if rows else ""

    @writes
    async def activate(self, tx: Transaction, session_id: str, message_id: str) -> None:
        """Activate the branch through a message, to its newest leaf."""
        await _activate(tx, session_id, message_id)

    @writes
    async def activate_sibling(self, tx: Transaction, message_id: str, step: int) -> None:
        """Activate the sibling `step` places after a message (before, if negative), down to the
        newest leaf below it; the first or last sibling if `step` leads beyond it.
        """
        session_id, parent_id = await locate(tx, message_id)
        siblings = await version_ids(tx, session_id, parent_id, message_id)
        if message_id not in siblings:
            raise StoreError("This message was deleted.")
        index = siblings.index(message_id) + step
        await _activate(tx, session_id, siblings[max(0, min(index, len(siblings) - 1))])

    @writes
    async def fork(self, tx: Transaction, message_id: str, title: str = "") -> Session:
        """Create a session with the branch that leads to a message, and return it.

        It has the settings of the original, its title unless one is given, and copies of the
        messages under new ids: replies with the recipes of their requests, which name the copies,
        but without the exact bodies. Raises `StoreError` if the message is gone, `InputError` if
        it is still streaming.
        """
        now, new_id = self._now(), self._new_id
        session_id, _ = await locate(tx, message_id)
        await check_parent(tx, session_id, message_id)
        old = await require_session(tx, session_id)
        rows = await tx.rows(f"{_PATH} SELECT message_id, status FROM up ORDER BY seq", message_id)
        if any(status == "streaming" for _, status in rows):
            raise NotYet("This reply is still arriving.", advice="Fork when it has ended.")
        fresh = {old_id: new_id() for old_id, _ in rows}
        copy = replace(
            old,
            session_id=new_id(),
            title=title or old.title,
            fork_of=old.title,
            parent_id="",
            head_id=None,
            edits=tuple(
                replace(edit, answered=fresh.get(edit.answered, ""))
                for edit in old.edits
                if edit.kept or edit.answered in fresh
            ),
            places=tuple(
                replace(place, message_id=fresh[place.message_id])
                for place in old.places
                if place.message_id in fresh
            ),
            created=now,
            updated=now,
        )
        made = await insert_session(tx, copy)
        parents = [None, *fresh.values()]
        await tx.run_many(
            f"INSERT INTO messages (session_id, message_id, parent_id, {_COPIED}) "
            f"SELECT ?, ?, ?, {_COPIED} FROM messages WHERE message_id = ?",
            [
                (made.session_id, fresh_id, parent_id, old_id)
                for (old_id, fresh_id), parent_id in zip(fresh.items(), parents, strict=False)
            ],
        )
        await index.put_stored(tx, made.session_id)
        recipes = await tx.rows(
            f"{_PATH} SELECT r.seq, r.message_id, r.recipe FROM up JOIN requests AS r "
            "USING (message_id) ORDER BY r.seq",
            message_id,
        )
        await tx.run_many(
            "INSERT INTO requests (message_id, endpoint, protocol, method, url, sha256, created, "
            "recipe, copied) SELECT ?, endpoint, protocol, method, url, sha256, created, ?, 1 "
            "FROM requests WHERE seq = ?",
            [(fresh[old_id], _with_new_ids(recipe, fresh), seq) for seq, old_id, recipe in recipes],
        )
        await tx.run(
            "UPDATE sessions SET (variables, tools) = "
            "(SELECT variables, tools FROM sessions WHERE session_id = ?) WHERE session_id = ?",
            *(session_id, made.session_id),
        )
        await set_head(tx, made.session_id, fresh[message_id])
        return await require_session(tx, made.session_id)

    async def _entries(self, placed: list[PlacedRow]) -> tuple[Entry, ...]:
        def read() -> tuple[Entry, ...]:
            return tuple(entry_of(row, place) for row, place in placed)

        return read() if len(placed) < _MANY_ROWS else await asyncio.to_thread(read)


async def read_path(
    tx: Transaction, session_id: str, end_id: str, last: int | None = None
) -> list[PlacedRow]:
    """Return the messages that lead to `end_id`, and it, in order; with `last`, only the end."""
    rows = await tx.rows(_BRANCH, end_id, _NO_LIMIT if last is None else last)
    rows.reverse()
    return await _placed(tx, session_id, rows)


async def read_visible(tx: Transaction, message_id: str) -> PlacedRow | None:
    """Return a message that is not deleted; None if there is none with this id."""
    row = await tx.row(
        f"SELECT session_id FROM messages AS m WHERE message_id = ? AND {_VISIBLE}", message_id
    )
    return None if row is None else (await read_path(tx, row[0], message_id, 1))[0]


async def read_all_branches(tx: Transaction, session_id: str) -> tuple[Entry, ...]:
    """Return the messages of all branches in the order in which they were created."""
    rows = await tx.rows(
        f"SELECT {ENTRY} FROM messages AS m WHERE m.session_id = ? AND {_VISIBLE} ORDER BY m.seq",
        session_id,
    )
    return tuple(entry_of(*placed) for placed in await _placed(tx, session_id, rows))


async def _placed(tx: Transaction, session_id: str, rows: list[Row]) -> list[PlacedRow]:
    """Add the places among siblings, and what has arrived of streaming replies."""
    versions: defaultdict[str | None, list[str]] = defaultdict(list)
    places: dict[str, tuple[int, int]] = {}
    attempts: list[tuple[str | None, str, int]] = []
    for parent_id, message_id, is_attempt in await tx.rows(_FORKS, session_id):
        family = versions[parent_id]
        if is_attempt:
            attempts.append((parent_id, message_id, len(family)))
        else:
            family.append(message_id)
    for family in versions.values():
        places |= {id: (number, len(family)) for number, id in enumerate(family)}
    for parent_id, message_id, number in attempts:
        places[message_id] = (number, len(versions[parent_id]) + 1)
    return [
        (
            await _with_streamed_fields(tx, row) if row[_STATUS] == "streaming" else row,
            places.get(row[0], (0, 1)),
        )
        for row in rows
    ]


async def _with_streamed_fields(tx: Transaction, row: Row) -> Row:
    fields = await read_streamed_fields(tx, row[0])
    filled = list(row)
    for field, text in fields.items():
        filled[ENTRY_NAMES.index(field)] = text
    return tuple(filled)


async def read_tree(tx: Transaction, session_id: str) -> tuple[Node, ...]:
    """Return all visible messages of a session in the order in which they were created."""
    rows = await tx.rows(
        "SELECT m.message_id, m.parent_id, m.message_role, m.status, m.created, m.model "
        f"FROM messages AS m WHERE m.session_id = ? AND {_VISIBLE} ORDER BY m.seq",
        session_id,
    )
    return tuple(map(Node._make, rows))


def _called(blocks: str) -> str:
    """Return the names of the tools that are called in a column of blocks."""
    calls = (block for block in BLOCKS.read(blocks) if isinstance(block, CallBlock))
    return ", ".join(call.name for call in calls)


async def locate(tx: Transaction, message_id: str) -> tuple[str, str | None]:
    """Return a message's session id and parent id. Raises `StoreError` if it is gone."""
    row = await tx.row(
        "SELECT session_id, parent_id FROM messages WHERE message_id = ?", message_id
    )
    if row is None:
        raise StoreError("This message no longer exists.")
    return row[0], row[1]


async def sibling_ids(tx: Transaction, session_id: str, parent_id: str | None) -> list[str]:
    """Return the messages that follow `parent_id` (None: the first ones), oldest first."""
    rows = await tx.rows(
        "SELECT message_id FROM messages WHERE session_id = ? AND parent_id IS ? "
        "AND hidden IS NULL ORDER BY seq",
        *(session_id, parent_id),
    )
    return [message_id for (message_id,) in rows]


async def version_ids(
    tx: Transaction, session_id: str, parent_id: str | None, message_id: str
) -> list[str]:
    """Return a message's versions, oldest first: itself and siblings that did not fail."""
    rows = await tx.rows(
        f"SELECT m.message_id FROM messages AS m WHERE m.session_id = ? AND m.parent_id IS ? "
        f"AND {_VISIBLE} AND (m.message_id = ? OR NOT {_FAILED_ATTEMPT}) ORDER BY m.seq",
        *(session_id, parent_id, message_id),
    )
    return [version_id for (version_id,) in rows]


async def check_parent(tx: Transaction, session_id: str, parent_id: str | None) -> None:
    """Raise `StoreError` unless the parent (None: the root) is a message that the session has."""
    await require_session(tx, session_id)
    if parent_id is None:
        return
    row = await tx.row(
        "SELECT hidden IS NOT NULL FROM messages WHERE message_id = ? AND session_id = ?",
        *(parent_id, session_id),
    )
    if row is None:
        raise StoreError("The message to continue from is not in this session.")
    if row[0]:
        raise StoreError("The message to continue from was deleted.")


async def newest_below(tx: Transaction, message_id: str) -> str:
    """Return the newest message at or below a visible one."""
    row = await tx.row(f"{DESCENDANTS} SELECT message_id, max(seq) FROM down", message_id)
    if row is None:
        raise AssertionError("an aggregate returns a row")
    return row[0]


async def _activate(tx: Transaction, session_id: str, message_id: str) -> None:
    await check_parent(tx, session_id, message_id)
    await set_head(tx, session_id, await newest_below(tx, message_id))


def _with_new_ids(recipe: str, ids: Mapping[str, str]) -> str:
    """Return a recipe that names other messages; one that cannot be read as it is."""

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(item) for item in cast("list[Any]", value)]
        return ids.get(value, value) if isinstance(value, str) else value

    try:
        fields = json.loads(recipe)
    except ValueError:
        return recipe
    for name in ("parent", "pinned", "muted", "summaries"):
        if name in fields:
            fields[name] = renamed(fields[name])
    for edit in fields.get("edits", ()):
        if "answered" in edit:
            edit["answered"] = renamed(edit["answered"])
    return pack(fields)
