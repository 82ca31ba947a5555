"""Opening long sessions: their end is shown first, and nothing is made of half a history."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any
from weakref import ref

import pytest

from tests.e2e.conftest import settled
from tui_chat.models.session import Entry
from tui_chat.offline import HttpRequest
from tui_chat.store.branches import Branches
from tui_chat.workspace import NewestRead, opening


async def test_the_end_is_shown_first_and_what_is_sent_waits_for_the_whole(
    make_desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(opening, "SHOWN_AT_ONCE", 2)
    received: list[HttpRequest] = []
    desk, heard = await make_desk(on_request=received.append)
    for word in ("one", "two"):
        assert await desk.submit(word)
        await settled(desk, heard)
    long = desk.session_id
    await desk.keep_draft(desk.session, "kept")
    await desk.new()
    heard.changes.clear()
    store, gate = desk._outside.store, asyncio.Event()
    branch = store.branches.load

    async def later(session_id: str, *, last: int | None = None):
        if last is None:
            await gate.wait()
        return await branch(session_id, last=last)

    monkeypatch.setattr(Branches, "load", lambda _, *given, **more: later(*given, **more))
    opens = asyncio.create_task(desk.open(long))
    await heard.until(lambda: bool(heard.of(NewestRead)))
    (shown,) = heard.of(NewestRead)
    assert [entry.message.content for entry in shown.entries] == ["two", "two"]
    assert shown.draft == "kept"
    assert desk.entries == ()
    assert not desk.is_whole
    sends = asyncio.create_task(desk.submit("three"))
    again = asyncio.create_task(desk.retry(shown.entries[-1].message.id))
    await branch(long)  # whatever could go on has gone on
    assert len(received) == 2
    assert not sends.done()
    assert not again.done()
    again.cancel()
    gate.set()
    await opens
    assert await sends
    await settled(desk, heard)
    said = [message["content"] for message in json.loads(received[-1].body)["messages"]]
    words = ("one", "two", "three")
    assert [text for text in said if text in words] == ["one", "one", "two", "two", "three"]


async def test_a_new_chat_does_not_wait_for_the_session_it_replaced(
    make_desk, monkeypatch: pytest.MonkeyPatch
):
    desk, heard = await make_desk()
    assert await desk.submit("one")
    await settled(desk, heard)
    old, gate = desk.session_id, asyncio.Event()
    await desk.new()
    store = desk._outside.store
    branch, begun = store.branches.load, asyncio.Event()

    async def later(session_id: str, *, last: int | None = None):
        begun.set()
        await gate.wait()
        return await branch(session_id, last=last)

    monkeypatch.setattr(Branches, "load", lambda _, *given, **more: later(*given, **more))
    opens = asyncio.create_task(desk.open(old))
    await begun.wait()
    await desk.new()
    assert desk.is_whole
    gate.set()
    await opens
    assert desk.is_whole
    assert desk.session is None
    assert desk.entries == ()


async def test_entries_that_stay_as_they_were_stay_the_same_objects(make_desk):
    desk, heard = await make_desk()
    assert await desk.submit("one")
    await settled(desk, heard)
    before = desk.entries
    assert await desk.submit("two")
    await settled(desk, heard)
    assert all(was is now for was, now in zip(before, desk.entries, strict=False))
    await desk.pin(before[0].message.id, True)
    assert desk.entries[0].message.pinned
    assert desk.entries[1] is before[1]


async def test_the_messages_of_a_session_that_is_left_are_let_go_of(make_desk):
    desk, heard = await make_desk()
    assert await desk.submit("one")
    await settled(desk, heard)
    await desk.close()
    desk, _ = await make_desk()
    assert b"one" in desk.composed("and").payload.body
    kept = ref(desk.entries[0].message)
    assert kept() is not None
    await desk.new()
    gc.collect()
    assert kept() is None


async def test_what_was_read_late_is_not_put_over_what_is_newer(
    make_desk, monkeypatch: pytest.MonkeyPatch
):
    desk, heard = await make_desk()
    assert await desk.submit("one")
    await settled(desk, heard)
    read, is_first = Branches.load, True

    async def late(store: Branches, *asked: Any, **more: Any) -> tuple[Entry, ...]:
        nonlocal is_first
        entries = await read(store, *asked, **more)
        if is_first:
            is_first = False
            assert await desk.submit("two")
            await settled(desk, heard)
        return entries

    monkeypatch.setattr(Branches, "load", late)
    await desk._opening.reload()
    assert [entry.message.content for entry in desk.entries][2:3] == ["two"]
