"""The list of sessions: order, marks, trash."""

from __future__ import annotations

from tests.e2e.conftest import settled
from tui_chat.models.search import Query
from tui_chat.workspace import Done, sessions
from tui_chat.workspace.sessions import FIRST_SESSIONS


async def three(workspace, heard) -> list[str]:
    found: list[str] = []
    for draft in ("one", "two", "three"):
        await workspace.sessions.new()
        assert await workspace.replies.submit(draft)
        await settled(workspace, heard)
        found.append(workspace.state.session_id)
    return found


def listed(workspace, session_id: str):
    return next(each for each in workspace.state.sessions if each.session_id == session_id)


async def test_several_sessions_are_put_in_order_at_once(make_workspace):
    workspace, heard = await make_workspace()
    one, two, three_ = await three(workspace, heard)
    await workspace.sessions.organise(
        (one, three_), pinned=True, tags=(" a  b ", "a b", ""), folder="x"
    )
    for session_id in (one, three_):
        summary = listed(workspace, session_id)
        assert (summary.pinned, summary.tags, summary.folder) == (True, ("a b",), "x")
    assert listed(workspace, two).tags == ()
    assert workspace.state.session.pinned
    await workspace.sessions.organise((one,), archived=True)
    assert listed(workspace, one).archived
    assert listed(workspace, one).pinned, "what is not named stays"
    assert heard.of(Done)[-1] == Done("Archived “one”.", undoable=True)
    await workspace.sessions.organise((one, two), archived=True)
    assert heard.of(Done)[-1] == Done("Archived “two”.", undoable=True)
    await workspace.undo()
    assert (listed(workspace, one).archived, listed(workspace, two).archived) == (True, False)
    await workspace.undo()
    assert not listed(workspace, one).archived


async def test_several_are_deleted_and_brought_back(make_workspace):
    workspace, heard = await make_workspace()
    one, two, three_ = await three(workspace, heard)
    await workspace.sessions.delete((one, three_))
    assert [each.session_id for each in workspace.state.sessions] == [two]
    assert workspace.state.session is None
    assert heard.of(Done)[-1] == Done("Deleted 2 sessions.", undoable=True)
    await workspace.undo()
    assert len(workspace.state.sessions) == 3
    assert workspace.state.session_id == three_


async def test_a_reply_that_ends_unseen_is_marked_until_it_is_seen(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("go")
    session_id = workspace.state.session_id
    await workspace.sessions.new()
    await workspace.replies.stop_in(session_id)
    await heard.until(lambda: any(each.unread for each in workspace.state.sessions))
    await workspace.sessions.open(session_id)
    assert not listed(workspace, session_id).unread
    assert workspace.state.entries[-1].status == "stopped"


async def test_a_session_deleted_while_its_reply_arrives(make_workspace):
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


async def test_tags_are_given_and_taken_and_others_stay(make_workspace):
    workspace, heard = await make_workspace()
    one, two, _ = await three(workspace, heard)
    await workspace.sessions.organise((one,), tags=("shared", "own"))
    await workspace.sessions.organise((two,), tags=("shared",))
    await workspace.sessions.retag((one, two), add=("new", " new "), drop=("shared",))
    assert listed(workspace, one).tags == ("own", "new")
    assert listed(workspace, two).tags == ("new",)


async def test_a_long_list_is_there_at_once_as_far_as_it_is_seen_and_all_of_it_soon(make_workspace):
    workspace, heard = await make_workspace()
    store = workspace.store
    made = [
        (await store.sessions.create(title=f"{n}")).session_id for n in range(FIRST_SESSIONS + 30)
    ]
    await workspace.sessions.refresh_list()
    assert len(workspace.state.sessions) == FIRST_SESSIONS
    await heard.until(lambda: len(workspace.state.sessions) == FIRST_SESSIONS + 30)
    assert [each.session_id for each in workspace.state.sessions] == made[::-1]
    await workspace.sessions.rename(made[0], "the oldest")
    assert len(workspace.state.sessions) == FIRST_SESSIONS + 30, (
        "what was read before stays meanwhile"
    )
    await heard.until(lambda: workspace.state.sessions[-1].title == "the oldest")
    await workspace.sessions.delete((made[-1], made[0]))
    await heard.until(lambda: len(workspace.state.sessions) == FIRST_SESSIONS + 28)


async def test_words_are_found_and_read_among_their_neighbours(make_workspace):
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


async def test_at_the_start_the_top_of_the_list_is_there_before_all_of_it(
    make_workspace, monkeypatch
):
    workspace, heard = await make_workspace()
    everything = (await three(workspace, heard))[::-1]
    monkeypatch.setattr(sessions, "FIRST_SESSIONS", 2)
    again, heard = await make_workspace()
    assert [each.session_id for each in again.state.sessions] == everything[:2]
    await heard.until(lambda: len(again.state.sessions) == 3)
    assert [each.session_id for each in again.state.sessions] == everything
