"""Muting messages of the active session: what is sent, what is said about it, undo, ranges."""

from __future__ import annotations

import json

from tests.support.workspace import (
    answered,
    contents,
    ids,
    last_failure,
    say,
)
from tests.unit.workspace.test_compaction import summarized
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.message import NOT_MUTED, Message, Muted, tool_result
from tui_chat.workspace.branches import NOTHING_MUTED, muted_messages
from tui_chat.workspace.events import Done


def sent(workspace, draft: str = "next") -> list[str]:
    """What the next request says besides the system messages."""
    body = json.loads(workspace.requests.compose(draft).payload.body)
    messages = [each for each in body["messages"] if each["role"] != "system"]
    return [
        each["content"] if isinstance(each["content"], str) else f"calls {len(each['tool_calls'])}"
        for each in messages
    ]


def left_out(workspace) -> list[str]:
    gone = muted_messages(workspace.state.entries).ids
    return [e.message.content for e in workspace.state.entries if e.message.id in gone]


async def with_tools(make_workspace, rounds: int = 2):
    """A session with calls: a question, two calls, their results, an answer, some times."""
    workspace, heard = await make_workspace(sent=["begin"])
    store, session_id = workspace.active_store, workspace.state.session_id
    parent = ids(workspace)[-1]
    for number in range(1, rounds + 1):
        calls = tuple(CallBlock(f"{number}{each}", "look", "{}") for each in "ab")
        for message in (
            Message.of("user", f"Q{number}"),
            Message("assistant", calls),
            *(Message("tool", tool_result(call.id, f"R{call.id}", name="look")) for call in calls),
            Message.of("assistant", f"A{number}"),
        ):
            parent = (await store.messages.add(session_id, message, parent)).message.id
    await workspace.sessions.reload_branch()
    return workspace, heard


def done(heard) -> str:
    return heard.of(Done)[-1].sentence


async def test_a_muted_message_is_not_sent_until_it_is_unmuted(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two"])
    before = workspace.requests.compose("next").payload.body
    first = ids(workspace)[0]
    await workspace.branches.pin(first, True)
    await workspace.branches.toggle_mute(first)
    message = workspace.state.entries[0].message
    assert (message.muted, message.pinned) == (Muted(whole=True), False)
    assert contents(workspace) == ["one", "one", "two", "two"]
    assert sent(workspace) == ["one", "two", "two", "next"]
    assert done(heard) == "Muted your message “one”."
    await workspace.branches.toggle_mute(first)
    assert workspace.requests.compose("next").payload.body == before
    assert done(heard) == "Unmuted your message “one”."
    assert workspace.state.entries[0].message.muted == NOT_MUTED
    await workspace.branches.toggle_mute(first)
    await workspace.branches.pin(first, True)
    assert done(heard) == "Pinned your message “one”, which is no longer muted."


async def test_every_request_obeys(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two"])
    await workspace.branches.toggle_mute(ids(workspace)[0])
    await say(workspace, heard, "three")

    def last() -> list[str]:
        return [m["content"] for m in json.loads(heard.received[-1].body)["messages"][-4:]]

    assert last() == ["one", "two", "two", "three"]
    body, reply = heard.received[-1].body, ids(workspace)[-1]
    await answered(workspace, heard, workspace.replies.regenerate(reply))
    assert heard.received[-1].body == body
    await answered(
        workspace, heard, workspace.branches.edit(ids(workspace)[-2], "three", send=True)
    )
    assert heard.received[-1].body == body
    # What was sent stays what it was, whatever is muted now.
    await workspace.branches.unmute()
    for entry_id in (reply, ids(workspace)[-1]):
        again = await workspace.sent.sent_request(entry_id)
        assert again.is_exact
        assert again.shown.payload.body == body
    await workspace.branches.show(reply)
    await answered(workspace, heard, workspace.replies.replay(reply, "loopback", "echo"))
    assert heard.received[-1].body == body


async def test_a_fork_has_mutes_of_its_own_and_branches_share_them(make_workspace):
    workspace, heard = await make_workspace(sent=["one", "two"])
    first = ids(workspace)[0]
    await workspace.branches.toggle_mute(first)
    await answered(workspace, heard, workspace.branches.edit(ids(workspace)[2], "zwei", send=True))
    assert sent(workspace) == ["one", "zwei", "zwei", "next"]
    original = workspace.state.session_id
    assert await workspace.branches.fork(ids(workspace)[-1])
    assert sent(workspace) == ["one", "zwei", "zwei", "next"]
    await workspace.branches.unmute()
    assert sent(workspace) == ["one", "one", "zwei", "zwei", "next"]
    await workspace.sessions.open(original)
    assert workspace.state.entries[0].message.muted == Muted(whole=True)
    await workspace.close()
    workspace, _ = await make_workspace()
    await workspace.start()
    assert left_out(workspace) == ["one"]


async def test_a_call_and_its_result_are_one(make_workspace):
    workspace, _ = await with_tools(make_workspace, 1)
    entries = workspace.state.entries
    call, first, second = (entry.message.id for entry in entries[3:6])
    whole = ["begin", "begin", "Q1", "calls 2", "R1a", "R1b", "A1", "next"]
    assert sent(workspace) == whole
    await workspace.branches.toggle_mute(first)
    assert sent(workspace) == ["begin", "begin", "Q1", "calls 1", "R1b", "A1", "next"]
    what = muted_messages(workspace.state.entries)
    assert (what.ids, what.calls) == ({first}, {(call, "1a")})
    await workspace.branches.toggle_mute(second)
    assert sent(workspace) == ["begin", "begin", "Q1", "A1", "next"]
    assert muted_messages(workspace.state.entries).ids == {call, first, second}
    # The message with the calls is not muted itself; unmuting it unmutes what took it along.
    await workspace.branches.toggle_mute(call)
    assert sent(workspace) == whole
    await workspace.branches.toggle_mute(call)
    assert sent(workspace) == ["begin", "begin", "Q1", "A1", "next"]
    await workspace.branches.toggle_mute(second)
    assert sent(workspace) == whole
    assert muted_messages(workspace.state.entries) == NOTHING_MUTED


async def test_old_tool_results_and_ranges_are_muted_at_once(make_workspace):
    workspace, heard = await with_tools(make_workspace, 3)
    mutes = workspace.branches
    assert await mutes.mute(mutes.tool_results_before(1))
    assert left_out(workspace) == ["", "R1a", "R1b", "", "R2a", "R2b"]
    assert done(heard) == "Muted 4 messages."
    assert await mutes.unmute()
    assert left_out(workspace) == []
    assert mutes.tool_results_before(9) == ()
    assert len(mutes.tool_results_before(0)) == 6
    assert await mutes.mute(ids(workspace)[:2])
    assert left_out(workspace) == ["begin", "begin"]
    assert not await mutes.mute(ids(workspace)[:2])
    assert "muted already" in last_failure(heard)
    assert not await mutes.mute(())
    assert "nothing to mute" in last_failure(heard)
    assert await mutes.unmute(ids(workspace)[:1])
    assert left_out(workspace) == ["begin"]
    assert await mutes.unmute()
    assert not await mutes.unmute()
    assert "Nothing is muted" in last_failure(heard)


async def test_parts_and_reasoning_are_muted_apart(make_workspace):
    workspace, heard = await make_workspace()
    picture = MediaBlock("image", "image/png", "iVBORw0KGgo=", name="a.png")
    await say(workspace, heard, "look", parts=(picture,))
    entry_id = ids(workspace)[0]
    await workspace.branches.set_mute(entry_id, Muted(blocks=(1,)))
    assert done(heard) == "Muted parts of your message “look”."
    assert sent(workspace)[0] == "look"
    await workspace.branches.set_mute(entry_id, Muted(blocks=(1,)))
    await workspace.branches.set_mute(entry_id, Muted(whole=True, blocks=(1,)))
    await workspace.branches.toggle_mute(entry_id)
    assert workspace.state.entries[0].message.muted == Muted(blocks=(1,))
    await workspace.branches.set_mute(entry_id, NOT_MUTED)
    assert done(heard) == "Unmuted your message “look”."


async def test_a_message_of_which_nothing_is_left_is_unmuted_whole(make_workspace):
    workspace, heard = await make_workspace()
    picture = MediaBlock("image", "image/png", "iVBORw0KGgo=")
    await say(workspace, heard, "", parts=(picture,))
    entry_id = ids(workspace)[0]
    await workspace.branches.set_mute(entry_id, Muted(blocks=(0,)))
    assert muted_messages(workspace.state.entries).ids == {entry_id}
    await workspace.branches.toggle_mute(entry_id)
    assert workspace.state.entries[0].message.muted == NOT_MUTED


async def test_muting_a_summary_switches_it(make_workspace):
    workspace, _, _ = await summarized(make_workspace)
    entry_id = ids(workspace)[-1]
    await workspace.branches.toggle_mute(entry_id)
    summary = workspace.state.entries[-1].message.about.summary
    assert not summary.enabled
    assert workspace.state.entries[-1].message.muted == NOT_MUTED
    await workspace.branches.mute([entry_id])
    assert workspace.state.entries[-1].message.muted == NOT_MUTED


async def test_a_reply_that_is_arriving_is_not_muted(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("go")
    await heard.until(lambda: workspace.state.partial is not None)
    await workspace.branches.toggle_mute(ids(workspace)[-1])
    assert "still arriving" in last_failure(heard)
    await workspace.replies.stop()


async def test_a_muted_reply_can_be_continued(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    reply = ids(workspace)[-1]
    await workspace.branches.toggle_mute(reply)
    await answered(workspace, heard, workspace.replies.continue_reply(reply))
    body = json.loads(heard.received[-1].body)
    assert [m["content"] for m in body["messages"] if m["role"] == "assistant"][-1] == "one"
    assert done(heard).endswith("It stays muted; the longer version is not.")
    assert workspace.state.entries[-1].message.muted == NOT_MUTED
    await workspace.branches.show(reply)
    assert workspace.state.entries[-1].message.muted == Muted(whole=True)


async def test_another_program_notices_a_mute(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    other, _ = await make_workspace()
    await other.start()
    await workspace.branches.toggle_mute(ids(workspace)[0])
    await other.windows.check()
    assert left_out(other) == ["one"]
