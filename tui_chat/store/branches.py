"""The tree of a session: reading a branch of it, walking it, deleting from it and copying it.

1. The shown branch leads from a first message down to the session's head. Whatever is edited or
   asked again becomes a sibling; nothing is overwritten.
2. A deleted message is hidden with all that follows it; hidden messages are in no branch, no
   tree, no count and no search. The head is never hidden, so nothing that leads to it is.
3. Children have a higher `seq` than their parents, so the newest message below another one is
   a leaf.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from tui_chat.errors import InputError, StoreError
from tui_chat.models.session import Entry, Node, Session
from tui_chat.store import index, messages, sessions
from tui_chat.store.database import Row, Transaction
from tui_chat.store.growing import folded
from tui_chat.store.rows import ENTRY, ENTRY_NAMES, entry_of

Placed = tuple[Row, tuple[int, int]]
"""A row for `entry_of`, and which of how many siblings it is."""

_VISIBLE = "m.seq NOT IN (SELECT message FROM hidden_messages)"

_BRANCH = f"""
    WITH RECURSIVE up (seq, parent_id) AS (
        SELECT seq, parent_id FROM messages WHERE message_id = ?
        UNION ALL
        SELECT m.seq, m.parent_id FROM up JOIN messages AS m ON m.message_id = up.parent_id
        LIMIT ?
    )
    SELECT {ENTRY}, m.seq FROM up JOIN messages AS m ON m.seq = up.seq
"""

# Those that are not alone: the only ones whose siblings have to be counted.
_FORKS = f"""
    SELECT m.parent_id, m.message_id
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

# What a copy has of its original; ids, place and owner are its own.
_COPIED = ", ".join(
    [*(name for name in ENTRY_NAMES if not name.endswith("_id")), "tool_call_id", "created"]
)

_BELOW = """
    WITH RECURSIVE down (seq, message_id) AS (
        SELECT seq, message_id FROM messages WHERE message_id = ?
        UNION ALL
        SELECT m.seq, m.message_id FROM down JOIN messages AS m ON m.parent_id = down.message_id
        WHERE m.seq NOT IN (SELECT message FROM hidden_messages)
    )
"""

_WORDS = 200
"""Characters of a message's text that are looked at for the words a node shows."""

_EVERYTHING = -1  # what SQLite calls no limit


async def shown(
    tx: Transaction, session_id: str, last: int | None, before: str | None
) -> list[Placed]:
    """Return the shown branch, or the part of it that ends before the message `before`; of that
    the `last` messages, or all.
    """
    if before is None:
        row = await tx.row("SELECT head_id FROM sessions WHERE session_id = ?", session_id)
    else:
        row = await tx.row("SELECT parent_id FROM messages WHERE message_id = ?", before)
    if row is None or row[0] is None:
        return []
    return await _upwards(tx, session_id, row[0], last)


async def _upwards(
    tx: Transaction, session_id: str, end_id: str, last: int | None = None
) -> list[Placed]:
    """Return the messages that lead to `end_id`, itself included, first message first."""
    rows = await tx.rows(_BRANCH, end_id, _EVERYTHING if last is None else last)
    rows.reverse()
    return await _placed(tx, session_id, rows)


async def _placed(tx: Transaction, session_id: str, rows: list[Row]) -> list[Placed]:
    """Fill in what is not in the rows themselves."""
    families: defaultdict[str | None, list[str]] = defaultdict(list)
    for parent_id, message_id in await tx.rows(_FORKS, session_id):
        families[parent_id].append(message_id)
    places = {
        message_id: (number, len(family))
        for family in families.values()
        for number, message_id in enumerate(family)
    }
    return [
        (
            await _as_far_as_it_is(tx, row) if row[_STATUS] == "streaming" else row,
            places.get(row[0], (0, 1)),
        )
        for row in rows
    ]


async def leading_to(tx: Transaction, message_id: str) -> list[Placed]:
    """Return the messages that lead to one, itself included, deleted ones too."""
    row = await tx.row("SELECT session_id FROM messages WHERE message_id = ?", message_id)
    return [] if row is None else await _upwards(tx, row[0], message_id)


async def around(tx: Transaction, message_id: str, before: int) -> list[Placed]:
    """Return a visible message, so many that lead to it, and the newest that follows it."""
    row = await tx.row(
        f"SELECT session_id FROM messages AS m WHERE message_id = ? AND {_VISIBLE}", message_id
    )
    if row is None:
        return []
    after = await tx.row(
        "SELECT message_id FROM messages AS m "
        f"WHERE parent_id = ? AND {_VISIBLE} ORDER BY seq DESC LIMIT 1",
        message_id,
    )
    end, count = (message_id, before + 1) if after is None else (after[0], before + 2)
    return await _upwards(tx, row[0], end, count)


async def single(tx: Transaction, message_id: str) -> Placed | None:
    """Return a visible message, None if there is none."""
    row = await tx.row("SELECT session_id FROM messages AS m WHERE message_id = ? AND "
                       f"{_VISIBLE}", message_id)  # fmt: skip
    if row is None:
        return None
    return (await _upwards(tx, row[0], message_id, 1))[0]


async def tree(tx: Transaction, session_id: str) -> tuple[Node, ...]:
    """Return all messages of a session but hidden ones, in the order in which they were made."""
    rows = await tx.rows(
        "SELECT m.message_id, m.parent_id, m.message_role, m.status, m.created, "
        f"substr(m.content, 1, {_WORDS}) FROM messages AS m "
        f"WHERE m.session_id = ? AND {_VISIBLE} ORDER BY m.seq",
        session_id,
    )
    parents = {row[1] for row in rows}
    return tuple(
        Node(*facts, words=first_words(text), is_leaf=facts[0] not in parents)
        for *facts, text in rows
    )


def first_words(text: str) -> str:
    """Return the beginning of a message's text on one line, as a node shows it."""
    return " ".join(text[:_WORDS].split())


async def show(tx: Transaction, session_id: str, message_id: str) -> None:
    """Show the branch through a message, to the newest leaf below it."""
    await messages.check_parent(tx, session_id, message_id)
    head = await newest_below(tx, message_id)
    await sessions.move_head(tx, session_id, head)


async def show_sibling(tx: Transaction, message_id: str, step: int) -> None:
    """Show the branch through the sibling that is `step` places on; the last one at the ends."""
    session_id, parent_id = await place(tx, message_id)
    family = await messages.siblings(tx, session_id, parent_id)
    if message_id not in family:
        raise StoreError("This message was deleted.")
    wanted = family.index(message_id) + step
    await show(tx, session_id, family[max(0, min(wanted, len(family) - 1))])


async def hide(tx: Transaction, message_id: str, now: float) -> None:
    """Delete a message with all that follows it, so that it can be restored."""
    session_id, parent_id = await place(tx, message_id)
    await messages.check_parent(tx, session_id, message_id)
    if await tx.row(f"{_BELOW} SELECT 1 FROM down JOIN messages AS m USING (seq) "
                    "WHERE m.status = 'streaming'", message_id):  # fmt: skip
        raise InputError("A reply is still arriving here.", advice="Stop it, then delete it.")
    family = await messages.siblings(tx, session_id, parent_id)
    head = await tx.row(
        f"{_BELOW} SELECT s.head_id FROM down JOIN sessions AS s ON s.head_id = down.message_id",
        message_id,
    )
    # A deletion is never older than those among the messages it hides, whatever the clock says:
    # the trash is emptied by age, and must not take a message without what follows it.
    await tx.run(
        "INSERT INTO deletions (message_id, head_id, deleted) VALUES (?, ?, max(?, coalesce("
        "(SELECT max(d.deleted) FROM deletions AS d JOIN messages AS m USING (message_id) "
        "WHERE m.session_id = ?), 0)))",
        *(message_id, head and head[0], now, session_id),
    )
    await tx.run(
        f"{_BELOW} INSERT INTO hidden_messages (message, deletion) "
        "SELECT seq, (SELECT seq FROM deletions WHERE message_id = ?) FROM down",
        *(message_id, message_id),
    )
    if head is not None:
        at = family.index(message_id)
        beside = family[at - 1] if at else family[1] if len(family) > 1 else None
        await sessions.move_head(
            tx, session_id, parent_id if beside is None else await newest_below(tx, beside)
        )


async def unhide(tx: Transaction, message_id: str) -> None:
    """Bring back a deleted message with what was deleted with it. It is shown again if it was
    shown. One that is not deleted stays as it is.
    """
    session_id, parent_id = await place(tx, message_id)
    row = await tx.row("SELECT head_id FROM deletions WHERE message_id = ?", message_id)
    if row is None:
        return
    await messages.check_parent(tx, session_id, parent_id)
    await tx.run("DELETE FROM deletions WHERE message_id = ?", message_id)
    if row[0] is not None:
        await sessions.move_head(tx, session_id, row[0])


async def fork(
    tx: Transaction, message_id: str, title: str, now: float, new_id: Callable[[], str]
) -> Session:
    """Make a session like that of a message, with the branch that leads to the message.

    Everything is copied under new ids: replies with the recipes of their requests, which speak
    of the copies then, but without the exact bodies.
    """
    session_id, _ = await place(tx, message_id)
    await messages.check_parent(tx, session_id, message_id)
    old = await sessions.require(tx, session_id)
    copy = replace(
        old, session_id=new_id(), title=title or old.title, head_id=None, created=now, updated=now
    )
    made = await sessions.insert(tx, copy)
    rows = await tx.rows(f"{_PATH} SELECT message_id, status FROM up ORDER BY seq", message_id)
    if any(status == "streaming" for _, status in rows):
        raise InputError("This reply is still arriving.", advice="Fork when it has ended.")
    fresh = {old_id: new_id() for old_id, _ in rows}
    parents = [None, *fresh.values()]
    await tx.run_many(
        f"INSERT INTO messages (session_id, message_id, parent_id, {_COPIED}) "
        f"SELECT ?, ?, ?, {_COPIED} FROM messages WHERE message_id = ?",
        [
            (made.session_id, fresh_id, parent_id, old_id)
            for (old_id, fresh_id), parent_id in zip(fresh.items(), parents, strict=False)
        ],
    )
    await index.add_stored(tx, "session_id = ?", made.session_id)
    recipes = await tx.rows(
        f"{_PATH} SELECT r.seq, r.message_id, r.recipe FROM up JOIN requests AS r "
        "USING (message_id) ORDER BY r.seq",
        message_id,
    )
    await tx.run_many(
        "INSERT INTO requests (message_id, endpoint, protocol, method, url, sha256, created, "
        "recipe, copied) SELECT ?, endpoint, protocol, method, url, sha256, created, ?, 1 "
        "FROM requests WHERE seq = ?",
        [(fresh[old_id], _said_of(recipe, fresh), seq) for seq, old_id, recipe in recipes],
    )
    await tx.run(
        "INSERT INTO variables SELECT ?, key, value FROM variables WHERE session_id = ?",
        *(made.session_id, session_id),
    )
    await sessions.move_head(tx, made.session_id, fresh[message_id])
    return await sessions.require(tx, made.session_id)


def _said_of(recipe: str, ids: Mapping[str, str]) -> str:
    """Return a recipe that speaks of other messages: each string that is an id, exchanged."""
    return re.sub(r'"([^"\\]*)"', lambda found: f'"{ids.get(found[1], found[1])}"', recipe)


async def place(tx: Transaction, message_id: str) -> tuple[str, str | None]:
    """Return the session of a message and its parent; refuse one that is gone."""
    row = await tx.row(
        "SELECT session_id, parent_id FROM messages WHERE message_id = ?", message_id
    )
    if row is None:
        raise StoreError("This message no longer exists.")
    return row[0], row[1]


async def everything(tx: Transaction, session_id: str) -> tuple[Entry, ...]:
    """Return the messages of all branches in the order in which they were made."""
    rows = await tx.rows(
        f"SELECT {ENTRY} FROM messages AS m WHERE m.session_id = ? AND {_VISIBLE} ORDER BY m.seq",
        session_id,
    )
    return tuple(entry_of(*placed) for placed in await _placed(tx, session_id, rows))


async def has_hidden(tx: Transaction, session_id: str) -> bool:
    """Tell whether anything was deleted in a session."""
    sql = "SELECT 1 FROM deletions JOIN messages AS m USING (message_id) WHERE m.session_id = ?"
    return await tx.row(sql, session_id) is not None


async def newest_below(tx: Transaction, message_id: str) -> str:
    """Return the newest message at or below a visible one."""
    row = await tx.row(f"{_BELOW} SELECT message_id, max(seq) FROM down", message_id)
    if row is None:
        raise AssertionError("an aggregate returns a row")
    return row[0]


async def _as_far_as_it_is(tx: Transaction, row: Row) -> Row:
    """Fill in what a streaming reply has received so far."""
    fields = await folded(tx, row[0])
    filled = list(row)
    for field, text in fields.items():
        filled[ENTRY_NAMES.index(field)] = text
    return tuple(filled)


_STATUS = ENTRY_NAMES.index("status")
