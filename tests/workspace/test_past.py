"""Time travel: any reply gives the request that produced it, whatever changed since."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.conftest import LOOPBACKS, settled
from tests.workspace.test_choosing import preset_with, put
from tests.workspace.test_tools import BY_HAND
from tui_chat.compose import compose
from tui_chat.models.endpoint import ModelFacts
from tui_chat.models.message import Part
from tui_chat.models.reply import Reply, advance
from tui_chat.offline import HttpRequest
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers import recorded_events
from tui_chat.recipe import read_turn
from tui_chat.workspace import Trouble, WhatIf


async def said(desk, heard, *drafts: str) -> str:
    for draft in drafts:
        assert await desk.submit(draft)
        await settled(desk, heard)
    return desk.entries[-1].message.id


def forget_bodies(desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the store keep no bodies any more, as it does with old ones."""
    store = desk._outside.store
    request_of = store.requests.get

    async def without_body(entry_id: str):
        record = await request_of(entry_id)
        return None if record is None else replace(record, body=None)

    monkeypatch.setattr(store.requests, "get", without_body)


@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_it_is_composed_again_whatever_changed_since(
    endpoint, make_desk, tmp_path: Path, monkeypatch
):
    received: list[HttpRequest] = []
    text = "{{random::a::b::c::d}} {{pick::1::2::3}} {{time}} {{user}} {{char}}"
    preset = put(tmp_path / "presets", "p", preset_with(text))
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Counts."})
    lore = put(tmp_path / "lorebooks", "l", [{"keys": ["salt"], "content": "From the marsh."}])
    desk, heard = await make_desk(
        endpoint.name, "echo", on_request=received.append, tools=(BY_HAND,)
    )
    await desk.choose_preset("p")
    await desk.choose_profile("me")
    await desk.choose_lorebooks(("l",))
    await desk.choose_parameters(0.4, 500)
    replies = [await said(desk, heard, draft) for draft in ("salt", "more", "and 汉字 \u2028")]
    picture = Part("image", mime="image/png", data="iVBORw0KGgo=")
    assert await desk.submit("look", (picture,))
    await settled(desk, heard)
    replies.append(desk.entries[-1].message.id)
    assert await desk.retry(replies[-1])
    await settled(desk, heard)
    replies.append(desk.entries[-1].message.id)

    preset.write_text("[]")
    lore.unlink()
    await desk.choose_preset("p")
    await desk.choose_parameters(None, None)
    await desk.pin(desk.entries[0].message.id, True)
    await desk.save_role(replace(desk.role, system_prompt="Other."))
    await desk.delete_message(desk.entries[2].message.id)
    forget_bodies(desk, monkeypatch)
    for entry_id, request in zip(replies, received, strict=True):
        sent = await desk.sent_request(entry_id)
        assert sent is not None
        assert (sent.how, sent.why) == ("rebuilt", "")
        assert sent.body == request.body
        assert sent.is_exact


async def test_requests_travel_with_their_conversation(make_desk, tmp_path: Path):
    received: list[HttpRequest] = []
    put(tmp_path / "presets", "p", preset_with("{{random::a::b::c::d}} {{pick::1::2::3}}"))
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Counts."})
    desk, heard = await make_desk(on_request=received.append)
    await desk.choose_preset("p")
    await desk.choose_profile("me")
    replies = [await said(desk, heard, draft) for draft in ("salt", "and 汉字")]
    file = tmp_path / "all.json"
    assert await desk.export(desk.session.session_id, "json", file)
    told = json.loads(file.read_text())
    bodies = [each["body"].encode() for each in told["sessions"][0]["requests"]]
    assert bodies == [request.body for request in received]
    await desk.close()

    async def elsewhere():
        for path in tmp_path.glob("chat.db*"):
            path.unlink()
        desk, _ = await make_desk()
        [report] = await desk.import_files((file,), lambda _: None)
        assert not report.faults
        return desk

    for how in ("kept", "rebuilt"):
        desk = await elsewhere()
        for entry_id, request in zip(replies, received, strict=True):
            sent = await desk.sent_request(entry_id)
            assert sent is not None
            assert (sent.how, sent.why, sent.body) == (how, "", request.body)
            last = await desk.recall_last(sent.record.endpoint)
            assert last is None, "nothing was sent from here"
        await desk.close()
        for each in told["sessions"][0]["requests"]:  # as where they are kept no longer
            each.pop("body", None)
        file.write_text(json.dumps(told))

    # A stranger's file may say anything about what a request was made of.
    odd = json.dumps({"name": 5, "protocol": "gemini", "base_url": [], "models": 7})
    told["sessions"][0]["revisions"].append({"kind": "endpoint", "json": odd})
    for each in told["sessions"][0]["requests"]:
        each["recipe"]["endpoint"] = sha256(odd.encode()).hexdigest()
    file.write_text(json.dumps(told))
    desk = await elsewhere()
    sent = await desk.sent_request(replies[0])
    assert sent is not None
    assert (sent.how, sent.body) == ("lost", None)
    assert "cannot be read" in sent.why


async def test_while_the_bytes_are_kept_they_are_given(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk(on_request=received.append)
    entry_id = await said(desk, heard, "hi")
    sent = await desk.sent_request(entry_id)
    assert sent is not None
    assert sent.how == "kept"
    assert sent.body == received[0].body
    assert sent.is_exact


async def test_what_cannot_be_composed_again_is_said(make_desk, monkeypatch):
    desk, heard = await make_desk()
    entry_id = await said(desk, heard, "hi")
    store = desk._outside.store

    async def none_kept(sha256: str) -> None:
        return None

    monkeypatch.setattr(store.revisions, "get", none_kept)
    sent = await desk.sent_request(entry_id)
    assert sent is not None
    assert (sent.how, sent.composed) == ("kept", None)
    assert "is gone" in sent.why
    forget_bodies(desk, monkeypatch)
    sent = await desk.sent_request(entry_id)
    assert sent is not None
    assert (sent.how, sent.body) == ("lost", None)
    assert await desk.sent_request(desk.entries[0].message.id) is None
    assert "No request" in str(heard.of(Trouble)[-1].error)


async def test_what_comes_out_otherwise_is_not_passed_off_as_the_same(make_desk, monkeypatch):
    desk, heard = await make_desk()
    entry_id = await said(desk, heard, "hi")
    store = desk._outside.store
    request_of = store.requests.get

    async def other(entry_id: str):
        record = await request_of(entry_id)
        recipe = {**record.recipe, "settings": {"model": "mirror"}, "app": "0.0.1"}
        return replace(record, recipe=recipe, body=None)

    monkeypatch.setattr(store.requests, "get", other)
    sent = await desk.sent_request(entry_id)
    assert sent is not None
    assert sent.how == "differs"
    assert "0.0.1" in sent.why
    assert not sent.is_exact


@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_a_turn_is_a_file_that_makes_the_same_bytes(endpoint, make_desk, monkeypatch):
    received: list[HttpRequest] = []
    monkeypatch.setenv("TEST_KEY", "sk-secret")
    there = replace(endpoint, key="env:TEST_KEY", proxy="none")
    desk, heard = await make_desk(endpoint.name, "echo", (there,), on_request=received.append)
    entry_id = await said(desk, heard, "one", "two 汉字 \u2028 \x00")
    text = await desk.export_turn(entry_id)
    assert text is not None
    turn = read_turn(text, "t.json")
    assert compose(turn.inputs).payload.body == received[-1].body
    assert turn.request.body.encode() == received[-1].body
    assert turn.reply is not None
    assert turn.reply.message == desk.entries[-1].message
    assert json.loads(text)["tuiChatTurn"] == 1
    assert "TEST_KEY" not in text
    assert "sk-secret" not in text


async def test_a_context_is_sent_to_another_endpoint_as_a_sibling(make_desk):
    received: list[HttpRequest] = []
    desk, heard = await make_desk("loopback", "echo", on_request=received.append)
    entry_id = await said(desk, heard, "hi")
    assert await desk.replay(entry_id, "loopback-anthropic", "mirror")
    await settled(desk, heard)
    assert desk.entries[-1].siblings == 2
    assert desk.entries[-1].endpoint == "loopback-anthropic"
    assert desk.endpoint.name == "loopback", "the session goes on asking what it asks"
    sent = await desk.sent_request(desk.entries[-1].message.id)
    assert sent is not None
    assert sent.is_exact


async def test_requests_of_a_session_can_be_compared(make_desk):
    desk, heard = await make_desk()
    entry_id = await said(desk, heard, "one", "two")
    assert len(await desk.requests_like()) == 2
    assert await desk.recall_last("nobody") is None

    again, _ = await make_desk()  # as after a restart
    assert again.sent == {}
    last = await again.recall_last("loopback")
    assert last is not None
    assert last.entry_id == entry_id
    assert last.composed.payload.body == desk.sent["loopback"].composed.payload.body
    history = last.composed.inputs.history if last.composed.inputs else ()
    there = {entry.message.id: entry.message for entry in again.entries}
    assert [message is there[message.id] for message in history] == [True] * len(history)
    assert history


async def test_the_draft_behind_another_branch(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one", "two")
    first, reply, *_ = desk.entries
    other = desk.entries[-1].message.id
    assert await desk.edit(first.message.id, "uno")
    history = await desk.branch_to(other)
    there = desk.after(history, "draft")
    turns = [turn.text.plain for turn in there.envelope.turns if turn.role != "system"]
    assert turns == ["one", reply.message.content, "two", "two", "draft"]
    assert desk.after(history, "draft") is there
    assert desk.composed("draft").envelope.turns[-2].text.plain == "uno"


PREFILLS = tuple(replace(each, facts=(("*", ModelFacts(prefill=True)),)) for each in LOOPBACKS)


@pytest.mark.parametrize("endpoint", PREFILLS, ids=lambda e: e.protocol.value)
async def test_a_reply_is_gone_on_with_where_the_model_takes_its_beginning(endpoint, make_desk):
    received: list[HttpRequest] = []
    endpoints = (*PREFILLS, replace(endpoint, name="plain", facts=()))
    desk, heard = await make_desk(endpoint.name, "flaky-cut", endpoints, on_request=received.append)
    cut = await said(desk, heard, "go")
    before = desk.entries[-1].message.content.rstrip()
    assert desk.entries[-1].status == "failed"
    await desk.choose(endpoint.name, "echo")
    assert await desk.continue_reply(cut)
    await settled(desk, heard)
    last = desk.entries[-1]
    assert last.siblings == 2
    assert last.message.content.startswith(before)
    assert len(last.message.content) > len(before)
    assert json.dumps(before, ensure_ascii=False).encode()[1:-1] in received[-1].body
    sent = await desk.sent_request(last.message.id)
    assert sent is not None
    assert sent.is_exact

    # Its replay is a continuation, too: it can be composed again, and its reply begins likewise.
    assert await desk.replay(last.message.id, endpoint.name, "echo")
    await settled(desk, heard)
    assert received[-1].body == received[-2].body
    assert desk.entries[-1].message.content.startswith(before)
    again = await desk.sent_request(desk.entries[-1].message.id)
    assert again is not None
    assert again.is_exact
    assert not await desk.replay(desk.entries[-1].message.id, "plain", "echo")
    assert "not known" in str(heard.of(Trouble)[-1].error)


async def test_what_if_keeps_as_many_messages_beside_a_stored_question(make_desk):
    desk, heard = await make_desk()
    await said(desk, heard, "one", "two", "three")
    await desk.delete_message(desk.entries[-1].message.id)

    def shown(draft: str, kept: int) -> list[str]:
        turns = desk.what_if(draft, WhatIf(messages=kept)).envelope.turns
        return [turn.text.plain for turn in turns if turn.role != "system"]

    assert shown("four", 1) == ["three", "four"]
    assert shown("", 0) == ["three"]
    assert shown("", 1) == ["two", "three"]
    assert shown("", 9) == ["one", "one", "two", "two", "three"]


@pytest.mark.parametrize("named", ["the reply", "the system message"])
async def test_the_last_reply_continues_though_a_system_message_follows(named, make_desk):
    [endpoint] = [each for each in PREFILLS if each.name == "loopback-anthropic"]
    desk, heard = await make_desk(endpoint.name, "flaky-cut", PREFILLS)
    cut = await said(desk, heard, "go")
    before = desk.entries[-1].message.content.rstrip()
    await desk.say_system("Be brief.")
    await desk.choose(endpoint.name, "echo")
    assert await desk.continue_reply(cut if named == "the reply" else desk.entries[-1].message.id)
    await settled(desk, heard)
    last = desk.entries[-1]
    assert (last.message.role, last.siblings) == ("assistant", 2)
    assert last.message.content.startswith(before)


async def test_where_it_is_not_known_it_is_told(make_desk):
    desk, heard = await make_desk(model="echo")
    entry_id = await said(desk, heard, "go")
    assert not await desk.continue_reply(entry_id)
    assert "not known" in str(heard.of(Trouble)[-1].error)
    assert not await desk.continue_reply(desk.entries[0].message.id)
    assert len(desk.entries) == 2


@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_a_reply_keeps_its_response_as_it_was_received(endpoint, make_desk):
    desk, heard = await make_desk(endpoint.name, "echo")
    reply = await said(desk, heard, "and 汉字")
    received = await desk.received(reply)
    assert received is not None
    assert (received.status, received.media) == (200, "text/event-stream")
    definition = protocol_of(endpoint.protocol)
    parser, again = definition.parser(), Reply()
    for name, data in recorded_events(received.body):
        for event in parser.feed(name, data):
            again = advance(again, event)
    assert again.message(endpoint.protocol).content == desk.entries[-1].message.content

    await desk.choose(endpoint.name, "flaky-500")
    refused = await said(desk, heard, "no")
    received = await desk.received(refused)
    assert received is not None
    assert received.status >= 500
    assert b"error" in received.body


async def test_only_the_newest_responses_are_kept(make_desk, monkeypatch):
    monkeypatch.setattr("tui_chat.store.requests.RESPONSES_KEPT", 2)
    desk, heard = await make_desk()
    replies = [await said(desk, heard, draft) for draft in ("a", "b", "c")]
    kept = [await desk.received(reply) is not None for reply in replies]
    assert kept == [False, True, True]
    monkeypatch.setattr("tui_chat.store.requests.RESPONSE_BYTES_KEPT", 10)
    last = await said(desk, heard, "d")
    assert await desk.received(replies[-1]) is None
    assert await desk.received(last) is not None
