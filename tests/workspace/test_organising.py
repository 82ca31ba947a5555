"""The list of sessions: order, marks, trash."""

from __future__ import annotations

from tests.e2e.conftest import settled
from tui_chat.models.search import Query
from tui_chat.workspace import Done, Order, opening
from tui_chat.workspace.opening import LISTED_AT_ONCE


async def three(desk, heard) -> list[str]:
    found: list[str] = []
    for draft in ("one", "two", "three"):
        await desk.new()
        assert await desk.submit(draft)
        await settled(desk, heard)
        found.append(desk.session_id)
    return found


def listed(desk, session_id: str):
    return next(each for each in desk.sessions if each.session_id == session_id)


async def test_several_sessions_are_put_in_order_at_once(make_desk):
    desk, heard = await make_desk()
    one, two, three_ = await three(desk, heard)
    await desk.organise((one, three_), Order(pinned=True, tags=(" a  b ", "a b", ""), folder="x"))
    for session_id in (one, three_):
        summary = listed(desk, session_id)
        assert (summary.pinned, summary.tags, summary.folder) == (True, ("a b",), "x")
    assert listed(desk, two).tags == ()
    assert desk.session.pinned
    await desk.organise((one,), Order(archived=True))
    assert listed(desk, one).archived
    assert listed(desk, one).pinned, "what is not named stays"
    assert heard.of(Done)[-1] == Done("Archived “one”.", undoable=True)
    await desk.organise((one, two), Order(archived=True))
    assert heard.of(Done)[-1] == Done("Archived “two”.", undoable=True)
    await desk.undo()
    assert (listed(desk, one).archived, listed(desk, two).archived) == (True, False)
    await desk.undo()
    assert not listed(desk, one).archived


async def test_several_are_deleted_and_brought_back(make_desk):
    desk, heard = await make_desk()
    one, two, three_ = await three(desk, heard)
    await desk.delete((one, three_))
    assert [each.session_id for each in desk.sessions] == [two]
    assert desk.session is None
    assert heard.of(Done)[-1] == Done("Deleted 2 sessions.", undoable=True)
    await desk.undo()
    assert len(desk.sessions) == 3
    assert desk.session_id == three_


async def test_a_reply_that_ends_unseen_is_marked_until_it_is_seen(make_desk):
    desk, heard = await make_desk(model="flaky-stall")
    assert await desk.submit("go")
    session_id = desk.session_id
    await desk.new()
    await desk._replies.stop(session_id)
    await heard.until(lambda: any(each.unread for each in desk.sessions))
    await desk.open(session_id)
    assert not listed(desk, session_id).unread
    assert desk.entries[-1].status == "stopped"


async def test_a_session_deleted_while_its_reply_arrives(make_desk):
    desk, heard = await make_desk(model="flaky-stall")
    assert await desk.submit("go")
    session_id = desk.session_id
    await heard.until(lambda: desk.partial is not None)
    await desk.delete((session_id,))
    assert desk.running == frozenset()
    assert desk.sessions == ()
    await desk.undo()
    assert desk.entries[-1].status == "stopped"
    assert desk.entries[-1].message.content


async def test_tags_are_given_and_taken_and_others_stay(make_desk):
    desk, heard = await make_desk()
    one, two, _ = await three(desk, heard)
    await desk.organise((one,), Order(tags=("shared", "own")))
    await desk.organise((two,), Order(tags=("shared",)))
    await desk.retag((one, two), add=("new", " new "), drop=("shared",))
    assert listed(desk, one).tags == ("own", "new")
    assert listed(desk, two).tags == ("new",)


async def test_a_long_list_is_there_at_once_as_far_as_it_is_seen_and_all_of_it_soon(make_desk):
    desk, heard = await make_desk()
    store = desk._outside.store
    made = [
        (await store.sessions.create(title=f"{n}")).session_id for n in range(LISTED_AT_ONCE + 30)
    ]
    await desk._opening.list_sessions()
    assert len(desk.sessions) == LISTED_AT_ONCE
    await heard.until(lambda: len(desk.sessions) == LISTED_AT_ONCE + 30)
    assert [each.session_id for each in desk.sessions] == made[::-1]
    await desk.rename(made[0], "the oldest")
    assert len(desk.sessions) == LISTED_AT_ONCE + 30, "what was read before stays meanwhile"
    await heard.until(lambda: desk.sessions[-1].title == "the oldest")
    await desk.delete((made[-1], made[0]))
    await heard.until(lambda: len(desk.sessions) == LISTED_AT_ONCE + 28)


async def test_words_are_found_and_read_among_their_neighbours(make_desk):
    desk, heard = await make_desk(model="echo")
    await three(desk, heard)
    [hit] = await desk.search(Query("two", message_role="user"))
    assert [entry.message.role for entry in await desk.around(hit.message_id)] == [
        "user",
        "assistant",
    ]
    assert await desk.around("gone") == ()
    await desk.open_at(hit.session_id, hit.message_id)
    assert desk.entries[0].message.content == "two"


async def test_at_the_start_the_top_of_the_list_is_there_before_all_of_it(make_desk, monkeypatch):
    desk, heard = await make_desk()
    everything = (await three(desk, heard))[::-1]
    monkeypatch.setattr(opening, "LISTED_AT_ONCE", 2)
    again, heard = await make_desk()
    assert [each.session_id for each in again.sessions] == everything[:2]
    await heard.until(lambda: len(again.sessions) == 3)
    assert [each.session_id for each in again.sessions] == everything
