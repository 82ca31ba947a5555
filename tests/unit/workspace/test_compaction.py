"""Compaction: planned, written, accepted, switched off, edited and undone."""

from __future__ import annotations

import json

from tests.support.tables import each_row
from tests.support.workspace import contents, ids, last_failure, limited, say
from tui_chat.models.message import Muted
from tui_chat.workspace.compaction import HEADING
from tui_chat.workspace.events import Done, Failed


def sent(workspace, draft: str = "") -> list[str]:
    """What the next request says besides the role and the preset."""
    body = json.loads(workspace.requests.compose(draft).payload.body)
    texts = (message["content"] for message in body["messages"])
    return [text for text in texts if not text.startswith(("You are", "The user reads"))]


WORDS = ("one " * 20, "two " * 20, "three " * 20, "four " * 20)


async def summarized(make_workspace):
    workspace, heard = await make_workspace(sent=WORDS)
    plan = await workspace.compaction.plan()
    assert plan is not None
    assert await workspace.compaction.accept(plan, "SUM")
    return workspace, heard, plan


async def test_the_older_part_is_summed_up_and_the_newest_stays(make_workspace):
    workspace, heard = await make_workspace(sent=WORDS)
    before = sent(workspace, "next")
    plan = await workspace.compaction.plan()
    assert (plan.messages, plan.end, plan.is_whole) == (6, 6, True)
    asked = json.loads(plan.composed.payload.body)["messages"]
    assert [m["content"] for m in asked[1:-1]] == [w for word in WORDS[:3] for w in (word, word)]
    assert "Sum up the conversation" in asked[-1]["content"]
    arrived: list[str] = []
    text = await workspace.compaction.write(plan, arrived.append)
    assert text.startswith(f"{HEADING}\n\nSum up")  # the model echoes
    assert arrived
    assert sent(workspace, "next") == before, "nothing changed yet"
    assert await workspace.compaction.accept(plan, "SUM")
    assert sent(workspace, "next") == ["SUM", WORDS[3], WORDS[3], "next"]
    assert contents(workspace)[:-1] == [w for word in WORDS for w in (word, word)]
    assert heard.of(Done)[-1].sentence == "Summed up 6 messages."
    stored = await workspace.store.side_requests.list(workspace.state.session_id)
    assert [(each.kind, each.status) for each in stored] == [("summary", "complete")]


async def test_deleting_the_summary_brings_the_messages_back_to_the_byte(make_workspace):
    workspace, _, _ = await summarized(make_workspace)
    await workspace.branches.delete(ids(workspace)[-1])
    assert len(workspace.state.entries) == 8
    assert sent(workspace, "next")[0] == WORDS[0]


async def test_it_is_switched_off_and_on_and_requests_are_still_rebuilt(make_workspace):
    workspace, heard, _ = await summarized(make_workspace)
    summary = ids(workspace)[-1]
    await say(workspace, heard, "five")
    with_it = ids(workspace)[-1]
    await workspace.compaction.switch(summary, enabled=False)
    assert sent(workspace, "next")[0] == WORDS[0]
    assert "SUM" not in sent(workspace, "next")
    request = await workspace.sent.request(with_it)
    assert request.is_exact
    assert b"SUM" in request.body
    await workspace.compaction.switch(summary, enabled=True)
    assert sent(workspace, "next")[0] == "SUM"


async def test_an_edited_summary_is_a_version(make_workspace):
    workspace, _, _ = await summarized(make_workspace)
    assert await workspace.branches.edit(ids(workspace)[-1], "BETTER")
    assert contents(workspace)[-1] == "BETTER"
    assert workspace.state.entries[-1].siblings == 2
    assert sent(workspace, "next") == ["BETTER", WORDS[3], WORDS[3], "next"]


async def test_a_second_summary_is_written_from_the_first_and_what_follows(make_workspace):
    workspace, heard, _ = await summarized(make_workspace)
    await say(workspace, heard, "five " * 20, "six " * 20)
    plan = await workspace.compaction.plan()
    asked = json.loads(plan.composed.payload.body)["messages"]
    assert [m["content"].split()[0] for m in asked[1:-1]] == ["SUM", "four", "four", "five", "five"]
    assert plan.messages == 10
    assert await workspace.compaction.accept(plan, "ALL")
    assert [text.split()[0] for text in sent(workspace, "next")] == ["ALL", "six", "six", "next"]
    await workspace.compaction.switch(ids(workspace)[-1], enabled=False)
    assert sent(workspace, "next")[0] == "SUM"


async def test_what_is_muted_is_not_in_the_summary(make_workspace):
    workspace, _ = await make_workspace(sent=WORDS)
    entry_id = ids(workspace)[2]
    await workspace.active_store.messages.mute({entry_id: Muted(whole=True)})
    await workspace.sessions.reload_branch()
    plan = await workspace.compaction.plan()
    asked = json.loads(plan.composed.payload.body)["messages"]
    words = [message["content"].split()[0] for message in asked[1:-1]]
    assert words == ["one", "one", "two", "three", "three"]
    assert (plan.end, plan.messages) == (6, 6)
    assert await workspace.compaction.accept(plan, "SUM")
    assert sent(workspace) == ["SUM", WORDS[3], WORDS[3]]


async def test_it_stays_in_a_fork_and_after_a_new_start(make_workspace):
    workspace, heard, _ = await summarized(make_workspace)
    assert await workspace.branches.fork(ids(workspace)[-1])
    await say(workspace, heard, "five")
    assert sent(workspace)[:2] == ["SUM", WORDS[3]]
    await workspace.close()
    workspace, _ = await make_workspace()
    assert sent(workspace)[:2] == ["SUM", WORDS[3]]


async def test_as_much_as_fits_into_a_request_is_summed_up(make_workspace):
    workspace, heard = await make_workspace(endpoints=limited(500))
    await say(workspace, heard, *(f"{word} " * 60 for word in ("one", "two", "three", "four")))
    assert workspace.requests.compose("").envelope.dropped
    plan = await workspace.compaction.plan()
    assert not plan.is_whole
    assert plan.messages >= 2
    assert plan.composed.envelope.dropped == ()
    assert await workspace.compaction.accept(plan, "SUM")
    again = await workspace.compaction.plan()
    assert again.messages > plan.messages


async def test_three_tenths_of_the_history_stay(make_workspace):
    workspace, _ = await make_workspace(sent=["w"] * 10)
    plan = await workspace.compaction.plan()
    assert (plan.messages, plan.end) == (14, 14)


async def test_a_message_that_is_too_long_for_a_summary_is_named(make_workspace):
    workspace, heard = await make_workspace(endpoints=limited(500))
    await say(workspace, heard, "long " * 250, "short")
    assert await workspace.compaction.plan() is None
    error = heard.of(Failed)[-1].error
    assert "Nothing can be compacted" in str(error)
    assert "too long" in error.advice


async def test_what_it_cannot_do_is_said(make_workspace):
    workspace, heard = await make_workspace()
    assert await workspace.compaction.plan() is None
    assert "no message" in last_failure(heard)
    await say(workspace, heard, "one")
    assert await workspace.compaction.plan() is None
    assert "Too short to compact" in last_failure(heard)
    await say(workspace, heard, *WORDS)
    plan = await workspace.compaction.plan()
    await workspace.branches.delete(ids(workspace)[-1])
    assert not await workspace.compaction.accept(plan, "SUM")
    assert "not on the shown branch" in last_failure(heard)


async def test_a_summary_of_a_branch_that_went_on_is_stored_at_its_end(make_workspace):
    workspace, heard = await make_workspace(sent=WORDS)
    plan = await workspace.compaction.plan()
    await say(workspace, heard, "five")
    assert await workspace.compaction.accept(plan, "SUM")
    assert sent(workspace, "next") == ["SUM", WORDS[3], WORDS[3], "five", "five", "next"]


async def test_the_users_own_preset_goes_before_ours(make_workspace, tmp_path):
    preset = {
        "presetMessages": [
            {"id": "history", "type": "chat_history"},
            {"id": "how", "role": "user", "content": "In one word, please."},
        ]
    }
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "compact.json").write_text(json.dumps(preset))
    workspace, heard = await make_workspace(sent=WORDS)
    plan = await workspace.compaction.plan()
    assert (await workspace.compaction.write(plan)).endswith("\n\nIn one word, please.")
    (tmp_path / "presets" / "compact.json").write_text("{")
    assert await workspace.compaction.plan() is None
    assert "compact.json" in last_failure(heard)


@each_row("endpoint", ["loopback-responses", "loopback-anthropic", "loopback-gemini"])
async def test_every_protocol_sends_it(make_workspace, endpoint: str):
    workspace, heard = await make_workspace(endpoint=endpoint, sent=WORDS)
    plan = await workspace.compaction.plan()
    assert await workspace.compaction.accept(plan, "SUM")
    await say(workspace, heard, "five")
    assert workspace.state.entries[-1].status == "complete"
    body = workspace.state.last_sent[endpoint].composed.payload.body
    assert b"SUM" in body
    assert b"three" not in body
