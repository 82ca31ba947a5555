"""The temporary session: nothing of it is on disk, and it can be kept."""

from __future__ import annotations

from pathlib import Path

from tests.support.workspace import PLANTED, answered, files_with, ids, last_failure, say
from tui_chat.models.role import Role
from tui_chat.models.search import Query
from tui_chat.workspace.events import Failed, ReplySettled


async def use_everything(workspace, heard) -> None:
    """Put the planted words wherever a session has text."""
    state = workspace.state
    await workspace.sessions.save_draft(state.session, f"draft {PLANTED}", (f"/tmp/{PLANTED}",))
    assert await workspace.sessions.draft() == f"draft {PLANTED}"
    assert await workspace.branches.add_system_message(f"system {PLANTED}")
    await say(workspace, heard, f"question {PLANTED}")
    question = ids(workspace)[1]
    assert await workspace.branches.edit(question, f"other {PLANTED}")
    assert await workspace.replies.regenerate(question) is False, "another branch is active"
    await answered(workspace, heard, workspace.replies.reply_to(ids(workspace)[-1]))
    await workspace.branches.pin(ids(workspace)[-1], pinned=True)
    assert await workspace.settings.set_parameter("user_id", PLANTED)
    assert await workspace.settings.set_parameter("author_note", f"note {PLANTED}")
    await workspace.session_list.rename(workspace.state.session_id, f"title {PLANTED}")


async def test_no_file_has_a_word_of_it(make_workspace, tmp_path: Path):
    workspace, heard = await make_workspace(sent=["an ordinary question"])
    assert files_with(tmp_path, "an ordinary question"), "this would find it"
    listed = workspace.state.sessions
    await workspace.sessions.new_temporary()
    assert workspace.state.is_temporary
    await use_everything(workspace, heard)
    assert PLANTED in workspace.state.entries[-1].message.content
    assert files_with(tmp_path, PLANTED) == []
    assert await workspace.store.search.find(Query(PLANTED)) == ()
    assert [each.session_id for each in workspace.state.sessions] == [
        each.session_id for each in listed
    ]
    sent = await workspace.sent.sent_request(ids(workspace)[-1])
    assert sent.is_exact, "the inspector has its requests"
    used = await workspace.usage.session(workspace.state.session_id)
    assert used.replies == 2, "they are counted while it is open"
    await workspace.branches.delete(ids(workspace)[-1])
    await workspace.undo()
    assert PLANTED in workspace.state.entries[-1].message.content
    await workspace.sessions.open(listed[0].session_id)
    assert workspace.core.temporary_store is None
    assert not workspace.state.is_temporary
    assert PLANTED not in repr(workspace.state.entries)
    assert files_with(tmp_path, PLANTED) == []
    await workspace.close()
    assert files_with(tmp_path, PLANTED) == []
    assert heard.of(Failed) == []
    workspace, _ = await make_workspace()
    assert workspace.state.session_id == listed[0].session_id


async def test_an_arriving_reply_ends_with_it_and_is_in_no_journal(make_workspace, tmp_path: Path):
    workspace, heard = await make_workspace(model="flaky-stall")
    await workspace.sessions.new_temporary()
    assert await workspace.replies.submit(f"{PLANTED} " * 50)
    await heard.until(lambda: workspace.state.partial is not None)
    assert files_with(tmp_path, PLANTED) == []
    await workspace.sessions.new()
    assert workspace.state.streaming_sessions == frozenset()
    assert [ended.title for ended in heard.of(ReplySettled)] == [""]
    assert heard.of(Failed) == []
    await workspace.sessions.save_draft(None, "ordinary")
    assert [path for path in tmp_path.iterdir() if "live" in path.name] == []


async def test_a_late_draft_of_an_ended_session_is_dropped(make_workspace, tmp_path: Path):
    workspace, heard = await make_workspace()
    await workspace.sessions.new_temporary()
    session = workspace.state.session
    await workspace.sessions.new()
    await workspace.sessions.save_draft(session, PLANTED, (PLANTED,))
    assert files_with(tmp_path, PLANTED) == []
    assert heard.of(Failed) == []


async def test_the_program_can_end_in_it(make_workspace, tmp_path: Path):
    workspace, heard = await make_workspace(sent=["ordinary"])
    before = workspace.state.session_id
    await workspace.sessions.new_temporary()
    await say(workspace, heard, PLANTED)
    await workspace.close()
    assert files_with(tmp_path, PLANTED) == []
    workspace, _ = await make_workspace()
    assert workspace.state.session_id == before


async def test_what_is_kept_is_a_session_like_any_other(make_workspace):
    workspace, heard = await make_workspace()
    role = await workspace.roles.save(Role("", "Aria", "Be Aria."))
    await workspace.sessions.new_temporary(role.role_id)
    assert not await workspace.sessions.keep()
    assert "no message" in last_failure(heard)
    await say(workspace, heard, f"first {PLANTED}")
    session_id, reply = workspace.state.session_id, ids(workspace)[-1]
    assert await workspace.sessions.keep()
    assert not workspace.state.is_temporary
    assert workspace.state.session_id == session_id
    assert workspace.state.session.title == f"Aria: first {PLANTED}"
    assert workspace.state.role.role_id == role.role_id
    assert [each.session_id for each in workspace.state.sessions] == [session_id]
    assert len(await workspace.store.search.find(Query(PLANTED))) >= 1
    sent = await workspace.sent.sent_request(reply)
    assert sent.is_exact
    await say(workspace, heard, "and on")
    assert not await workspace.sessions.keep()
    await workspace.close()
    workspace, _ = await make_workspace()
    assert len(workspace.state.entries) == 4


async def test_it_cannot_be_forked_and_another_one_replaces_it(make_workspace):
    workspace, heard = await make_workspace()
    await workspace.sessions.new_temporary()
    await say(workspace, heard, PLANTED)
    assert not await workspace.branches.fork(ids(workspace)[-1])
    assert "cannot be forked" in last_failure(heard)
    first = workspace.state.session_id
    await workspace.sessions.new_temporary()
    assert workspace.state.session_id != first
    assert workspace.state.is_temporary
    assert workspace.state.entries == ()
    await say(workspace, heard, "again")
    assert len(workspace.state.entries) == 2


async def test_a_deleted_message_of_another_session_is_restored_from_within_it(make_workspace):
    workspace, heard = await make_workspace(sent=["ordinary"])
    session_id = workspace.state.session_id
    await workspace.branches.delete(ids(workspace)[-1])
    await workspace.sessions.new_temporary()
    await workspace.undo()
    assert heard.of(Failed) == []
    await workspace.sessions.open(session_id)
    assert len(workspace.state.entries) == 2
