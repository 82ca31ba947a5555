"""Messages that are typed while a reply arrives."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.tables import each_row
from tests.support.workspace import last_failure, limited, say, settled
from tui_chat.models.boundary import pack
from tui_chat.workspace.events import ReplySettled
from tui_chat.workspace.message_queue import read_queue
from tui_chat.workspace.state import QueuedMessage


def texts(workspace) -> list[str]:
    return [e.message.content for e in workspace.state.entries if e.message.role == "user"]


async def queue(workspace, *messages: str) -> None:
    for text in messages:
        await workspace.queue.add(workspace.state.session_id, QueuedMessage(text))


async def paused(workspace, heard, *messages: str) -> None:
    """Queue messages behind a reply that is stopped."""
    model = workspace.state.model
    await workspace.settings.set_model("loopback", "lorem")
    assert await workspace.replies.submit("one")
    await queue(workspace, *messages)
    await workspace.replies.stop()
    await heard.until(lambda: bool(heard.of(ReplySettled)))
    await workspace.settings.set_model("loopback", model)
    heard.changes.clear()


async def test_queued_messages_are_sent_one_after_the_other(make_workspace):
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await queue(workspace, "two", "three")
    assert [each.text for each in workspace.state.queue] == ["two", "three"]
    await heard.until(lambda: len(heard.of(ReplySettled)) == 3)
    assert texts(workspace) == ["one", "two", "three"]
    assert [e.message.role for e in workspace.state.entries] == ["user", "assistant"] * 3
    assert workspace.state.queue == ()


async def test_a_stopped_reply_leaves_the_queue(make_workspace):
    workspace, heard = await make_workspace()
    await paused(workspace, heard, "two")
    assert texts(workspace) == ["one"]
    assert [each.text for each in workspace.state.queue] == ["two"]
    assert await workspace.queue.send_next()
    await heard.until(lambda: bool(heard.of(ReplySettled)))
    assert texts(workspace) == ["one", "two"]
    assert workspace.state.queue == ()


async def test_a_queued_message_leaves_the_stored_draft(make_workspace):
    workspace, _ = await make_workspace(model="lorem")
    assert await workspace.replies.submit("one")
    sessions, session = workspace.sessions, workspace.state.session
    await sessions.save_draft(session, "two")
    await queue(workspace, "two")
    assert await sessions.draft() == ""  # also for a program that is killed right after
    await sessions.save_draft(session, "something else")
    await queue(workspace, "three")
    assert await sessions.draft() == "something else"


async def test_a_failed_reply_pauses_the_queue(make_workspace):
    workspace, heard = await make_workspace(model="flaky-500")
    assert await workspace.replies.submit("one")
    await queue(workspace, "two")
    await heard.until(lambda: len(heard.of(ReplySettled)) == 1)
    assert workspace.state.entries[-1].status == "failed"
    assert [each.text for each in workspace.state.queue] == ["two"]


async def test_a_message_is_never_sent_to_another_session(make_workspace):
    workspace, heard = await make_workspace(model="lorem")
    assert await workspace.replies.submit("one")
    first = workspace.state.session_id
    await queue(workspace, "two")
    await workspace.sessions.new()
    await workspace.replies.stop(first)
    await heard.until(lambda: len(heard.of(ReplySettled)) == 1)
    await workspace.settings.set_model("loopback", "echo")
    assert workspace.state.queue == ()
    await say(workspace, heard, "elsewhere")
    assert texts(workspace) == ["elsewhere"]
    await workspace.sessions.open(first)
    assert [each.text for each in workspace.state.queue] == ["two"]
    await workspace.settings.set_model("loopback", "echo")
    assert await workspace.queue.send_next()
    await settled(workspace, heard)
    assert texts(workspace) == ["one", "two"]


async def test_a_message_that_comes_after_the_reply_is_sent_at_once(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    await heard.until(lambda: len(heard.of(ReplySettled)) == 1)
    await queue(workspace, "two")
    await heard.until(lambda: len(heard.of(ReplySettled)) == 2)
    assert texts(workspace) == ["one", "two"]


async def test_a_queue_outlives_the_program(make_workspace):
    workspace, heard = await make_workspace()
    await paused(workspace, heard, "two", "three")
    await workspace.close()
    again, heard = await make_workspace()
    await heard.until(lambda: len(again.state.queue) == 2)
    taken = await again.queue.take(-1)
    assert taken.text == "three"
    assert await again.queue.send_next()
    await heard.until(lambda: bool(heard.of(ReplySettled)))
    await again.close()
    last, heard = await make_workspace()
    await last.queue.finish()
    assert last.state.queue == ()


async def test_attachments_are_read_when_the_message_is_sent(make_workspace, tmp_path: Path):
    file = tmp_path / "notes.txt"
    workspace, heard = await make_workspace()
    await paused(workspace, heard)
    await workspace.queue.add(workspace.state.session_id, QueuedMessage("two", (str(file),)))
    assert not await workspace.queue.send_next()
    assert "notes.txt" in last_failure(heard)
    assert len(workspace.state.queue) == 1
    file.write_text("the notes")
    assert await workspace.queue.send_next()
    await settled(workspace, heard)
    assert workspace.state.entries[-2].message.parts[0].text == "the notes"


async def test_a_request_with_errors_waits_for_consent(make_workspace):
    workspace, heard = await make_workspace(endpoints=limited(60))
    await paused(workspace, heard, "two " * 100)
    assert workspace.requests.compose("two " * 100).errors
    assert not await workspace.queue.send_next()
    assert "was not sent" in last_failure(heard)
    assert len(workspace.state.queue) == 1
    assert await workspace.queue.send_next(despite_errors=True)


async def test_a_removal_sends_nothing(make_workspace):
    workspace, heard = await make_workspace()
    await paused(workspace, heard, "two", "three", "four")
    await workspace.queue.remove(1)
    assert [each.text for each in workspace.state.queue] == ["two", "four"]
    await workspace.queue.remove()
    assert workspace.state.queue == ()
    assert texts(workspace) == ["one"]


async def test_removing_what_is_not_there_does_nothing(make_workspace):
    workspace, _ = await make_workspace()
    assert await workspace.queue.take(0) is None
    await workspace.queue.remove()
    assert not await workspace.queue.send_next()


@each_row("stored", ["", "x", "[1]", '{"a":1}', '[{"text":"a"'])
def test_a_stored_queue_that_cannot_be_read_is_empty(stored: str):
    assert read_queue(stored) == ()


async def test_a_message_queued_while_the_stored_queue_is_read_is_there_once(
    make_workspace, monkeypatch
):
    workspace, heard = await make_workspace(model="lorem")
    await workspace.sessions.new()
    assert await workspace.replies.submit("one")
    session_id, may_read = workspace.state.session_id, asyncio.Event()
    queues, get = workspace.store.queues, workspace.store.queues.get
    await queues.save(session_id, pack((QueuedMessage("two"),)))

    async def slow_get(session_id: str) -> str:
        await may_read.wait()
        return await get(session_id)

    monkeypatch.setattr(queues, "get", slow_get)
    adding = asyncio.create_task(queue(workspace, "three"))
    await heard.until(lambda: bool(workspace.state.queue))
    may_read.set()
    await adding
    assert [each.text for each in workspace.state.queue] == ["two", "three"]
    stored = read_queue(await get(session_id))
    assert [each.text for each in stored] == ["two", "three"]
