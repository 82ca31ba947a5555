"""Branches of the active session: siblings, edits, forks, deletions with undo, pins."""

from __future__ import annotations

from tests.support.vendors import LOOPBACKS
from tests.support.workspace import answered, contents, ids, last_failure, say
from tui_chat.models.token_probabilities import unpack_tokens
from tui_chat.workspace.events import Done, Failed


async def test_a_regenerated_reply_is_a_sibling_and_both_can_be_activated(make_workspace):
    workspace, heard = await make_workspace(model="lorem:max:20", sent=["go"])
    first = workspace.state.entries[-1]
    await answered(workspace, heard, workspace.replies.regenerate(first.message.id))
    second = workspace.state.entries[-1]
    assert (second.sibling, second.siblings) == (1, 2)
    await workspace.branches.show_version(second.message.id, -1)
    assert workspace.state.entries[-1].message == first.message
    await workspace.branches.show_version(first.message.id, -1)
    assert workspace.state.entries[-1].message == first.message, "there is none before the first"
    await workspace.branches.show_version(first.message.id, 1)
    assert workspace.state.entries[-1].message == second.message


async def test_an_edited_message_starts_a_branch_and_is_sent(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two"])
    before = workspace.state.entries
    await answered(
        workspace, heard, workspace.branches.edit(before[2].message.id, "zwei", send=True)
    )
    assert contents(workspace) == ["one", "one", "zwei", "zwei"]
    assert b"two" not in heard.received[-1].body
    await workspace.branches.show_version(ids(workspace)[2], -1)
    assert [e.message for e in workspace.state.entries] == [e.message for e in before], (
        "nothing is lost"
    )


async def test_an_edited_message_need_not_be_sent(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    assert await workspace.branches.edit(ids(workspace)[0], "eins")
    assert contents(workspace) == ["eins"]
    assert len(heard.received) == 1


async def test_an_edited_reply_is_in_the_next_request(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    assert await workspace.branches.edit(ids(workspace)[1], "Something else.")
    assert contents(workspace) == ["one", "Something else."]
    assert workspace.state.entries[1].siblings == 2
    assert b"Something else." in workspace.requests.compose("more").payload.body


async def test_an_edited_reply_loses_the_tokens_of_the_old_one_which_are_never_sent(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    assert await workspace.settings.set_parameter("logprobs", "2")
    await say(workspace, heard, "one")
    reply = workspace.state.entries[1].message
    assert [token.text for token in unpack_tokens(reply.about.tokens)] == ["one"]
    assert b"-0." not in workspace.requests.compose("more").payload.body
    assert await workspace.branches.edit(reply.id, "two")
    assert workspace.state.entries[1].message.about.tokens == ""


async def test_resending_an_unchanged_message_regenerates_the_reply(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    await answered(workspace, heard, workspace.branches.edit(ids(workspace)[0], "one", send=True))
    assert workspace.state.entries[0].siblings == 1
    assert workspace.state.entries[1].siblings == 2


async def test_an_empty_edit_is_refused(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    assert not await workspace.branches.edit(ids(workspace)[0], " ")
    assert "Delete it" in heard.of(Failed)[-1].error.advice
    assert not await workspace.branches.edit("nowhere", "x")


async def test_an_arriving_reply_cannot_be_edited(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("one")
    await heard.until(lambda: workspace.state.partial is not None)
    reply = ids(workspace)[1]
    assert not await workspace.branches.edit(reply, "Something else.")
    assert "still arriving" in last_failure(heard)
    await workspace.replies.stop()
    await heard.until(lambda: workspace.state.entries[-1].status == "stopped")
    assert await workspace.branches.edit(reply, "Something else.")
    assert contents(workspace) == ["one", "Something else."]


async def test_a_conversation_that_ends_with_a_user_message_can_be_answered(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    question, reply = ids(workspace)
    await workspace.branches.delete(reply)
    assert contents(workspace) == ["one"]
    await answered(workspace, heard, workspace.replies.regenerate(question))
    assert contents(workspace) == ["one", "one"]
    await answered(workspace, heard, workspace.replies.regenerate(question))
    assert workspace.state.entries[1].siblings == 2, (
        "asked for where there is one, it is another version"
    )


async def test_places_of_a_session_are_named(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    await workspace.branches.name_place("nowhere", "Begin")
    question, reply = ids(workspace)
    for message_id, name in ((question, "Begin"), (reply, "Answer"), (question, "Start")):
        await workspace.branches.name_place(message_id, name)
    await workspace.branches.name_place("nowhere", "")
    places = workspace.state.session.places
    assert [(each.message_id, each.name) for each in places] == [
        (reply, "Answer"),
        (question, "Start"),
    ]
    await workspace.sessions.new()
    await workspace.branches.name_place(question, "None is open")
    assert workspace.state.session is None


async def test_a_fork_is_a_session_of_its_own(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two", "three"])
    old, sent = (
        workspace.state.session_id,
        await workspace.sent.sent_request(ids(workspace)[3]),
    )
    assert await workspace.branches.fork(ids(workspace)[3])
    assert workspace.state.session_id != old
    assert contents(workspace) == ["one", "one", "two", "two"]
    assert heard.of(Done)[-1].sentence == "Forked: this is a new session, with 4 messages."
    copied = await workspace.sent.sent_request(ids(workspace)[3])
    assert (copied.how, copied.body) == ("rebuilt", sent.body)
    await say(workspace, heard, "other")
    await workspace.sessions.open(old)
    assert contents(workspace) == ["one", "one", "two", "two", "three", "three"]
    assert len(workspace.state.sessions) == 2


async def test_deletions_are_undone_in_reverse_order(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two"])
    session_id = workspace.state.session_id
    two = ids(workspace)[2]
    await workspace.branches.delete(two)
    assert contents(workspace) == ["one", "one"]
    await workspace.branches.delete(ids(workspace)[0])
    assert contents(workspace) == []
    await workspace.sessions.delete((session_id,))
    assert workspace.state.sessions == ()
    assert workspace.state.session is None
    assert [done.sentence for done in heard.of(Done)] == [
        "Deleted your message “two”.",
        "Deleted your message “one”.",
        "Deleted “one”.",
    ]
    await workspace.undo()
    assert workspace.state.session_id == session_id
    assert contents(workspace) == []
    await workspace.undo()
    assert contents(workspace) == ["one", "one"]
    await workspace.undo()
    assert contents(workspace) == ["one", "one", "two", "two"]
    assert heard.of(Done)[-1] == Done("Brought back your message “two”.", message_id=two)
    await workspace.undo()
    assert "Nothing to undo" in last_failure(heard)
    assert "sessions delete --undo" in heard.of(Failed)[-1].error.advice


async def test_a_deleted_message_is_restored_while_another_session_is_active(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    session_id = workspace.state.session_id
    await workspace.branches.delete(ids(workspace)[1])
    await workspace.sessions.new()
    await workspace.undo()
    assert workspace.state.session is None
    await workspace.sessions.open(session_id)
    assert contents(workspace) == ["one", "one"]


async def test_the_model_can_be_changed_in_the_middle(make_workspace):
    workspace, heard = await make_workspace("loopback", "echo", sent=["one"])
    for endpoint in (each.name for each in LOOPBACKS[1:]):
        await workspace.settings.set_model(endpoint, "echo")
        await say(workspace, heard, f"to {endpoint}")
        assert workspace.state.entries[-1].endpoint == endpoint
        assert workspace.state.entries[-1].status == "complete"
    assert len(workspace.state.entries) == 2 * len(LOOPBACKS)


async def test_siblings_can_be_activated_while_a_reply_streams(make_workspace):
    workspace, heard = await make_workspace(model="lorem:max:20", sent=["go"])
    await workspace.settings.set_model("loopback", "flaky-stall")
    assert await workspace.replies.regenerate(ids(workspace)[-1])
    arriving = ids(workspace)[-1]
    await heard.until(lambda: workspace.state.partial is not None)
    await workspace.branches.show_version(arriving, -1)
    assert workspace.state.partial is None, "it is not on the shown branch"
    assert workspace.state.is_streaming
    await workspace.replies.stop()
    await heard.until(lambda: not workspace.state.is_streaming)
    await workspace.branches.show_version(ids(workspace)[-1], 1)
    assert ids(workspace)[-1] == arriving
    assert workspace.state.entries[-1].status == "stopped"


async def test_a_message_is_opened_on_its_branch(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two"])
    session_id, before = workspace.state.session_id, ids(workspace)
    await answered(workspace, heard, workspace.branches.edit(before[0], "eins", send=True))
    await workspace.sessions.new()
    await workspace.sessions.open_at(session_id, before[2])
    assert ids(workspace) == before
    await workspace.sessions.open_at(session_id, before[0])
    assert ids(workspace) == before, "it is on the shown branch already"
    await workspace.sessions.open_at(session_id, "nowhere")
    assert heard.of(Failed)
