"""Replies, messages and drafts while the database cannot be written to."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from tests.support.full_disk import BUSY, FULL, Disk, disk
from tests.support.tables import each_row
from tests.support.workspace import Heard, MakeWorkspace, last_failure, say, settled
from tui_chat.offline import models as catalog
from tui_chat.workspace.events import Done, Failed, ReplyGrew, WorkspaceEvent
from tui_chat.workspace.workspace import Workspace

__all__ = ["disk"]


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


def stored(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "chat.db")) as connection:
        return connection.execute("SELECT status, content FROM messages ORDER BY seq").fetchall()


async def test_a_reply_that_is_not_saved_stays_and_is_saved_again(make_workspace, disk, tmp_path):
    workspace, heard = await replied_onto(disk, make_workspace)
    reply = workspace.state.entries[-1]
    assert (reply.status, reply.message.content) == ("complete", lorem(60))
    assert reply.unsaved == workspace.state.unsaved
    assert reply.unsaved.endswith("chat.db is full.")
    assert (reply.model, reply.endpoint) == ("lorem:500:60", "loopback")
    assert any("is not saved" in str(failed.error) for failed in heard.of(Failed))
    assert [summary.status for summary in workspace.state.sessions] == ["complete"]
    assert stored(tmp_path)[-1] == ("streaming", "")
    await workspace.sessions.reload_branch()
    assert workspace.state.entries[-1].message == reply.message
    assert not await workspace.replies.submit("more")
    assert "The reply is not saved" in last_failure(heard)
    assert not await workspace.replies.save_again()
    disk.fault = None
    assert await workspace.replies.save_again()
    assert heard.of(Done)[-1].sentence == "The reply is saved now."
    assert not workspace.state.unsaved
    assert workspace.state.entries[-1].message == reply.message
    assert not workspace.state.entries[-1].unsaved
    assert stored(tmp_path)[-1] == ("complete", reply.message.content)
    await say(workspace, heard, "more")
    assert len(workspace.state.entries) == 4


async def test_the_next_message_first_saves_the_reply(make_workspace, disk, tmp_path):
    workspace, heard = await replied_onto(disk, make_workspace, BUSY)
    disk.fault = None
    assert await workspace.replies.submit("more")
    assert stored(tmp_path)[1][0] == "complete"
    assert not workspace.state.entries[1].unsaved
    await settled(workspace, heard)


async def test_a_stopped_reply_that_is_not_saved(make_workspace, disk, tmp_path):
    workspace, heard = await replying(make_workspace)
    disk.fault = FULL
    await workspace.replies.stop()
    await heard.until(lambda: workspace.state.entries[-1].status == "stopped")
    assert workspace.state.entries[-1].unsaved
    await workspace.close()
    assert workspace.state.unsaved.endswith("chat.db is full.")
    assert stored(tmp_path)[-1][0] == "streaming", "the next start finds what was flushed"


async def test_a_reply_is_saved_again_when_the_folder_is_back(make_workspace, tmp_path):
    workspace, heard = await make_workspace(model="lorem:500:60")
    away = tmp_path.with_name(tmp_path.name + "-away")
    await when_it_grows(workspace, heard, partial(tmp_path.rename, away))
    await unsaved(workspace, heard)
    assert "removed or replaced" in workspace.state.entries[-1].unsaved
    tmp_path.mkdir()  # another, empty one is no place to write to
    assert not await workspace.replies.save_again()
    shutil.rmtree(tmp_path)
    away.rename(tmp_path)
    assert await workspace.replies.save_again()
    assert stored(tmp_path)[-1][0] == "complete"


async def test_the_text_of_an_arriving_reply_is_flushed_later(make_workspace, disk, tmp_path):
    workspace, heard = await replying(make_workspace)
    disk.fault = FULL
    await heard.until(lambda: bool(workspace.state.partial and workspace.state.partial.unsaved))
    assert workspace.state.unsaved.endswith("chat.db is full.")
    disk.fault = None
    await heard.until(lambda: bool(workspace.state.partial and not workspace.state.partial.unsaved))
    assert not workspace.state.unsaved
    with closing(sqlite3.connect(tmp_path / "chat.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM reply_changes").fetchone()
    assert count > 0
    await workspace.replies.stop()


async def test_a_draft_that_is_not_saved_is_saved_with_the_next_change(make_workspace, disk):
    workspace, heard = await make_workspace(sent=["Hello"])
    disk.fault = FULL
    await workspace.sessions.save_draft(workspace.state.session, "half a thought")
    await workspace.sessions.save_draft(workspace.state.session, "half a thought, and more")
    assert len(heard.of(Failed)) == 1
    assert workspace.state.unsaved.endswith("chat.db is full.")
    disk.fault = None
    await workspace.sessions.save_draft(workspace.state.session, "half a thought, and much more")
    assert not workspace.state.unsaved
    assert await workspace.sessions.draft() == "half a thought, and much more"


@each_row("number", range(6))
async def test_one_failed_write_anywhere_in_a_turn_loses_nothing(
    make_workspace, disk, number: int, tmp_path
):
    """The message was sent, or can still be sent; the reply is complete."""
    disk.fails_at = -1
    workspace, heard = await make_workspace(model="lorem:max:30")
    await workspace.sessions.save_draft(workspace.state.session, "the question")
    disk.count, disk.fails_at = 0, number
    if not await workspace.replies.submit("the question"):
        assert await workspace.sessions.draft() == "the question"
        assert heard.of(Failed)
        assert await workspace.replies.submit("the question")
    await settled(workspace, heard)
    assert await workspace.replies.save_again()
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
