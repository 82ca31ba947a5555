"""Sessions: opening, the list, organizing, the trash."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any
from weakref import ref

import pytest

from tests.support.tables import each_row
from tests.support.workspace import contents, say, settled
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.search import Query
from tui_chat.models.session import Entry
from tui_chat.store.branches import BranchStore
from tui_chat.store.replies import ReplyStore
from tui_chat.workspace.events import Done
from tui_chat.workspace.sessions import session_title


def hold_branches(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Let no branch be read before the second event; the first one says that one is asked for."""
    load, begun, gate = BranchStore.load, asyncio.Event(), asyncio.Event()

    async def later(store: BranchStore, session_id: str):
        begun.set()
        await gate.wait()
        return await load(store, session_id)

    monkeypatch.setattr(BranchStore, "load", later)
    return begun, gate


async def test_sending_waits_for_the_branch(make_workspace, monkeypatch: pytest.MonkeyPatch):
    workspace, heard = await make_workspace()
    for word in ("one", "two"):
        await say(workspace, heard, word)
    long, last = workspace.state.session_id, workspace.state.entries[-1].message.id
    await workspace.sessions.new()
    branch = workspace.store.branches.load
    with monkeypatch.context() as held:
        begun, gate = hold_branches(held)
        opens = asyncio.create_task(workspace.sessions.open(long))
        await begun.wait()
    assert workspace.state.entries == ()
    assert not workspace.state.is_branch_loaded
    sends = asyncio.create_task(workspace.replies.submit("three"))
    again = asyncio.create_task(workspace.replies.regenerate(last))
    await branch(long)  # whatever could go on has gone on
    assert len(heard.received) == 2
    assert not sends.done()
    assert not again.done()
    again.cancel()
    gate.set()
    await opens
    assert await sends
    await settled(workspace, heard)
    said = [message["content"] for message in json.loads(heard.received[-1].body)["messages"]]
    words = ("one", "two", "three")
    assert [text for text in said if text in words] == ["one", "one", "two", "two", "three"]


async def test_a_new_session_does_not_wait_for_the_previous_one(make_workspace, monkeypatch):
    workspace, _ = await make_workspace(sent=["one"])
    old = workspace.state.session_id
    await workspace.sessions.new()
    begun, gate = hold_branches(monkeypatch)
    opens = asyncio.create_task(workspace.sessions.open(old))
    await begun.wait()
    await workspace.sessions.new()
    assert workspace.state.is_branch_loaded
    gate.set()
    await opens
    assert workspace.state.is_branch_loaded
    assert workspace.state.session is None
    assert workspace.state.entries == ()


async def test_unchanged_entries_stay_the_same_objects(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    before = workspace.state.entries
    await say(workspace, heard, "two")
    assert all(was is now for was, now in zip(before, workspace.state.entries, strict=False))
    await workspace.branches.pin(before[0].message.id, True)
    assert workspace.state.entries[0].message.pinned
    assert workspace.state.entries[1] is before[1]


async def test_messages_of_a_left_session_are_released(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    await workspace.close()
    workspace, _ = await make_workspace()
    assert b"one" in workspace.requests.compose("and").payload.body
    kept = ref(workspace.state.entries[0].message)
    assert kept() is not None
    await workspace.sessions.new()
    gc.collect()
    assert kept() is None


async def test_a_late_read_does_not_replace_newer_entries(make_workspace, monkeypatch):
    workspace, heard = await make_workspace(sent=["one"])
    read, is_first = BranchStore.load, True

    async def late(store: BranchStore, *asked: Any, **more: Any) -> tuple[Entry, ...]:
        nonlocal is_first
        entries = await read(store, *asked, **more)
        if is_first:
            is_first = False
            await say(workspace, heard, "two")
        return entries

    monkeypatch.setattr(BranchStore, "load", late)
    await workspace.sessions.reload_branch()
    assert contents(workspace)[2:3] == ["two"]


async def three(workspace, heard) -> list[str]:
    found: list[str] = []
    for draft in ("one", "two", "three"):
        await workspace.sessions.new()
        await say(workspace, heard, draft)
        found.append(workspace.state.session_id)
    return found


def listed(workspace, session_id: str):
    return next(each for each in workspace.state.sessions if each.session_id == session_id)


async def test_several_sessions_are_organized_at_once(make_workspace):
    workspace, heard = await make_workspace()
    one, two, three_ = await three(workspace, heard)
    await workspace.session_list.organize(
        (one, three_), pinned=True, tags=(" a  b ", "a b", ""), folder="x"
    )
    for session_id in (one, three_):
        summary = listed(workspace, session_id)
        assert (summary.pinned, summary.tags, summary.folder) == (True, ("a b",), "x")
    assert listed(workspace, two).tags == ()
    assert workspace.state.session.pinned
    await workspace.session_list.organize((one,), archived=True)
    assert listed(workspace, one).archived
    assert listed(workspace, one).pinned, "what is not named stays"
    assert heard.of(Done)[-1] == Done("Archived “one”.")
    await workspace.session_list.organize((one, two), archived=True)
    assert heard.of(Done)[-1] == Done("Archived 2 sessions.")


async def test_several_sessions_are_deleted_and_restored(make_workspace):
    workspace, heard = await make_workspace()
    one, two, three_ = await three(workspace, heard)
    await workspace.sessions.delete((one, three_))
    assert [each.session_id for each in workspace.state.sessions] == [two]
    assert workspace.state.session is None
    assert heard.of(Done)[-1] == Done("Deleted 2 sessions.", undoable=True)
    await workspace.undo()
    assert len(workspace.state.sessions) == 3
    assert workspace.state.session_id == three_
    await workspace.sessions.delete((one,))
    await workspace.sessions.open(two)
    await workspace.undo()
    assert workspace.state.session_id == two, "one was not open when it was deleted"


async def test_a_background_reply_marks_its_session_unread(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("go")
    session_id = workspace.state.session_id
    await workspace.sessions.new()
    await workspace.replies.stop(session_id)
    await heard.until(lambda: any(each.unread for each in workspace.state.sessions))
    await workspace.sessions.open(session_id)
    assert not listed(workspace, session_id).unread
    assert workspace.state.entries[-1].status == "stopped"


async def test_a_session_can_be_deleted_while_its_reply_streams(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("go")
    session_id = workspace.state.session_id
    await heard.until(lambda: workspace.state.partial is not None)
    await workspace.sessions.delete((session_id,))
    assert workspace.state.streaming_sessions == frozenset()
    assert workspace.state.sessions == ()
    await workspace.undo()
    assert workspace.state.entries[-1].status == "stopped"
    assert workspace.state.entries[-1].message.content


async def test_tags_are_added_and_removed(make_workspace):
    workspace, heard = await make_workspace()
    one, two, _ = await three(workspace, heard)
    await workspace.session_list.organize((one,), tags=("shared", "own"))
    await workspace.session_list.organize((two,), tags=("shared",))
    await workspace.session_list.retag((one, two), add=("new", " new "), drop=("shared",))
    assert listed(workspace, one).tags == ("own", "new")
    assert listed(workspace, two).tags == ("new",)


async def test_a_search_hit_is_opened_with_its_context(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    await three(workspace, heard)
    [hit] = await workspace.store.search.find(Query("two", message_role="user"))
    assert [
        entry.message.role for entry in await workspace.store.branches.around(hit.message_id)
    ] == [
        "user",
        "assistant",
    ]
    assert await workspace.store.branches.around("gone") == ()
    await workspace.sessions.open_at(hit.session_id, hit.message_id)
    assert workspace.state.entries[0].message.content == "two"


async def test_the_end_of_a_reply_is_not_shown_in_a_chat_that_was_opened_meanwhile(
    make_workspace, monkeypatch: pytest.MonkeyPatch
):
    workspace, heard = await make_workspace()
    end, is_ending, goes_on = ReplyStore.end, asyncio.Event(), asyncio.Event()

    async def end_late(self: ReplyStore, entry_id: str, **more: Any):
        stored = await end(self, entry_id, **more)
        is_ending.set()
        await goes_on.wait()
        return stored

    monkeypatch.setattr(ReplyStore, "end", end_late)
    assert await workspace.replies.submit("old")
    await is_ending.wait()
    old = workspace.state.session_id
    await workspace.sessions.new()
    goes_on.set()
    await workspace.tools.all_ended()
    assert workspace.state.entries == ()
    await say(workspace, heard, "new")
    assert contents(workspace) == ["new", "new"]
    await workspace.sessions.open(old)
    assert contents(workspace) == ["old", "old"]
    assert not any(summary.unread for summary in workspace.state.sessions)


@each_row(
    ("text", "names", "title"),
    [
        ("Hello\nthere", (), "Hello there"),
        ("# Heading\n\n| Name | Größe |\n|---|---|", (), "Heading"),
        ("- first\n- second", (), "first"),
        ("#tag and 1.5 more", (), "#tag and 1.5 more"),
        ("", ("photo.png", "notes.md"), "photo.png, notes.md"),
        ("", ("",), "Files"),
        ("Look", ("photo.png",), "Look"),
    ],
)
def test_a_session_is_titled_by_its_first_words_or_files(text, names, title):
    assert session_title(None, text, [MediaBlock("file", name=name) for name in names]) == title
