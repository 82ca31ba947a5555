"""The cached list of sessions always equals a fresh one."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.stores import remove_forever
from tui_chat.errors import InputError, StoreDamaged
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.store import Store

Opener = Callable[[], Awaitable[Store]]
TALK = SessionTranscript(
    Session("t", "Talk"), (Entry(Message("user", "a", id="a", timestamp=5.0)),)
)


async def test_the_cached_list_equals_a_fresh_one(open_store: Opener) -> None:
    store, other = await open_store(), await open_store()
    await store.roles.save(Role("r", "Pirate", model="m"))
    one = (await store.sessions.create(title="One")).session_id
    two = (await store.sessions.create(role_id="r")).session_id
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: store.sessions.update(one, title="Uno", pinned=True, tags=("x",)),
        lambda: store.messages.add(one, Message("user", "hello"), None),
        lambda: store.transcripts.add(TALK),
        lambda: store.transcripts.add_many((TALK,), dry_run=True),
        lambda: store.sessions.update_many({key: {"archived": True} for key in (one, two)}),
        lambda: other.sessions.update(two, title="Dos"),
        lambda: store.roles.save(Role("r", "Sailor", model="n")),
        lambda: store.sessions.delete((one, "t")),
        lambda: store.sessions.restore((one,)),
        lambda: store.roles.delete("r"),
        lambda: remove_forever(other, two),
        lambda: store.sessions.purge_trash(-1.0),
        lambda: remove_forever(store, one),
    ]
    before = await store.sessions.list()
    assert [each.title for each in before] == ["Pirate", "One"]
    for number, change in enumerate(changes):
        await change()
        listed = await store.sessions.list()
        fresh = await store.sessions.list(10)
        assert listed == fresh, number
        assert await store.sessions.list() is listed
    assert listed == ()


async def test_a_rolled_back_change_is_not_listed(open_store: Opener) -> None:
    store = await open_store()
    session = await store.sessions.create(title="One")
    listed = await store.sessions.list()
    with pytest.raises(InputError):
        await store.sessions.create(title="Two", role_id="nobody")
    await store.transcripts.add_many((TALK,), dry_run=True)
    assert await store.sessions.list() == listed
    assert listed[0].session_id == session.session_id


async def test_an_unreadable_row_does_not_break_later_reads(open_store: Opener, path: Path) -> None:
    store = await open_store()
    session = (await store.sessions.create(title="One")).session_id
    await store.sessions.create(title="Two")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE sessions SET tags = 'x' WHERE session_id = ?", (session,))
        with pytest.raises(StoreDamaged) as told:  # and whoever has the error keeps it
            await store.sessions.list()
        other.execute("UPDATE sessions SET tags = '[]' WHERE session_id = ?", (session,))
    assert {each.title for each in await store.sessions.list()} == {"One", "Two"}
    await store.sessions.update(session, title="Eins")
    assert "cannot be read" in str(told.value)
