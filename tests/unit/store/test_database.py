"""Cancelling callers at any moment affects no other caller and loses no acknowledged write."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.stores import Opener, begin
from tests.support.tables import each_row
from tui_chat.models.message import Message
from tui_chat.store import Store


@each_row("seed", range(8))
async def test_cancelled_writers_do_not_affect_others(
    tmp_path: Path, open_store: Opener, seed: int
) -> None:
    store = await open_store(tmp_path / "chat.db")
    chance = random.Random(seed)
    session = await store.sessions.create()
    promised: list[str] = []

    async def write(name: str) -> None:
        for number in range(12):
            text = f"{name}-{number}"
            await store.messages.add(session.session_id, Message.of("user", text, id=text), None)
            promised.append(text)
            await store.sessions.list()

    async def disturb(task: asyncio.Task[None]) -> None:
        # From before the task begins to the midst of any statement of a later write.
        for _ in range(chance.choice((0, 1, 2, 3, 5, 8, 13, 40, 100))):
            await asyncio.sleep(chance.choice((0, 0, 0.0001, 0.0005)))
        task.cancel()

    calm = [asyncio.create_task(write(f"calm{n}")) for n in range(3)]
    hasty = [asyncio.create_task(write(f"hasty{n}")) for n in range(10)]
    await asyncio.gather(*map(disturb, hasty))
    await asyncio.gather(*calm)
    ended = await asyncio.gather(*hasty, return_exceptions=True)
    assert any(isinstance(end, asyncio.CancelledError) for end in ended)
    assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ended)

    found = [node.message_id for node in await store.branches.tree(session.session_id)]
    assert {*promised} <= {*found}
    assert len([text for text in promised if text.startswith("calm")]) == 36
    await store.close()
    again = await open_store(tmp_path / "chat.db")
    nodes = await again.branches.tree(session.session_id)
    assert [node.message_id for node in nodes] == found


async def test_a_cancelled_write_continues_and_close_awaits_it(
    store: Store, open_store: Opener
) -> None:
    session = await store.sessions.create()
    writers = [
        asyncio.create_task(
            store.messages.add(session.session_id, Message.of("user", str(n)), None)
        )
        for n in range(20)
    ]
    await asyncio.sleep(0)
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    assert all(writer.cancelled() for writer in writers)
    await store.close()
    (summary,) = await (await open_store()).sessions.list()
    assert summary.message_count == 20


async def test_the_next_flush_knows_a_cancelled_one(store: Store) -> None:
    session = await store.sessions.create()
    reply = (await begin(store, session.session_id)).reply.message
    for text in ("abcdefgh", "abcX", "abcdefghi", "abcdefghij"):
        task = asyncio.create_task(store.replies.flush(reply.id, Message.of("assistant", text)))
        await asyncio.sleep(0)
        task.cancel()
        assert (await store.branches.load(session.session_id))[-1].message.content == text


async def test_close_can_be_cancelled(store: Store, open_store: Opener) -> None:
    session = await store.sessions.create()
    writer = asyncio.create_task(
        store.messages.add(session.session_id, Message.of("user", "x"), None)
    )
    await asyncio.sleep(0)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await store.close()
    await writer
    assert (await (await open_store()).sessions.list())[0].message_count == 1


async def test_an_error_of_cancelled_work_is_logged(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = await store.sessions.create()
    writer = asyncio.create_task(store.messages.add(session.session_id, Message("user"), "nowhere"))
    await asyncio.sleep(0)
    writer.cancel()
    with caplog.at_level(logging.WARNING):
        await store.close()
    assert "is not in this session" in caplog.text


def test_a_closing_event_loop_leaves_a_valid_database(
    path: object, clock: Callable[[], float], new_id: Callable[[], str]
) -> None:
    """`asyncio.run` cancels every task at its end, also those that the store owns."""

    async def abrupt() -> None:
        store = await Store.open(path, now=clock, new_id=new_id)  # type: ignore[arg-type]
        session = await store.sessions.create()
        for n in range(30):
            asyncio.create_task(  # noqa: RUF006 - left alone on purpose
                store.messages.add(session.session_id, Message.of("user", str(n)), None)
            )
        try:
            await asyncio.sleep(0.005)
            raise KeyboardInterrupt
        finally:
            await store.close()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(abrupt())

    async def after() -> int:
        async with await Store.open(path, now=clock, new_id=new_id) as store:  # type: ignore[arg-type]
            return (await store.sessions.list())[0].message_count

    assert asyncio.run(after()) == 30
