"""Replies, messages and drafts while the database cannot be written to."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.support.full_disk import BUSY, FULL, Disk, disk
from tests.support.tables import each_row
from tests.support.workspace import Heard, MakeWorkspace, last_failure, say, settled
from tui_chat.offline import models as catalog
from tui_chat.store import Store
from tui_chat.workspace import unsaved_writes
from tui_chat.workspace.events import (
    Done,
    Failed,
    ReplyGrew,
    UnsavedWritesChanged,
    WorkspaceEvent,
)
from tui_chat.workspace.workspace import Workspace

__all__ = ["disk"]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaved_writes, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(unsaved_writes, "LONGEST_PAUSE", 0.1)


@pytest.fixture
def no_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaved_writes, "FIRST_PAUSE", 1000.0)


def lorem(tokens: int) -> str:
    """Return the whole reply of the model for this number of tokens."""
    return "".join(catalog.blocks(tokens))


async def when_it_grows(workspace: Workspace, heard: Heard, act: Callable[[], object]) -> None:
    """Send a message; do something once its reply begins to grow, however soon it ends."""

    def react(change: WorkspaceEvent) -> None:
        if isinstance(change, ReplyGrew):
            heard.react = lambda change: None
            act()

    heard.react = react
    assert await workspace.replies.submit("go")


async def replied_onto(
    disk: Disk, make_workspace: MakeWorkspace, fault: int = FULL
) -> tuple[Workspace, Heard]:
    """Send a message; the disk refuses writes when its reply grows, which then ends."""
    workspace, heard = await make_workspace(model="lorem:500:60")
    await when_it_grows(workspace, heard, partial(setattr, disk, "fault", fault))
    await heard.until(lambda: disk.fault is not None and not workspace.state.is_streaming)
    await unsaved(workspace, heard)
    return workspace, heard


async def replying(make_workspace: MakeWorkspace) -> tuple[Workspace, Heard]:
    """Return a workspace in which a long reply arrives."""
    workspace, heard = await make_workspace(model="lorem:40:2000")
    assert await workspace.replies.submit("go")
    await heard.until(lambda: workspace.state.partial is not None)
    return workspace, heard


async def unsaved(workspace: Workspace, heard: Heard) -> None:
    await heard.until(
        lambda: bool(workspace.state.entries) and bool(workspace.state.entries[-1].unsaved)
    )


async def written(workspace: Workspace, heard: Heard) -> None:
    """Wait until everything is stored."""
    await heard.until(lambda: not workspace.unsaved_writes.reason)


def stored(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "chat.db")) as connection:
        return connection.execute("SELECT status, content FROM messages ORDER BY seq").fetchall()


async def test_a_reply_stays_in_memory_and_is_written_later(make_workspace, disk, tmp_path):
    workspace, heard = await replied_onto(disk, make_workspace)
    await heard.until(lambda: any("not saved yet" in str(t.error) for t in heard.of(Failed)))
    await heard.until(lambda: workspace.state.entries[-1].status == "complete")
    reply = workspace.state.entries[-1]
    assert reply.message.content == lorem(60)
    assert reply.unsaved == workspace.unsaved_writes.reason
    assert reply.unsaved.endswith("chat.db is full.")
    assert (reply.model, reply.endpoint) == ("lorem:500:60", "loopback")
    await heard.until(lambda: [s.status for s in workspace.state.sessions] == ["complete"])
    assert stored(tmp_path)[-1] == ("streaming", "")
    # Nothing says that another window has it: what cannot be done is writing.
    assert not await workspace.replies.submit("more")
    assert "another window" not in last_failure(heard)
    assert "is full" in last_failure(heard)
    disk.fault = None
    await written(workspace, heard)
    await heard.until(lambda: not workspace.state.entries[-1].unsaved)
    assert stored(tmp_path)[-1] == ("complete", reply.message.content)
    assert heard.of(UnsavedWritesChanged)[-1] == UnsavedWritesChanged("")
    assert heard.of(Done)[-1].sentence == "What could not be saved before is saved now."
    await say(workspace, heard, "more")
    assert len(workspace.state.entries) == 4


async def test_the_pauses_grow_to_a_limit(make_workspace, disk, monkeypatch):
    pauses: list[float] = []

    async def end_at_once(waited, pause: float) -> None:
        waited.close()
        pauses.append(pause)
        if len(pauses) == 6:
            disk.fault = None
        await asyncio.sleep(0)

    monkeypatch.setattr(unsaved_writes.asyncio, "wait_for", end_at_once)
    monkeypatch.setattr(unsaved_writes, "FIRST_PAUSE", 1.0)
    monkeypatch.setattr(unsaved_writes, "LONGEST_PAUSE", 9.0)
    workspace, heard = await make_workspace()
    disk.fault = FULL
    await workspace.drafts.save(None, "a thought")
    await written(workspace, heard)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 9.0, 9.0]


@pytest.mark.usefixtures("no_repetition")
async def test_the_next_write_also_writes_the_reply(make_workspace, disk, tmp_path):
    workspace, heard = await replied_onto(disk, make_workspace)
    disk.fault = None
    assert await workspace.replies.submit("more")
    assert stored(tmp_path)[1][0] == "complete"
    await heard.until(lambda: not workspace.state.entries[1].unsaved)
    await settled(workspace, heard)


@pytest.mark.usefixtures("no_repetition")
async def test_closing_writes_what_was_not_written(make_workspace, disk, tmp_path):
    workspace, _ = await replied_onto(disk, make_workspace)
    disk.fault = None
    await workspace.close()
    assert not workspace.unsaved_writes.reason
    assert stored(tmp_path)[-1] == ("complete", lorem(60))


async def test_closing_reports_what_could_not_be_written(make_workspace, disk):
    workspace, _ = await replied_onto(disk, make_workspace)
    await workspace.close()
    assert workspace.unsaved_writes.reason.endswith("chat.db is full.")


async def test_a_stopped_reply_stays_in_memory(make_workspace, disk, tmp_path):
    workspace, heard = await replying(make_workspace)
    disk.fault = FULL
    await workspace.replies.stop()
    await heard.until(lambda: workspace.state.entries[-1].status == "stopped")
    assert workspace.state.entries[-1].unsaved
    disk.fault = None
    await written(workspace, heard)
    assert stored(tmp_path)[-1][0] == "stopped"


async def test_a_reply_is_written_when_the_database_is_unlocked(make_workspace, disk, tmp_path):
    workspace, heard = await replied_onto(disk, make_workspace, BUSY)
    disk.fault = None
    await written(workspace, heard)
    assert stored(tmp_path)[-1][0] == "complete"


async def test_a_reply_is_written_when_the_folder_is_back(make_workspace, tmp_path):
    workspace, heard = await make_workspace(model="lorem:500:60")
    away = tmp_path.with_name(tmp_path.name + "-away")
    await when_it_grows(workspace, heard, partial(tmp_path.rename, away))
    await unsaved(workspace, heard)
    assert "removed or replaced" in workspace.state.entries[-1].unsaved
    tmp_path.mkdir()  # another, empty one is no place to write to
    assert not await workspace.store.database.write_deferred()
    shutil.rmtree(tmp_path)
    away.rename(tmp_path)
    await written(workspace, heard)
    assert stored(tmp_path)[-1][0] == "complete"


async def test_the_text_of_an_arriving_reply_is_flushed_later(make_workspace, disk, tmp_path):
    workspace, heard = await replying(make_workspace)
    disk.fault = FULL
    await heard.until(lambda: bool(workspace.state.partial and workspace.state.partial.unsaved))
    assert workspace.unsaved_writes.reason.endswith("chat.db is full.")
    disk.fault = None
    await heard.until(lambda: bool(workspace.state.partial and not workspace.state.partial.unsaved))
    assert not workspace.unsaved_writes.reason
    with closing(sqlite3.connect(tmp_path / "chat.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM reply_changes").fetchone()
    assert count > 0
    await workspace.replies.stop()


async def test_a_draft_stays_in_memory_and_is_written_later(make_workspace, disk, tmp_path):
    workspace, heard = await make_workspace(sent=["Hello"])
    disk.fault = FULL
    await workspace.drafts.save(workspace.state.session, "half a thought")
    await workspace.drafts.save(None, "another")
    assert await workspace.drafts.text() == "half a thought"
    await workspace.drafts.save(workspace.state.session, "half a thought, and more")
    assert await workspace.drafts.text() == "half a thought, and more"
    assert len(heard.of(Failed)) == 1
    disk.fault = None
    await written(workspace, heard)
    session = workspace.state.session
    await workspace.close()
    async with await Store.open(tmp_path / "chat.db", now=lambda: 1.0, new_id=lambda: "x") as store:
        assert await store.drafts.get(session.session_id) == "half a thought, and more"
        assert await store.settings.get("draft") == "another"


async def test_an_unsaved_reply_is_in_an_export(make_workspace, disk, tmp_path):
    workspace, _ = await replied_onto(disk, make_workspace)
    text, file = workspace.state.entries[-1].message.content, tmp_path / "saved.md"
    assert await workspace.exports.export(workspace.state.session_id, "markdown", file)
    assert text.split()[-1] in file.read_text()
    nodes = await workspace.branches.tree()
    assert nodes[-1].status == "complete"
    excerpts = await workspace.branches.excerpts([nodes[-1].message_id])
    assert excerpts[nodes[-1].message_id] == text[:200]


@each_row("number", range(14))
async def test_one_failed_write_anywhere_in_a_turn_loses_nothing(
    make_workspace, disk, number: int, tmp_path
):
    """The message was sent, or can still be sent; the reply is complete."""
    disk.fails_at = -1
    workspace, heard = await make_workspace(model="lorem:max:30")
    await workspace.drafts.save(workspace.state.session, "the question")
    disk.count, disk.fails_at = 0, number
    if not await workspace.replies.submit("the question"):
        draft = await workspace.drafts.text()
        assert draft == "the question" or workspace.state.session is not None
        assert heard.of(Failed)
        assert await workspace.replies.submit("the question")
    await settled(workspace, heard)
    await written(workspace, heard)
    assert [entry.message.role for entry in workspace.state.entries] == ["user", "assistant"]
    assert workspace.state.entries[-1].message.content == lorem(30)
    await workspace.close()
    assert [status for status, _ in stored(tmp_path)] == ["complete", "complete"]


async def test_a_reply_stopped_while_its_message_is_stored(make_workspace, disk, tmp_path):
    workspace, _ = await make_workspace(model="lorem:40:2000")
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def wait_once() -> None:
        if not began.is_set():
            began.set()
            await goes_on.wait()

    await workspace.usage.prices()  # nothing else is written before the message
    disk.before = wait_once
    submitting = asyncio.create_task(workspace.replies.submit("go"))
    await began.wait()
    closing_ = asyncio.create_task(workspace.close())
    await asyncio.sleep(0.01)
    goes_on.set()
    await closing_
    await submitting
    assert stored(tmp_path) == [("complete", "go"), ("stopped", "")]
