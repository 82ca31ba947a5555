"""Working with replies: siblings, edits, forks, deletions with undo, pins."""

from __future__ import annotations

from tests.e2e.conftest import settled
from tui_chat.offline import HttpRequest
from tui_chat.workspace import Done, Trouble


async def said(desk, heard, *drafts: str) -> None:
    for draft in drafts:
        assert await desk.submit(draft)
        await settled(desk, heard)


def contents(desk) -> list[str]:
    return [entry.message.content for entry in desk.entries]


def ids(desk) -> list[str]:
    return [entry.message.id for entry in desk.entries]


async def test_asked_again_a_reply_is_a_sibling_and_both_can_be_shown(make_desk):
    desk, heard = await make_desk(model="lorem:max:20")
    await said(desk, heard, "go")
    first = desk.entries[-1]
    assert await desk.retry(first.message.id)
    await settled(desk, heard)
    second = desk.entries[-1]
    assert (second.sibling, second.siblings) == (1, 2)
    await desk.show_sibling(second.message.id, -1)
    assert desk.entries[-1].message == first.message
    await desk.show_sibling(first.message.id, -1)
    assert desk.entries[-1].message == first.message, "there is none before the first"
    await desk.show_sibling(first.message.id, 1)
    assert desk.entries[-1].message == second.message


async def test_an_edited_message_is_a_branch_and_is_sent(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk(on_request=received.append)
    await said(desk, heard, "one", "two")
    before = desk.entries
    assert await desk.edit(before[2].message.id, "zwei", send=True)
    await settled(desk, heard)
    assert contents(desk) == ["one", "one", "zwei", "zwei"]
    assert b"two" not in received[-1].body
    await desk.show_sibling(ids(desk)[2], -1)
    assert [e.message for e in desk.entries] == [e.message for e in before], "nothing is lost"


async def test_an_edited_message_need_not_be_sent(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk(on_request=received.append)
    await said(desk, heard, "one")
    assert await desk.edit(ids(desk)[0], "eins")
    assert contents(desk) == ["eins"]
    assert len(received) == 1


async def test_an_edited_reply_is_what_the_model_is_told_it_said(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one")
    assert await desk.edit(ids(desk)[1], "Something else.")
    assert contents(desk) == ["one", "Something else."]
    assert desk.entries[1].siblings == 2
    assert b"Something else." in desk.composed("more").payload.body


async def test_sent_again_unchanged_it_is_asked_again(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one")
    assert await desk.edit(ids(desk)[0], "one", send=True)
    await settled(desk, heard)
    assert desk.entries[0].siblings == 1
    assert desk.entries[1].siblings == 2


async def test_an_edit_that_leaves_nothing_is_refused(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one")
    assert not await desk.edit(ids(desk)[0], " ")
    assert "Delete it" in heard.of(Trouble)[-1].error.advice
    assert not await desk.edit("nowhere", "x")


async def test_a_conversation_that_ends_with_a_question_can_be_answered(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one")
    question, reply = ids(desk)
    await desk.delete_message(reply)
    assert contents(desk) == ["one"]
    assert await desk.retry(question)
    await settled(desk, heard)
    assert contents(desk) == ["one", "one"]
    assert await desk.retry(question)
    await settled(desk, heard)
    assert desk.entries[1].siblings == 2, "asked for where there is one, it is another version"


async def test_a_fork_is_a_session_of_its_own(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one", "two", "three")
    old, sent = desk.session_id, await desk.sent_request(ids(desk)[3])
    assert await desk.fork(ids(desk)[3])
    assert desk.session_id != old
    assert contents(desk) == ["one", "one", "two", "two"]
    assert heard.of(Done)[-1].words == "Forked: this is a new session, with 4 messages."
    copied = await desk.sent_request(ids(desk)[3])
    assert sent is not None
    assert copied is not None
    assert (copied.how, copied.body) == ("rebuilt", sent.body)
    await said(desk, heard, "other")
    await desk.open(old)
    assert contents(desk) == ["one", "one", "two", "two", "three", "three"]
    assert len(desk.sessions) == 2


async def test_deletions_are_undone_in_the_order_they_went(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one", "two")
    session_id = desk.session_id
    two = ids(desk)[2]
    await desk.delete_message(two)
    assert contents(desk) == ["one", "one"]
    await desk.delete_message(ids(desk)[0])
    assert contents(desk) == []
    await desk.delete((session_id,))
    assert desk.sessions == ()
    assert desk.session is None
    assert [done.words for done in heard.of(Done)] == [
        "Deleted your message “two”.",
        "Deleted your message “one”.",
        "Deleted “one”.",
    ]
    await desk.undo()
    assert desk.session_id == session_id
    assert contents(desk) == []
    await desk.undo()
    assert contents(desk) == ["one", "one"]
    await desk.undo()
    assert contents(desk) == ["one", "one", "two", "two"]
    assert heard.of(Done)[-1] == Done("Brought back your message “two”.", message_id=two)
    await desk.undo()
    assert "nothing to undo" in str(heard.of(Trouble)[-1].error)


async def test_a_deleted_message_comes_back_while_another_session_is_shown(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one")
    session_id = desk.session_id
    await desk.delete_message(ids(desk)[1])
    await desk.new()
    await desk.undo()
    assert desk.session is None
    await desk.open(session_id)
    assert contents(desk) == ["one", "one"]


async def test_a_pinned_message_survives_every_truncation(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one")
    await desk.pin(ids(desk)[0], True)
    assert desk.entries[0].message.pinned
    await desk.pin(ids(desk)[0], False)
    assert not desk.entries[0].message.pinned


async def test_the_model_can_be_changed_in_the_middle(make_desk):
    desk, heard = await make_desk("loopback", "echo")
    await said(desk, heard, "one")
    for endpoint in ("loopback-anthropic", "loopback-gemini", "loopback-responses"):
        await desk.choose(endpoint, "echo")
        await said(desk, heard, f"to {endpoint}")
        assert desk.entries[-1].endpoint == endpoint
        assert desk.entries[-1].status == "complete"
    assert len(desk.entries) == 8


async def test_browsing_siblings_while_a_reply_arrives(make_desk):
    desk, heard = await make_desk(model="lorem:max:20")
    await said(desk, heard, "go")
    await desk.choose("loopback", "flaky-stall")
    assert await desk.retry(ids(desk)[-1])
    arriving = ids(desk)[-1]
    await heard.until(lambda: desk.partial is not None)
    await desk.show_sibling(arriving, -1)
    assert desk.partial is None, "it is not on the shown branch"
    assert desk.is_streaming
    await desk.stop()
    await heard.until(lambda: not desk.is_streaming)
    await desk.show_sibling(ids(desk)[-1], 1)
    assert desk.entries[-1].message.id == arriving
    assert desk.entries[-1].status == "stopped"


async def test_a_message_is_opened_on_its_branch(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one", "two")
    session_id, before = desk.session_id, ids(desk)
    assert await desk.edit(before[0], "eins", send=True)
    await settled(desk, heard)
    await desk.new()
    await desk.open_at(session_id, before[2])
    assert ids(desk) == before
    await desk.open_at(session_id, before[0])
    assert ids(desk) == before, "it is on the shown branch already"
    await desk.open_at(session_id, "nowhere")
    assert heard.of(Trouble)
