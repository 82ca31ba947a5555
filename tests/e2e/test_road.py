"""The whole road: what the inspector shows is what a server receives, and what comes back is
kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import moved, settled
from tests.protocols.sdk_types import accept
from tui_chat.config import BUILT_IN_ENDPOINTS
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_tree import plain
from tui_chat.offline import HttpRequest, serve
from tui_chat.workspace import ReplyGrew, Trouble

LOOPBACKS = [e for e in BUILT_IN_ENDPOINTS if e.name.startswith("loopback")]
HARD_TEXT = '你好 😀 \u2028 "quotes" \\ back\n\ttab \x00 nul \u202e bidi </script>'


@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_the_bytes_on_the_socket_are_the_bytes_in_the_inspector(endpoint, make_desk):
    received: list[HttpRequest] = []
    async with serve(on_request=received.append) as server:
        there = moved(endpoint, server.base_url)
        desk, heard = await make_desk(endpoint.name, "echo", (there,))
        for draft in ("Hello", HARD_TEXT):
            for typed in range(1, len(draft) + 1):  # as the inspector sees it grow
                seen = desk.composed(draft[:typed])
            assert json.loads(seen.payload.text) == plain(seen.encoded.tree)
            assert await desk.submit(draft)
            await settled(desk, heard)
            request = received[-1]
            assert request.body == seen.payload.body
            accept(endpoint.protocol, json.loads(request.body))
            assert f"http://{dict(request.headers)['host']}{request.target}" == seen.url
            assert desk.entries[-1].status == "complete"
            assert desk.entries[-1].message.content == draft
        assert len(received) == 2


@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_looking_at_other_protocols_changes_nothing(endpoint, make_desk):
    desk, _ = await make_desk(endpoint.name, "echo")
    own = desk.composed("hi")
    for protocol in Protocol:
        other = desk.composed("hi", protocol)
        assert other.protocol is protocol
        assert other.envelope is own.envelope
        assert "loopback.invalid" in other.url
    assert desk.composed("hi") is own
    assert desk.endpoint.protocol is endpoint.protocol


async def test_opening_and_typing_send_nothing(make_desk):
    received: list[HttpRequest] = []
    desk, _ = await make_desk(on_request=received.append)
    for protocol in Protocol:
        desk.composed("typing", protocol)
    await desk.new()
    assert received == []
    assert desk.sessions == ()


async def test_it_is_all_there_after_a_restart(make_desk):
    desk, heard = await make_desk(model="mirror")
    assert await desk.submit("What do you see?")
    await settled(desk, heard)
    await desk.keep_draft(desk.session, "half a tho")
    before = desk.entries
    await desk.close()

    desk, _ = await make_desk(model="mirror")
    assert desk.entries == before
    assert await desk.draft() == "half a tho"
    assert desk.session is not None
    assert desk.session.title == "What do you see?"
    assert desk.sessions[0].message_count == 2
    assert "What do you see?" in desk.entries[1].message.content


async def test_the_reply_streams_in(make_desk):
    desk, heard = await make_desk(model="lorem:max:300")
    assert await desk.submit("go")
    await settled(desk, heard)
    grown = [change.grown.reply for change in heard.of(ReplyGrew)]
    sizes = [len(reply.content) for reply in grown]
    assert len(sizes) > 50
    assert sizes == sorted(sizes)
    assert str(grown[-1].content) == desk.entries[-1].message.content
    assert desk.entries[-1].usage.output


async def test_stopping_keeps_what_came_and_the_next_message_goes_on(make_desk):
    desk, heard = await make_desk(model="flaky-stall")
    assert await desk.submit("go")
    await heard.until(lambda: bool(heard.of(ReplyGrew)))
    await desk.stop()
    await settled(desk, heard)
    stopped = desk.entries[-1]
    assert stopped.status == "stopped"
    assert stopped.message.content
    await desk.choose("loopback", "echo")
    assert await desk.submit("again")
    await settled(desk, heard)
    assert [e.status for e in desk.entries] == ["complete", "stopped", "complete", "complete"]


@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
@pytest.mark.parametrize("model", ["flaky-429", "flaky-500", "flaky-cut"])
async def test_a_providers_error_is_told_in_words_with_what_to_do(endpoint, model, make_desk):
    desk, heard = await make_desk(endpoint.name, model)
    assert await desk.submit("go")
    await settled(desk, heard)
    failed = desk.entries[-1]
    assert failed.status == "failed"
    assert len(failed.error.split()) > 3
    assert failed.advice
    assert "Traceback" not in failed.error
    assert bool(failed.message.content) is (model == "flaky-cut")


async def test_a_retry_makes_a_sibling_and_works(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk(model="flaky-429:3", on_request=received.append)
    assert await desk.submit("once more")
    await settled(desk, heard)
    failed = desk.entries[-1]
    assert failed.status == "failed"
    assert await desk.retry(failed.message.id)
    await settled(desk, heard)
    assert [e.message.content for e in desk.entries] == ["once more", "once more"]
    assert desk.entries[-1].message.id != failed.message.id
    assert desk.entries[-1].parent_id == failed.parent_id
    assert {request.body for request in received} == {received[0].body}
    assert len(received) == 4, "three tries by itself, and the one that was asked for"


async def test_the_request_that_made_a_reply_is_kept(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk(on_request=received.append)
    assert await desk.submit("remember")
    await settled(desk, heard)
    record = await desk._outside.store.requests.get(desk.entries[-1].message.id)
    assert record is not None
    assert record.body == received[0].body


async def test_a_second_message_waits_for_the_first_reply(make_desk):
    desk, heard = await make_desk(model="flaky-stall")
    assert await desk.submit("one")
    assert not await desk.submit("two")
    assert "still arriving" in str(heard.of(Trouble)[-1].error)
    await desk.stop()


async def test_two_sessions_stream_at_once(make_desk):
    desk, heard = await make_desk(model="lorem:max:200")
    assert await desk.submit("first")
    first = desk.session
    await desk.new()
    assert await desk.submit("second")
    await settled(desk, heard)
    assert first is not None
    await desk.open(first.session_id)
    await heard.until(lambda: not desk.is_streaming)
    await settled(desk, heard)
    assert {s.title for s in desk.sessions} == {"first", "second"}
    assert all(s.status == "complete" for s in desk.sessions)


async def test_another_windows_exchange_is_not_hidden(make_desk):
    one, heard_one = await make_desk(model="echo")
    assert await one.submit("start")
    await settled(one, heard_one)
    two, heard_two = await make_desk(model="echo")
    assert await two.submit("from two")
    await settled(two, heard_two)
    assert not await one.submit("from one")
    assert "Another window" in str(heard_one.of(Trouble)[-1].error)
    assert [e.message.content for e in one.entries] == ["start", "start", "from two", "from two"]
    assert await one.submit("from one")
    await settled(one, heard_one)
    assert len(one.entries) == 6


async def test_what_is_composed_while_the_model_changes_is_not_found_afterwards(make_desk):
    desk, _ = await make_desk(model="mirror")
    memory = desk._composing._composed
    stale = desk.composed("long draft")
    await desk.choose("loopback", "echo")
    memory[("long draft", (), desk.endpoint.protocol)] = stale  # as a thread would, too late
    assert desk.composed("long draft").model == "echo"


async def test_a_key_is_sent_and_kept_nowhere(make_desk, monkeypatch, tmp_path: Path):
    received: list[HttpRequest] = []
    monkeypatch.setenv("TEST_KEY", "sk-secret-0123456789")
    async with serve(on_request=received.append) as server:
        from dataclasses import replace

        there = replace(moved(LOOPBACKS[0], server.base_url), key="env:TEST_KEY")
        desk, heard = await make_desk("loopback", "mirror", (there,))
        assert await desk.submit("hi")
        await settled(desk, heard)
    assert dict(received[0].headers)["authorization"] == "Bearer sk-secret-0123456789"
    await desk.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-secret" not in path.read_bytes()


async def test_a_missing_key_says_what_to_set(make_desk, monkeypatch):
    from dataclasses import replace

    monkeypatch.delenv("TEST_KEY", raising=False)
    desk, heard = await make_desk("loopback", "echo", (replace(LOOPBACKS[0], key="env:TEST_KEY"),))
    assert await desk.submit("hi")
    await settled(desk, heard)
    assert "TEST_KEY" in desk.entries[-1].error
    assert "Set TEST_KEY" in desk.entries[-1].advice


async def test_a_server_that_is_not_there_is_told(make_desk):
    gone = moved(LOOPBACKS[0], "http://127.0.0.1:9")
    desk, heard = await make_desk("loopback", "echo", (gone,))
    assert await desk.submit("hi")
    await settled(desk, heard)
    assert "127.0.0.1:9" in desk.entries[-1].error
