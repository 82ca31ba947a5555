"""Messages: what is stored of them, and their place in the tree."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.support.stores import RICH, remove_forever
from tui_chat.errors import StoreError
from tui_chat.models.message import Message
from tui_chat.models.semantics import MessageSemantics
from tui_chat.models.session import Entry
from tui_chat.store import Store
from tui_chat.store.database import Transaction
from tui_chat.store.messages import InsertPosition, insert_message
from tui_chat.store.sessions import set_head


async def test_a_message_is_read_back_equal(store: Store) -> None:
    plain = Message("user")
    same = {f.name for f in fields(Message) if getattr(RICH, f.name) == getattr(plain, f.name)}
    assert same == {"id"}, "a new field of Message wants a value in RICH"
    made = await store.sessions.create()
    entry = await store.messages.add(made.session_id, RICH, None)
    assert entry == Entry(replace(RICH, id=entry.message.id))
    assert await store.branches.load(made.session_id) == (entry,)


async def test_a_given_id_is_kept(store: Store) -> None:
    made = await store.sessions.create()
    entry = await store.messages.add(made.session_id, Message("user", id="mine"), None)
    assert entry.message.id == "mine"
    with pytest.raises(StoreError):
        await store.messages.add(made.session_id, Message("user", id="mine"), None)
    assert len(await store.branches.load(made.session_id)) == 1


async def test_the_active_branch_leads_from_the_root_to_the_newest(store: Store) -> None:
    made = await store.sessions.create()

    async def say(text: str, parent: Entry | None) -> Entry:
        return await store.messages.add(
            made.session_id, Message("user", text), parent and parent.message.id
        )

    async def shown() -> str:
        return " ".join(e.message.content for e in await store.branches.load(made.session_id))

    a = await say("a", None)
    b = await say("b", a)
    await say("c", b)
    assert await shown() == "a b c"
    await say("d", a)
    assert await shown() == "a d"
    await say("e", None)
    assert await shown() == "e"
    assert (await store.sessions.list())[0].message_count == 5


async def test_a_parent_of_another_session_is_refused(store: Store) -> None:
    one, two = await store.sessions.create(), await store.sessions.create()
    entry = await store.messages.add(one.session_id, Message("user"), None)
    for parent in (entry.message.id, "nowhere"):
        with pytest.raises(StoreError):
            await store.messages.add(two.session_id, Message("user"), parent)


async def test_lone_surrogates_are_replaced(store: Store) -> None:
    made = await store.sessions.create(title="\ud800")
    await store.messages.add(
        made.session_id,
        Message("user", "a\udc00b", semantics=MessageSemantics(refusal="\ud800")),
        None,
    )
    (entry,) = await store.branches.load(made.session_id)
    assert entry.message.content == "a\ufffdb"
    assert entry.message.semantics.refusal == "\ufffd"


async def test_a_branch_deeper_than_sqlites_cascades_is_read_and_deleted(store: Store) -> None:
    made = await store.sessions.create()
    depth = 1500  # more than the 1,000 levels that a cascade may have

    async def fill(tx: Transaction) -> None:  # at one go: each message by itself is a sync
        for number in range(depth):
            message = Message("user", str(number), id=f"m{number}")
            entry = Entry(message, f"m{number - 1}" if number else None)
            await insert_message(tx, entry, InsertPosition(made.session_id, 0.0))
        await set_head(tx, made.session_id, f"m{depth - 1}")

    await store.database.write(fill)
    branch = await store.branches.load(made.session_id)
    assert [e.message.content for e in branch] == list(map(str, range(depth)))
    await remove_forever(store, made.session_id)
    assert await store.branches.load(made.session_id) == ()
