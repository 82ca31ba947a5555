"""Tools of the workspace: calls are pending, are answered once, and the reply continues."""

from __future__ import annotations

import json

from tests.support.messages import make_message
from tests.support.reading import import_into
from tests.support.tables import each_row
from tests.support.vendors import HttpRequest
from tests.support.workspace import (
    BY_HAND,
    ECHO,
    LOOPBACKS,
    answered,
    command,
    ids,
    last_failure,
    say,
    settled,
)
from tui_chat.errors import StoreError
from tui_chat.models.blocks import CallBlock
from tui_chat.models.tool import DECLINED
from tui_chat.store.messages import MessageStore
from tui_chat.workspace.events import BranchChanged, Failed

SLEEPER = command("sleeper", "import time; time.sleep(600)")


async def called(make_workspace, tool, **options):
    """Have the model call a tool; return the call that waits, too."""
    chosen = {"model": "toolsmith", "tools": (tool,), "sent": ["Use the tool."], **options}
    workspace, heard = await make_workspace(**chosen)
    [waiting] = workspace.state.pending_calls
    return workspace, heard, waiting


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_a_call_is_answered_by_hand_and_the_conversation_continues(endpoint, make_workspace):
    workspace, heard = await make_workspace(endpoint.name, "toolsmith", tools=(BY_HAND,))
    assert b"ask_me" in workspace.requests.compose("hi").payload.body
    await say(workspace, heard, "Use the tool.")
    [waiting] = workspace.state.pending_calls
    assert waiting.call.name == "ask_me"
    assert not waiting.can_run
    await answered(
        workspace, heard, workspace.tools.answer(waiting.entry_id, waiting.index, "It rains.")
    )
    assert [e.message.role for e in workspace.state.entries] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert "It rains." in workspace.state.entries[-1].message.content
    assert b"It rains." in heard.received[-1].body
    assert workspace.state.pending_calls == ()


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_a_command_answers_after_consent(endpoint, make_workspace):
    workspace, heard, waiting = await called(make_workspace, ECHO, endpoint=endpoint.name)
    assert waiting.can_run
    city = json.loads(waiting.call.arguments)["city"]
    await answered(workspace, heard, workspace.tools.run(waiting.entry_id, waiting.index))
    assert workspace.state.entries[2].message.content == f"in {city}"
    assert workspace.state.entries[-1].status == "complete"


async def test_a_tool_that_needs_no_consent_runs_by_itself(make_workspace):
    always = command("echo_city", "print('done')", consent="always")
    workspace, heard = await make_workspace(model="toolsmith", tools=(always,))
    assert await workspace.replies.submit("Use the tool.")
    await heard.until(
        lambda: len(workspace.state.entries) == 4 and not workspace.state.is_streaming
    )
    assert workspace.state.entries[2].message.content == "done"


async def test_an_unstored_answer_is_stored_later_without_running_the_command_again(
    make_workspace, tmp_path, monkeypatch
):
    log = tmp_path / "runs"
    once = command("once", f"open({str(log)!r}, 'a').write('x'); print('paid')")
    workspace, heard, waiting = await called(make_workspace, once)
    add_message = MessageStore.add

    async def refuse(*_: object) -> None:
        raise StoreError("There is no room left on the disk.")

    monkeypatch.setattr(MessageStore, "add", refuse)
    assert not await workspace.tools.run(waiting.entry_id, waiting.index)
    assert "could not be stored" in last_failure(heard)
    monkeypatch.setattr(MessageStore, "add", add_message)
    await answered(workspace, heard, workspace.tools.run(waiting.entry_id, waiting.index))
    assert workspace.state.entries[2].message.content == "paid"
    assert log.read_text() == "x"


async def test_opening_a_session_runs_nothing(make_workspace):
    workspace, heard = await make_workspace(
        model="toolsmith", tools=(ECHO,), sent=["Use the tool."]
    )
    await workspace.close()
    received: list[HttpRequest] = []
    always = command("echo_city", "print('done')", consent="always")
    workspace, heard = await make_workspace(
        model="toolsmith", tools=(always,), on_request=received.append
    )
    [waiting] = workspace.state.pending_calls
    assert waiting.can_run
    assert len(workspace.state.entries) == 2
    assert received == []
    await answered(workspace, heard, workspace.tools.run(waiting.entry_id, waiting.index))


async def test_output_of_a_failing_tool_is_sent_to_the_model(make_workspace):
    failing = command("broken", "import sys; print('no such city'); sys.exit(3)")
    workspace, heard, waiting = await called(make_workspace, failing)
    await workspace.tools.run(waiting.entry_id, waiting.index)
    await settled(workspace, heard)
    answer = workspace.state.entries[2].message
    assert answer.content == "no such city\nThe tool failed with status 3."
    assert answer.failed


async def test_a_running_tool_can_be_cancelled_or_answered_by_hand(make_workspace):
    import asyncio

    workspace, heard, waiting = await called(make_workspace, SLEEPER)
    running = asyncio.create_task(workspace.tools.run(waiting.entry_id, waiting.index))
    await heard.until(lambda: workspace.state.pending_calls[0].is_running)
    assert isinstance(heard.changes[-1], BranchChanged)
    assert not await workspace.tools.run(waiting.entry_id, waiting.index)
    assert "running already" in last_failure(heard)
    assert workspace.tools.stop()
    assert not await running
    assert not workspace.state.pending_calls[0].is_running

    running = asyncio.create_task(workspace.tools.run(waiting.entry_id, waiting.index))
    await heard.until(lambda: workspace.state.pending_calls[0].is_running)
    assert await workspace.tools.answer(waiting.entry_id, waiting.index, "By hand.")
    assert not await running
    await settled(workspace, heard)
    assert [e.message.content for e in workspace.state.entries if e.message.role == "tool"] == [
        "By hand."
    ]


async def test_a_call_is_answered_once(make_workspace):
    workspace, heard, waiting = await called(make_workspace, BY_HAND)
    await answered(workspace, heard, workspace.tools.answer(waiting.entry_id, waiting.index, "one"))
    assert not await workspace.tools.answer(waiting.entry_id, waiting.index, "two")
    assert "answered already" in last_failure(heard)
    assert len(workspace.state.entries) == 4


async def test_a_tool_without_a_command_is_not_run(make_workspace):
    workspace, heard, waiting = await called(make_workspace, BY_HAND)
    assert not await workspace.tools.run(waiting.entry_id, waiting.index)
    advice = "Answer the call by hand, or set `command` in [tools.ask_me]."
    assert heard.of(Failed)[-1].error.advice == advice


async def test_offered_tools_belong_to_the_session(make_workspace):
    from dataclasses import replace

    extra = replace(ECHO, offered=False)
    workspace, heard = await make_workspace(model="echo", tools=(BY_HAND, extra))
    assert [tool.name for tool in workspace.state.tools] == ["ask_me"]
    await workspace.tool_sources.choose(("echo_city",))
    assert b"echo_city" in workspace.requests.compose("hi").payload.body
    assert b"ask_me" not in workspace.requests.compose("hi").payload.body
    await say(workspace, heard, "hi")
    await workspace.tool_sources.choose(("nope",))
    assert "no tool “nope”" in last_failure(heard)
    await workspace.close()
    workspace, _ = await make_workspace(model="echo", tools=(BY_HAND, extra))
    assert [tool.name for tool in workspace.state.tools] == ["echo_city"]
    await workspace.tool_sources.choose(())
    assert b"tools" not in workspace.requests.compose("hi").payload.body
    await workspace.sessions.new()
    assert [tool.name for tool in workspace.state.tools] == ["ask_me"]


async def test_nothing_is_sent_while_a_call_is_pending(make_workspace, tmp_path):
    workspace, heard = await make_workspace()
    calls = [
        {"id": each, "type": "function", "function": {"name": "ask_me", "arguments": "{}"}}
        for each in ("c1", "c2")
    ]
    talk = tmp_path / "talk.jsonl"
    talk.write_text(
        "\n".join(
            json.dumps(line)
            for line in (
                {"role": "user", "content": "Ask twice."},
                {"role": "assistant", "content": "", "tool_calls": calls},
                {"role": "tool", "content": "It rains.", "tool_call_id": "c1"},
            )
        )
    )
    [report] = await import_into(workspace, (talk,))
    await workspace.sessions.open(report.session_ids[0])
    assert not await workspace.replies.regenerate(ids(workspace)[-1])
    assert "waiting for an answer" in last_failure(heard)
    assert heard.received == []


async def test_declining_all_calls_leaves_the_next_word_to_the_user(make_workspace):
    workspace, heard = await make_workspace(
        "loopback", "toolsmith", tools=(BY_HAND, ECHO), sent=["Use the tools."]
    )
    calls = workspace.state.pending_calls
    assert calls
    assert await workspace.tools.decline_and_stop(calls[0].entry_id)
    assert workspace.state.pending_calls == ()
    answers = [e.message for e in workspace.state.entries if e.message.role == "tool"]
    assert [answer.content for answer in answers] == [DECLINED] * len(calls)
    assert workspace.state.entries[-1].message is answers[-1]
    assert len(heard.received) == 1, "nothing was sent"
    assert not await workspace.tools.decline_and_stop(calls[0].entry_id)
    assert "answered already" in last_failure(heard)
    await say(workspace, heard, "Do without.")
    assert DECLINED.encode() in heard.received[-1].body


@each_row("ids", [("", ""), ("x", "x")])
async def test_stored_calls_whose_ids_are_the_same_run_once_each(make_workspace, ids):
    code = "import json,sys; print('in', json.load(sys.stdin)['city'])"
    workspace, heard = await make_workspace(tools=(command("echo_city", code, consent="always"),))
    await say(workspace, heard, "hello")
    session_id, last = workspace.state.session_id, workspace.state.entries[-1]
    cities = zip(ids, "ab", strict=True)
    calls = tuple(CallBlock(id_, "echo_city", json.dumps({"city": city})) for id_, city in cities)
    reply = make_message("assistant", "", tool_calls=calls)
    await workspace.store.messages.add(session_id, reply, last.message.id)
    await workspace.sessions.reload_branch()
    first, second = workspace.state.pending_calls
    assert not await workspace.tools.answer(second.entry_id, second.index, "out of order")
    await workspace.tools.run_permitted(session_id, first.entry_id)
    told = [e.message.content for e in workspace.state.entries if e.message.role == "tool"]
    assert told == ["in a", "in b"]
    assert not workspace.state.pending_calls
