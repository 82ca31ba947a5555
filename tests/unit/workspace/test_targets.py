"""Messages to several targets at once: one stored message, a version of the reply from each, and
branches that go on by themselves.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.support.workspace import ECHO, LOOPBACKS, command, last_failure, put
from tui_chat.compose import compose
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.settings import Settings
from tui_chat.turn_file import read_turn
from tui_chat.workspace.exchange import Slot, Target
from tui_chat.workspace.state import QueuedMessage
from tui_chat.workspace.workspace import Workspace

TARGETS = tuple(Target(endpoint.name, "echo") for endpoint in LOOPBACKS)


def slots_of(workspace: Workspace, *targets: Target) -> tuple[Slot, ...]:
    return tuple(Slot(target, workspace.state.entries) for target in targets)


async def branch(workspace: Workspace, reply_id: str):
    return await workspace.active_store.branches.path_to(reply_id, below=True)


async def test_a_draft_is_stored_once_and_answered_by_each_target(make_workspace):
    workspace, _ = await make_workspace()
    stored: list[bool] = []
    slots = slots_of(workspace, *TARGETS)
    replies = await workspace.replies.submit_to(slots, "one", stored=lambda: stored.append(True))
    assert len(replies) == len(TARGETS)
    await workspace.tools.all_ended()
    branches = [await branch(workspace, reply_id) for reply_id in replies]
    assert {len(entries) for entries in branches} == {2}
    assert len({entries[0].message.id for entries in branches}) == 1
    assert [e[1].sibling for e in branches] == list(range(len(TARGETS)))
    assert [e[1].endpoint for e in branches] == [target.endpoint for target in TARGETS]
    assert stored == [True]
    assert workspace.state.partials == {}


async def test_each_branch_goes_on_with_its_own_reply(make_workspace):
    workspace, heard = await make_workspace()
    mirror, echo = Target("loopback", "mirror"), Target("loopback", "echo")
    replies = await workspace.replies.submit_to(slots_of(workspace, mirror, echo), "one")
    await workspace.tools.all_ended()
    slots = [
        Slot(target, await branch(workspace, reply_id))
        for target, reply_id in zip((mirror, echo), replies, strict=True)
    ]
    heard.received.clear()
    replies = await workspace.replies.submit_to(slots, "two")
    await workspace.tools.all_ended()
    for slot, reply_id in zip(slots, replies, strict=True):
        entries = await branch(workspace, reply_id)
        assert entries[:2] == slot.entries
        assert [entry.message.content for entry in entries[2:3]] == ["two"]
    said = [
        json.loads(request.body)["messages"][-2]["content"]
        for request in heard.received
        if json.loads(request.body)["model"] == "echo"
    ]
    assert said == ["one"]
    answered = await branch(workspace, replies[1])
    alone = await workspace.replies.submit_to((Slot(echo, answered),), "three")
    await workspace.tools.all_ended()
    assert [e.message.content for e in await branch(workspace, alone[0])][-2:] == ["three"] * 2


PRESETS = {
    "p": "{{pick::1::2::3}} {{time}}",
    "q": "You answer {{lastUserMessage}}.",
}


@pytest.mark.slow
@each_row("turns", [1, 3])
async def test_each_target_gets_the_same_bytes_however_its_turn_is_asked_for(
    turns, make_workspace, tmp_path
):
    for name, text in PRESETS.items():
        preset = [
            {"id": "main", "role": "system", "content": text},
            {"id": "history", "type": "chat_history"},
            {"id": "near", "role": "user", "content": "{{lastCharMessage}}", "insertionPoint": -1},
        ]
        put(tmp_path / "presets", name, {"name": name, "presetMessages": preset})
    workspace, heard = await make_workspace()
    targets = [
        Target(endpoint.name, "echo", preset, settings)
        for endpoint, preset, settings in zip(
            LOOPBACKS, ("", "p", "q", "p", "q"), (Settings(), *(Settings(temperature=0.5),) * 4),
            strict=True,
        )
    ]  # fmt: skip
    slots = slots_of(workspace, *targets)
    for turn in range(turns):
        heard.received.clear()
        shown = [
            workspace.requests.compose_for(slot, f"turn {turn}").payload.body for slot in slots
        ]
        replies = await workspace.replies.submit_to(slots, f"turn {turn}")
        await workspace.tools.all_ended()
        assert sorted(request.body for request in heard.received) == sorted(shown)
        for slot, reply_id, body in zip(slots, replies, shown, strict=True):
            before = (await branch(workspace, reply_id))[:-1]
            again = Slot(slot.target, before)
            assert workspace.requests.compose_for(again, "").payload.body == body
            heard.received.clear()
            await workspace.replies.submit_to((again,))
            await workspace.tools.all_ended()
            assert [request.body for request in heard.received] == [body]
            sent = await workspace.sent.sent_request(reply_id)
            assert sent.is_exact
            text = await workspace.sent.export_turn(reply_id)
            assert text is not None
            assert compose(read_turn(text, "turn").inputs).payload.body == body
            await workspace.branches.show(reply_id)
            heard.received.clear()
            await workspace.replies.replay(reply_id, slot.target.endpoint, "echo")
            await workspace.tools.all_ended()
            assert [request.body for request in heard.received] == [body]
        slots = [
            Slot(slot.target, await workspace.store.branches.path_to(reply_id))
            for slot, reply_id in zip(slots, replies, strict=True)
        ]


async def test_one_failing_target_leaves_the_others_and_one_is_stopped_alone(make_workspace):
    workspace, _ = await make_workspace()
    models = ("flaky-500", "flaky-stall", "echo", "flaky-stall")
    targets = [Target("loopback", model) for model in models]
    replies = await workspace.replies.submit_to(slots_of(workspace, *targets), "one")
    await workspace.replies.stop(reply_id=replies[1])
    async with asyncio.timeout(20):
        while (await branch(workspace, replies[0]))[-1].status == "streaming":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert workspace.state.is_streaming
    await workspace.replies.stop()
    await workspace.tools.all_ended()
    ended = [(await branch(workspace, reply_id))[-1].status for reply_id in replies]
    assert (ended[0], ended[1], ended[3]) == ("failed", "stopped", "stopped")


async def test_a_branch_whose_reply_is_arriving_takes_no_message(make_workspace):
    workspace, heard = await make_workspace()
    stalls = Target("loopback", "flaky-stall")
    (reply_id,) = await workspace.replies.submit_to(slots_of(workspace, stalls), "one")
    slot = Slot(stalls, await branch(workspace, reply_id))
    assert await workspace.replies.submit_to((slot,), "two") == ()
    assert "still arriving" in last_failure(heard)
    await workspace.replies.stop()


async def test_a_target_that_cannot_be_used_sends_nothing(make_workspace):
    workspace, heard = await make_workspace()
    targets = TARGETS[0], Target("nowhere", "echo")
    assert await workspace.replies.submit_to(slots_of(workspace, *targets), "one") == ()
    assert "nowhere" in last_failure(heard)
    assert (heard.received, workspace.state.entries) == ([], ())


async def test_tools_of_each_branch_are_answered_there(make_workspace):
    always = command("echo_city", "print('by itself')", consent="always")
    asks = Target("loopback", "toolsmith"), Target("loopback-anthropic", "toolsmith")
    workspace, _ = await make_workspace(tools=(ECHO,))
    replies = await workspace.replies.submit_to(slots_of(workspace, *asks), "Use the tool.")
    await workspace.tools.all_ended()
    first, second = [await branch(workspace, reply_id) for reply_id in replies]
    (call,) = workspace.state.calls_at_end(first)
    assert await workspace.tools.run(call.entry_id, call.index)
    await workspace.tools.all_ended()
    assert [e.message.role for e in await branch(workspace, replies[0])][1:] == [
        "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert await branch(workspace, replies[1]) == second, "the other one still waits"
    (call,) = workspace.state.calls_at_end(second)
    assert await workspace.tools.decline(call.entry_id, call.index)
    await workspace.tools.all_ended()
    ended = await branch(workspace, replies[1])
    assert [entry.endpoint for entry in ended if entry.endpoint] == ["loopback-anthropic"] * 2
    await workspace.close()

    workspace, _ = await make_workspace(tools=(always,))
    await workspace.sessions.new()
    replies = await workspace.replies.submit_to(slots_of(workspace, *asks), "Use the tool.")
    await workspace.tools.all_ended()
    for reply_id in replies:
        entries = await branch(workspace, reply_id)
        assert entries[2].message.content == "by itself"
        assert entries[3].status == "complete"


async def test_a_tool_that_is_always_permitted_runs_in_the_other_branches_too(make_workspace):
    workspace, _ = await make_workspace(tools=(ECHO,))
    targets = [Target("loopback", "toolsmith")] * 3
    replies = await workspace.replies.submit_to(slots_of(workspace, *targets), "Use the tool.")
    await workspace.tools.all_ended()
    (call,) = workspace.state.calls_at_end(await branch(workspace, replies[0]))
    assert await workspace.tools.run(call.entry_id, call.index, scope="session")
    await workspace.tools.all_ended()
    assert [len(await branch(workspace, reply_id)) for reply_id in replies] == [4] * 3


async def test_a_result_comes_to_the_branch_of_its_call(make_workspace):
    slow = command("slow", "import sys; sys.stdin.read(); print('late')")
    workspace, _ = await make_workspace(tools=(slow,))
    targets = Target("loopback", "toolsmith"), Target("loopback", "echo")
    replies = await workspace.replies.submit_to(slots_of(workspace, *targets), "Use the tool.")
    await workspace.tools.all_ended()
    (call,) = workspace.state.calls_at_end(await branch(workspace, replies[0]))
    running = asyncio.create_task(workspace.tools.run(call.entry_id, call.index))
    await asyncio.sleep(0)
    workspace.replies.forget_targets()
    await workspace.branches.show(replies[1])
    assert await running
    ended = await branch(workspace, replies[0])
    assert [entry.message.content for entry in ended[2:3]] == ["late"]


async def test_the_queue_waits_for_the_sessions_own_reply_and_the_title_is_made_once(
    make_workspace,
):
    workspace, heard = await make_workspace(title_model="loopback/echo")
    await workspace.queue.add(workspace.state.session_id, QueuedMessage("queued"))
    targets = [Target("loopback", "echo")] * 3
    await workspace.replies.submit_to(slots_of(workspace, *targets), "Where does the river go?")
    await workspace.tools.all_ended()
    await heard.until(lambda: workspace.state.session.title.startswith("User:"))
    asked = await workspace.store.side_requests.list(workspace.state.session_id)
    assert [request.kind for request in asked] == ["title"]
    assert [message.text for message in workspace.state.queue] == ["queued"]


async def test_after_a_crash_each_reply_is_interrupted_with_its_text(make_workspace, tmp_path):
    code = f"""
import asyncio, os, sys, time, uuid
from datetime import datetime, UTC
from pathlib import Path
sys.path.insert(0, {str(Path.cwd())!r})
from tests.support.vendors import VendorTransport
from tui_chat.cli.app import open_library
from tests.support.vendors import ENDPOINTS
from tui_chat.config import Config
from tui_chat.providers.client import HttpClient
from tui_chat.store import Store
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.exchange import Slot, Target
from tui_chat.workspace.workspace import Workspace

async def main():
    folder = Path({str(tmp_path)!r})
    config = Config(endpoints=ENDPOINTS, endpoint="loopback", model="echo",
                    data_dir=folder, config_dir=folder)
    store = await Store.open(folder / "chat.db", now=time.time, new_id=lambda: uuid.uuid4().hex)
    client = HttpClient({{"loopback.invalid": VendorTransport}})
    workspace = Workspace(WorkspaceCore(config, store, client, open_library(config),
                                        now=lambda: datetime.now(UTC)))
    await workspace.start()
    slots = [Slot(Target("loopback", "flaky-stall"), ())] * 3
    replies = await workspace.replies.submit_to(slots, "one")
    while True:
        entries = [(await store.branches.path_to(reply))[-1] for reply in replies]
        if all(entry.message.content for entry in entries):
            os._exit(9)
        await asyncio.sleep(0.01)

asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 9
    workspace, _ = await make_workspace()
    nodes = await workspace.store.branches.tree(workspace.state.session_id)
    parents = {node.parent_id for node in nodes}
    ends = [node for node in nodes if node.message_id not in parents]
    assert [node.status for node in ends] == ["interrupted"] * 3
    excerpts = await workspace.branches.excerpts(node.message_id for node in ends)
    assert all(excerpts[node.message_id] for node in ends)


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.name)
async def test_edits_by_hand_are_sent_where_the_protocol_is_theirs(
    endpoint: Endpoint, make_workspace
):
    received: list[bytes] = []
    workspace, _ = await make_workspace(
        endpoint.name, on_request=lambda request: received.append(request.body)
    )
    targets = (*TARGETS, Target(endpoint.name, "mirror"))
    slots = slots_of(workspace, *targets)
    for turn in ("one", "two"):
        workspace.requests.set_draft(turn, ())
        workspace.requests.compose_shown()
        assert await workspace.request_edits.change("add", (f"x_{turn}",), 1, kept=False)
        composed = [workspace.requests.compose_for(slot, turn) for slot in slots]
        shown = [request.payload.body for request in composed]
        for target, request in zip(targets, composed, strict=True):
            is_own = target.endpoint == endpoint.name
            assert (f'"x_{turn}":1'.encode() in request.payload.body) == is_own
            notes = [note.code for note in request.encoded.notes]
            assert ("edit-of-other-protocol" in notes) != is_own
        received.clear()
        replies = await workspace.replies.submit_to(slots, turn)
        await workspace.tools.all_ended()
        assert sorted(received) == sorted(shown)
        branches = [await branch(workspace, reply_id) for reply_id in replies]
        again = [
            workspace.requests.compose_for(Slot(target, entries[:-1]), "").payload.body
            for target, entries in zip(targets, branches, strict=True)
        ]
        assert again == shown
        sent = [await workspace.sent.request(reply_id) for reply_id in replies]
        assert [request.composed.payload.body for request in sent] == shown
        slots = [Slot(*pair) for pair in zip(targets, branches, strict=True)]
    workspace.requests.set_draft("three", ())
    body = json.loads(workspace.requests.compose("three").payload.body)
    assert not {"x_one", "x_two"} & body.keys()
