"""Replies, messages and drafts while the database cannot be written to."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.workspace import Heard, last_failure, say, settled
from tui_chat.errors import StoreBusy, StoreError
from tui_chat.offline import models as catalog
from tui_chat.store import Store
from tui_chat.store.database import Database, Transaction
from tui_chat.workspace import unsaved_writes
from tui_chat.workspace.events import Failed, ReplyGrew, UnsavedWritesChanged, WorkspaceEvent
from tui_chat.workspace.workspace import Workspace

MakeWorkspace = Callable[..., Awaitable[tuple[Workspace, Heard]]]


class Disk:
    """Allows writes, or refuses them as SQLite does."""

    def __init__(self) -> None:
        self.fault: StoreError | None = None
        self.refused = 0
        self.fails_at = -1
        """The number of the one write that fails; -1 for none."""
        self.count = 0


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk, transact = Disk(), Database._transact

    async def refusing(
        self: Database, begin: str, work: Callable[[Transaction], Awaitable[Any]]
    ) -> Any:
        if begin == "BEGIN IMMEDIATE":
            disk.count += 1
            if disk.fault is not None or disk.count - 1 == disk.fails_at:
                disk.refused += 1
                raise disk.fault or full()
        return await transact(self, begin, work)

    monkeypatch.setattr(Database, "_transact", refusing)
    return disk


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsaved_writes, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(unsaved_writes, "LONGEST_PAUSE", 0.1)


def lorem(tokens: int) -> str:
    """Return the whole reply of the model for this number of tokens."""
    return "".join(catalog.blocks(tokens))


def full() -> StoreError:
    return StoreError("There is no room left on the disk.", advice="Free some space.")


async def submit_and_when_it_grows(
    workspace: Workspace, heard: Heard, text: str, act: Callable[[], object]
) -> None:
    """Send a message; do something once its reply begins to grow, however soon it ends."""

    def react(change: WorkspaceEvent) -> None:
        if isinstance(change, ReplyGrew):
            heard.react = lambda change: None
            act()

    heard.react = react
    assert await workspace.replies.submit(text)


async def stream_onto_full_disk(workspace: Workspace, heard: Heard, disk: Disk, text: str) -> None:
    """Send a message; the disk becomes full when its reply grows."""
    fill = partial(setattr, disk, "fault", full())
    await submit_and_when_it_grows(workspace, heard, text, fill)
    await heard.until(lambda: disk.fault is not None and not workspace.state.is_streaming)
    await asyncio.sleep(0)


def stored(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "chat.db")) as connection:
        return connection.execute("SELECT status, content FROM messages ORDER BY seq").fetchall()


async def test_a_reply_that_cannot_be_written_stays_in_memory_and_is_written_later(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:500:60")
    await stream_onto_full_disk(workspace, heard, disk, "go")
    await heard.until(lambda: any("not saved yet" in str(t.error) for t in heard.of(Failed)))
    await heard.until(
        lambda: bool(workspace.state.entries) and workspace.state.entries[-1].status == "complete"
    )
    reply = workspace.state.entries[-1]
    assert reply.message.content == lorem(60)
    assert reply.unsaved == workspace.unsaved_writes.reason == "There is no room left on the disk."
    assert (reply.model, reply.endpoint) == ("lorem:500:60", "loopback")
    await heard.until(lambda: [s.status for s in workspace.state.sessions] == ["complete"])
    assert stored(tmp_path)[-1] == ("streaming", "")
    # Nothing says that another window has it: what cannot be done is writing.
    assert not await workspace.replies.submit("more")
    assert "another window" not in last_failure(heard)
    assert "no room" in last_failure(heard)
    disk.fault = None
    await heard.until(lambda: not workspace.unsaved_writes.reason)
    await heard.until(lambda: not workspace.state.entries[-1].unsaved)
    assert stored(tmp_path)[-1] == ("complete", reply.message.content)
    assert heard.of(UnsavedWritesChanged)[-1] == UnsavedWritesChanged("")
    await say(workspace, heard, "more")
    assert len(workspace.state.entries) == 4


async def test_the_next_write_also_writes_the_reply(
    make_workspace: MakeWorkspace, disk: Disk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unsaved_writes, "FIRST_PAUSE", 1000.0)
    workspace, heard = await make_workspace(model="lorem:500:60")
    await stream_onto_full_disk(workspace, heard, disk, "go")
    await heard.until(lambda: bool(workspace.unsaved_writes.reason))
    disk.fault = None
    assert await workspace.replies.submit("more")
    assert stored(tmp_path)[1][0] == "complete"
    await heard.until(lambda: not workspace.state.entries[1].unsaved)
    await settled(workspace, heard)


async def test_closing_writes_what_was_not_written(
    make_workspace: MakeWorkspace, disk: Disk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unsaved_writes, "FIRST_PAUSE", 1000.0)
    workspace, heard = await make_workspace(model="lorem:500:60")
    await stream_onto_full_disk(workspace, heard, disk, "go")
    disk.fault = None
    await workspace.close()
    assert not workspace.unsaved_writes.reason
    status, text = stored(tmp_path)[-1]
    assert (status, text) == ("complete", lorem(60))


async def test_closing_reports_what_could_not_be_written(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:500:60")
    await stream_onto_full_disk(workspace, heard, disk, "go")
    await workspace.close()
    assert workspace.unsaved_writes.reason == "There is no room left on the disk."


async def test_a_stopped_reply_that_cannot_be_written_stays_in_memory(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:40:2000")
    assert await workspace.replies.submit("go")
    await heard.until(lambda: workspace.state.partial is not None)
    disk.fault = full()
    await workspace.exchanges.stop()
    await heard.until(lambda: workspace.state.entries[-1].status == "stopped")
    assert workspace.state.entries[-1].unsaved
    disk.fault = None
    await heard.until(lambda: not workspace.unsaved_writes.reason)
    assert stored(tmp_path)[-1][0] == "stopped"


async def test_a_reply_is_written_when_the_database_is_unlocked(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:500:60")
    busy = StoreBusy("Another program is using the database.")
    await submit_and_when_it_grows(workspace, heard, "go", partial(setattr, disk, "fault", busy))
    await heard.until(
        lambda: bool(workspace.state.entries) and bool(workspace.state.entries[-1].unsaved)
    )
    disk.fault = None
    await heard.until(lambda: not workspace.unsaved_writes.reason)
    assert stored(tmp_path)[-1][0] == "complete"


async def test_a_reply_is_written_when_the_folder_is_back(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:500:60")
    away = tmp_path.with_name(tmp_path.name + "-away")
    await submit_and_when_it_grows(workspace, heard, "go", partial(tmp_path.rename, away))
    await heard.until(
        lambda: bool(workspace.state.entries) and bool(workspace.state.entries[-1].unsaved)
    )
    assert "removed or replaced" in workspace.state.entries[-1].unsaved
    tmp_path.mkdir()  # another, empty one is no place to write to
    assert not await workspace.store.database.write_deferred()
    shutil.rmtree(tmp_path)
    away.rename(tmp_path)
    await heard.until(lambda: not workspace.unsaved_writes.reason)
    assert stored(tmp_path)[-1][0] == "complete"


async def test_a_full_disk_during_a_reply_is_reported_and_the_text_flushed_later(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:40:2000")
    assert await workspace.replies.submit("go")
    await heard.until(lambda: workspace.state.partial is not None)
    disk.fault = full()
    await heard.until(
        lambda: workspace.state.partial is not None and bool(workspace.state.partial.unsaved)
    )
    assert workspace.unsaved_writes.reason == "There is no room left on the disk."
    disk.fault = None
    await heard.until(
        lambda: workspace.state.partial is not None and not workspace.state.partial.unsaved
    )
    assert not workspace.unsaved_writes.reason
    with closing(sqlite3.connect(tmp_path / "chat.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM reply_changes").fetchone()
    assert count > 0
    await workspace.exchanges.stop()


async def test_a_draft_that_cannot_be_written_stays_in_memory_and_is_written_later(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(sent=["Hello"])
    disk.fault = full()
    await workspace.drafts.save(workspace.state.session, "half a thought")
    await workspace.drafts.save(None, "another")
    assert await workspace.drafts.text() == "half a thought"
    await workspace.drafts.save(workspace.state.session, "half a thought, and more")
    assert await workspace.drafts.text() == "half a thought, and more"
    assert len(heard.of(Failed)) == 1
    disk.fault = None
    await heard.until(lambda: not workspace.unsaved_writes.reason)
    session = workspace.state.session
    await workspace.close()
    async with await Store.open(tmp_path / "chat.db", now=lambda: 1.0, new_id=lambda: "x") as store:
        assert await store.drafts.get(session.session_id) == "half a thought, and more"
        assert await store.settings.get("draft") == "another"


async def test_an_unsaved_reply_is_in_an_export(
    make_workspace: MakeWorkspace, disk: Disk, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace(model="lorem:500:60")
    await stream_onto_full_disk(workspace, heard, disk, "go")
    await heard.until(lambda: bool(workspace.unsaved_writes.reason))
    text = workspace.state.entries[-1].message.content
    assert await workspace.import_export.export(
        workspace.state.session_id, "markdown", tmp_path / "saved.md"
    )
    assert text.split()[-1] in (tmp_path / "saved.md").read_text()
    nodes = await workspace.branches.tree()
    assert nodes[-1].status == "complete"
    excerpts = await workspace.branches.excerpts([nodes[-1].message_id])
    assert excerpts[nodes[-1].message_id] == text[:200]


@pytest.mark.parametrize("number", range(14))
async def test_one_failed_write_anywhere_in_a_turn_loses_nothing(
    make_workspace: MakeWorkspace, disk: Disk, number: int, tmp_path: Path
) -> None:
    """The message was sent, or can still be sent; the reply is complete."""
    workspace, heard = await make_workspace(model="lorem:max:30")
    session = workspace.state.session
    await workspace.drafts.save(session, "the question")
    disk.count, disk.fails_at = 0, number
    sent = await workspace.replies.submit("the question")
    if not sent:
        assert (
            await workspace.drafts.text() == "the question" or workspace.state.session is not None
        )
        assert heard.of(Failed)
        assert await workspace.replies.submit("the question")
    await settled(workspace, heard)
    await heard.until(lambda: not workspace.unsaved_writes.reason)
    assert [entry.message.role for entry in workspace.state.entries] == ["user", "assistant"]
    assert workspace.state.entries[-1].message.content == lorem(30)
    await workspace.close()
    assert [status for status, _ in stored(tmp_path)] == ["complete", "complete"]


async def test_a_reply_stopped_while_its_user_message_is_stored_ends_as_stopped(
    make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workspace, _ = await make_workspace(model="lorem:40:2000")
    transact, began, goes_on = Database._transact, asyncio.Event(), asyncio.Event()

    async def slow(
        self: Database, begin: str, work: Callable[[Transaction], Awaitable[Any]]
    ) -> Any:
        if workspace.state.streaming_sessions and not began.is_set():
            began.set()
            await goes_on.wait()
        return await transact(self, begin, work)

    monkeypatch.setattr(Database, "_transact", slow)
    submitting = asyncio.create_task(workspace.replies.submit("go"))
    await began.wait()
    closing = asyncio.create_task(workspace.close())
    await asyncio.sleep(0.01)
    goes_on.set()
    await closing
    await submitting
    assert stored(tmp_path) == [("complete", "go"), ("stopped", "")]
