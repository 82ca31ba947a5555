"""The list of sessions: order, marks, trash."""

from __future__ import annotations

from tests.e2e.conftest import settled
from tui_chat.desk import Done, Order


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
