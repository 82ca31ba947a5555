"""The list of all sessions that is kept: always what a fresh reading would give."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from tui_chat.errors import InputError, StoreDamaged
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import Transcript
from tui_chat.store import Store

Opener = Callable[[], Awaitable[Store]]
TALK = Transcript(Session("t", "Talk"), (Entry(Message("user", "a", id="a", timestamp=5.0)),))


async def test_the_kept_list_is_what_a_fresh_one_would_be(open_store: Opener) -> None:
    store, other = await open_store(), await open_store()
    await store.save_role(Role("r", "Pirate", model="m"))
    one = (await store.create_session(title="One")).session_id
    two = (await store.create_session(role_id="r")).session_id
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: store.update_session(one, title="Uno", pinned=True, tags=("x",)),
        lambda: store.add_message(one, Message("user", "hello"), None),
        lambda: store.import_session(TALK),
        lambda: store.import_sessions((TALK,), dry_run=True),
        lambda: store.update_sessions((one, two), archived=True),
        lambda: other.update_session(two, title="Dos"),
        lambda: store.save_role(Role("r", "Sailor", model="n")),
        lambda: store.delete_sessions((one, "t")),
        lambda: store.restore_sessions((one,)),
        lambda: store.delete_role("r"),
        lambda: other.delete_session(two),
        lambda: store.purge_trash(-1.0),
        lambda: store.delete_session(one),
    ]
    before = await store.sessions()
    assert [each.title for each in before] == ["Pirate", "One"]
    for number, change in enumerate(changes):
        await change()
        listed = await store.sessions()
        fresh = await store.sessions(10)
        assert listed == fresh, number
        assert await store.sessions() is listed
    assert listed == ()


async def test_what_did_not_happen_is_not_listed(open_store: Opener) -> None:
    store = await open_store()
    session = await store.create_session(title="One")
    listed = await store.sessions()
    with pytest.raises(InputError):
        await store.create_session(title="Two", role_id="nobody")
    await store.import_sessions((TALK,), dry_run=True)
    assert await store.sessions() == listed
    assert listed[0].session_id == session.session_id


async def test_after_a_row_that_cannot_be_read_all_goes_on(open_store: Opener, path: Path) -> None:
    store = await open_store()
    session = (await store.create_session(title="One")).session_id
    await store.create_session(title="Two")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE sessions SET tags = 'x' WHERE session_id = ?", (session,))
        with pytest.raises(StoreDamaged) as told:  # and whoever has the error keeps it
            await store.sessions()
        other.execute("UPDATE sessions SET tags = '[]' WHERE session_id = ?", (session,))
    assert {each.title for each in await store.sessions()} == {"One", "Two"}
    await store.update_session(session, title="Eins")
    assert "cannot be read" in str(told.value)
