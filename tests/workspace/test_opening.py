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
from tui_chat.store.branches import BranchStore
from tui_chat.workspace import BranchEndLoaded, sessions


async def test_the_end_is_shown_first_and_what_is_sent_waits_for_the_whole(
    make_workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sessions, "FIRST_MESSAGES", 2)
    received: list[HttpRequest] = []
    workspace, heard = await make_workspace(on_request=received.append)
    for word in ("one", "two"):
        assert await workspace.replies.submit(word)
        await settled(workspace, heard)
    long = workspace.state.session_id
    await workspace.drafts.save(workspace.state.session, "kept")
    await workspace.sessions.new()
    heard.changes.clear()
    store, gate = workspace.store, asyncio.Event()
    branch = store.branches.load

    async def later(session_id: str, *, last: int | None = None):
        if last is None:
            await gate.wait()
        return await branch(session_id, last=last)

    monkeypatch.setattr(BranchStore, "load", lambda _, *given, **more: later(*given, **more))
    opens = asyncio.create_task(workspace.sessions.open(long))
    await heard.until(lambda: bool(heard.of(BranchEndLoaded)))
    (shown,) = heard.of(BranchEndLoaded)
    assert [entry.message.content for entry in shown.entries] == ["two", "two"]
    assert shown.draft == "kept"
    assert workspace.state.entries == ()
    assert not workspace.state.is_branch_loaded
    sends = asyncio.create_task(workspace.replies.submit("three"))
    again = asyncio.create_task(workspace.replies.regenerate(shown.entries[-1].message.id))
    await branch(long)  # whatever could go on has gone on
    assert len(received) == 2
    assert not sends.done()
    assert not again.done()
    again.cancel()
    gate.set()
    await opens
    assert await sends
    await settled(workspace, heard)
    said = [message["content"] for message in json.loads(received[-1].body)["messages"]]
    words = ("one", "two", "three")
    assert [text for text in said if text in words] == ["one", "one", "two", "two", "three"]


async def test_a_new_chat_does_not_wait_for_the_session_it_replaced(
    make_workspace, monkeypatch: pytest.MonkeyPatch
):
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    old, gate = workspace.state.session_id, asyncio.Event()
    await workspace.sessions.new()
    store = workspace.store
    branch, begun = store.branches.load, asyncio.Event()

    async def later(session_id: str, *, last: int | None = None):
        begun.set()
        await gate.wait()
        return await branch(session_id, last=last)

    monkeypatch.setattr(BranchStore, "load", lambda _, *given, **more: later(*given, **more))
    opens = asyncio.create_task(workspace.sessions.open(old))
    await begun.wait()
    await workspace.sessions.new()
    assert workspace.state.is_branch_loaded
    gate.set()
    await opens
    assert workspace.state.is_branch_loaded
    assert workspace.state.session is None
    assert workspace.state.entries == ()


async def test_entries_that_stay_as_they_were_stay_the_same_objects(make_workspace):
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    before = workspace.state.entries
    assert await workspace.replies.submit("two")
    await settled(workspace, heard)
    assert all(was is now for was, now in zip(before, workspace.state.entries, strict=False))
    await workspace.branches.pin(before[0].message.id, True)
    assert workspace.state.entries[0].message.pinned
    assert workspace.state.entries[1] is before[1]


async def test_the_messages_of_a_session_that_is_left_are_let_go_of(make_workspace):
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    await workspace.close()
    workspace, _ = await make_workspace()
    assert b"one" in workspace.requests.compose("and").payload.body
    kept = ref(workspace.state.entries[0].message)
    assert kept() is not None
    await workspace.sessions.new()
    gc.collect()
    assert kept() is None


async def test_what_was_read_late_is_not_put_over_what_is_newer(
    make_workspace, monkeypatch: pytest.MonkeyPatch
):
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    read, is_first = BranchStore.load, True

    async def late(store: BranchStore, *asked: Any, **more: Any) -> tuple[Entry, ...]:
        nonlocal is_first
        entries = await read(store, *asked, **more)
        if is_first:
            is_first = False
            assert await workspace.replies.submit("two")
            await settled(workspace, heard)
        return entries

    monkeypatch.setattr(BranchStore, "load", late)
    await workspace.sessions.reload_branch()
    assert [entry.message.content for entry in workspace.state.entries][2:3] == ["two"]
