"""The whole road: what the inspector shows is what a server receives, and what comes back is
kept."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

from tests.support.sdk_types import accept
from tests.support.tables import each_row
from tests.support.vendors import LOOPBACKS, HttpRequest, serve
from tests.support.workspace import answered, moved, say, settled
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Protocol
from tui_chat.models.payload import plain
from tui_chat.workspace import requests
from tui_chat.workspace.events import Failed, ReplyGrew

HARD_TEXT = '你好 😀 \u2028 "quotes" \\ back\n\ttab \x00 nul \u202e bidi </script>'


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_the_bytes_on_the_socket_are_the_bytes_in_the_inspector(endpoint, make_workspace):
    received: list[HttpRequest] = []
    async with serve(on_request=received.append) as server:
        there = moved(endpoint, server.base_url)
        workspace, heard = await make_workspace(endpoint.name, "echo", (there,))
        for draft in ("Hello", HARD_TEXT):
            for typed in range(1, len(draft) + 1):  # as the inspector sees it grow
                seen = workspace.requests.compose(draft[:typed])
            assert json.loads(seen.payload.text) == plain(seen.encoded.tree)
            await say(workspace, heard, draft)
            request = received[-1]
            assert request.body == seen.payload.body
            accept(endpoint.protocol, json.loads(request.body))
            assert f"http://{dict(request.headers)['host']}{request.target}" == seen.url
            assert workspace.state.entries[-1].status == "complete"
            assert workspace.state.entries[-1].message.content == draft
        assert len(received) == 2


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_looking_at_other_protocols_changes_nothing(endpoint, make_workspace):
    workspace, _ = await make_workspace(endpoint.name, "echo")
    own = workspace.requests.compose("hi")
    for protocol in Protocol:
        other = workspace.requests.compose("hi", protocol)
        assert other.protocol is protocol
        assert other.envelope is own.envelope
        assert "loopback.invalid" in other.url
    assert workspace.requests.compose("hi") is own
    assert workspace.state.endpoint.protocol is endpoint.protocol


async def test_opening_and_typing_send_nothing(make_workspace):
    workspace, heard = await make_workspace()
    for protocol in Protocol:
        workspace.requests.compose("typing", protocol)
    await workspace.sessions.new()
    assert heard.received == []
    assert workspace.state.sessions == ()


async def test_a_restart_restores_everything(make_workspace):
    workspace, _ = await make_workspace(model="mirror", sent=["What do you see?"])
    await workspace.sessions.save_draft(workspace.state.session, "half a tho")
    before = workspace.state.entries
    await workspace.close()

    workspace, _ = await make_workspace(model="mirror")
    assert workspace.state.entries == before
    assert await workspace.sessions.draft() == "half a tho"
    assert workspace.state.session.title == "What do you see?"
    assert workspace.state.sessions[0].message_count == 2
    assert "What do you see?" in workspace.state.entries[1].message.content


async def test_the_reply_streams_in(make_workspace):
    workspace, heard = await make_workspace(model="lorem:600:300", sent=["go"])
    grown = [change.grown.reply for change in heard.of(ReplyGrew)]
    sizes = [len(reply.text) for reply in grown]
    assert len(sizes) > 8, "once a frame, for half a second"
    assert sizes == sorted(sizes)
    assert str(grown[-1].text) == workspace.state.entries[-1].message.content
    assert workspace.state.entries[-1].usage.output


async def test_a_stopped_reply_is_kept_and_the_session_continues(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("go")
    await heard.until(lambda: bool(heard.of(ReplyGrew)))
    await workspace.replies.stop()
    await settled(workspace, heard)
    stopped = workspace.state.entries[-1]
    assert stopped.status == "stopped"
    assert stopped.message.content
    await workspace.settings.set_model("loopback", "echo")
    await say(workspace, heard, "again")
    assert [e.status for e in workspace.state.entries] == [
        "complete",
        "stopped",
        "complete",
        "complete",
    ]


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
@each_row("model", ["flaky-429", "flaky-500", "flaky-cut"])
async def test_a_provider_error_is_explained_with_advice(endpoint, model, make_workspace):
    workspace, _ = await make_workspace(endpoint.name, model, sent=["go"])
    failed = workspace.state.entries[-1]
    assert failed.status == "failed"
    assert len(failed.error.split()) > 3
    assert failed.advice
    assert "Traceback" not in failed.error
    assert bool(failed.message.content) is (model == "flaky-cut")


async def test_a_retry_adds_a_version(make_workspace):
    workspace, heard = await make_workspace(model="flaky-429:3", sent=["once more"])
    failed = workspace.state.entries[-1]
    assert failed.status == "failed"
    await answered(workspace, heard, workspace.replies.regenerate(failed.message.id))
    assert [e.message.content for e in workspace.state.entries] == ["once more", "once more"]
    assert workspace.state.entries[-1].message.id != failed.message.id
    assert workspace.state.entries[-1].parent_id == failed.parent_id
    assert {request.body for request in heard.received} == {heard.received[0].body}
    assert len(heard.received) == 4, "three tries by itself, and the one that was asked for"


async def test_the_request_of_a_reply_is_kept(make_workspace):
    workspace, heard = await make_workspace(sent=["remember"])
    record = await workspace.store.requests.get(workspace.state.entries[-1].message.id)
    assert record.body == heard.received[0].body


async def test_a_second_message_waits_for_the_first_reply(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("one")
    assert not await workspace.replies.submit("two")
    assert "still arriving" in str(heard.of(Failed)[-1].error)
    await workspace.replies.stop()


async def test_two_sessions_stream_at_once(make_workspace):
    workspace, heard = await make_workspace(model="lorem:max:200")
    assert await workspace.replies.submit("first")
    first = workspace.state.session
    await workspace.sessions.new()
    await say(workspace, heard, "second")
    await workspace.sessions.open(first.session_id)
    await heard.until(lambda: not workspace.state.is_streaming)
    await settled(workspace, heard)
    assert {s.title for s in workspace.state.sessions} == {"first", "second"}
    assert all(s.status == "complete" for s in workspace.state.sessions)


async def test_an_exchange_of_another_window_is_visible(make_workspace):
    one, heard_one = await make_workspace(model="echo")
    assert await one.replies.submit("start")
    await settled(one, heard_one)
    two, heard_two = await make_workspace(model="echo")
    assert await two.replies.submit("from two")
    await settled(two, heard_two)
    assert not await one.replies.submit("from one")
    assert "Another window" in str(heard_one.of(Failed)[-1].error)
    assert [e.message.content for e in one.state.entries] == [
        "start",
        "start",
        "from two",
        "from two",
    ]
    assert await one.replies.submit("from one")
    await settled(one, heard_one)
    assert len(one.state.entries) == 6


async def test_a_request_composed_during_a_model_change_is_not_reused(
    make_workspace, monkeypatch: pytest.MonkeyPatch
):
    workspace, _ = await make_workspace(model="mirror")
    has_begun, may_end = threading.Event(), threading.Event()

    def compose_slowly(inputs: Inputs) -> Composed:
        has_begun.set()
        assert may_end.wait(20)
        return compose(inputs)

    with monkeypatch.context() as patch:
        patch.setattr(requests, "compose", compose_slowly)
        stale = asyncio.create_task(asyncio.to_thread(workspace.requests.compose, "long draft"))
        assert await asyncio.to_thread(has_begun.wait, 20)
    await workspace.settings.set_model("loopback", "echo")
    may_end.set()
    assert (await stale).model == "mirror"
    assert workspace.requests.compose("long draft").model == "echo"


async def test_a_key_is_sent_and_never_stored(make_workspace, monkeypatch, tmp_path: Path):
    received: list[HttpRequest] = []
    monkeypatch.setenv("TEST_KEY", "sk-secret-0123456789")
    async with serve(on_request=received.append) as server:
        from dataclasses import replace

        there = replace(moved(LOOPBACKS[0], server.base_url), key="env:TEST_KEY")
        workspace, heard = await make_workspace("loopback", "mirror", (there,))
        await say(workspace, heard, "hi")
    assert dict(received[0].headers)["authorization"] == "Bearer sk-secret-0123456789"
    await workspace.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-secret" not in path.read_bytes()


async def test_a_missing_key_is_reported_with_the_variable_to_set(make_workspace, monkeypatch):
    from dataclasses import replace

    monkeypatch.delenv("TEST_KEY", raising=False)
    workspace, heard = await make_workspace(
        "loopback", "echo", (replace(LOOPBACKS[0], key="env:TEST_KEY"),)
    )
    await say(workspace, heard, "hi")
    assert "TEST_KEY" in workspace.state.entries[-1].error
    assert "Set TEST_KEY" in workspace.state.entries[-1].advice


async def test_an_unreachable_server_is_reported(make_workspace):
    gone = moved(LOOPBACKS[0], "http://127.0.0.1:9")
    workspace, _ = await make_workspace("loopback", "echo", (gone,), sent=["hi"])
    assert "127.0.0.1:9" in workspace.state.entries[-1].error
