"""The request of any reply, whatever changed since."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.reading import import_into
from tests.support.tables import each_row
from tests.support.vendors import HttpRequest
from tests.support.workspace import (
    BY_HAND,
    LOOPBACKS,
    answered,
    ids,
    last_failure,
    preset_with,
    put,
    say,
)
from tui_chat.compose import compose
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import ModelFacts, Protocol
from tui_chat.models.reply import Reply, advance
from tui_chat.models.session import RawResponse, RequestRecord
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.response_recorder import recorded_events
from tui_chat.turn_file import read_turn
from tui_chat.workspace.events import Done
from tui_chat.workspace.exchange import SentRequest
from tui_chat.workspace.workspace import Workspace


def forget_bodies(workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the store drop all bodies, as it does with old ones."""
    store = workspace.store
    request_of = store.requests.get

    async def without_body(entry_id: str):
        record = await request_of(entry_id)
        return None if record is None else replace(record, body=None)

    monkeypatch.setattr(store.requests, "get", without_body)


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_a_request_is_composed_again_whatever_changed_since(
    endpoint, make_workspace, tmp_path: Path, monkeypatch
):
    text = "{{random::a::b::c::d}} {{pick::1::2::3}} {{time}} {{user}} {{char}}"
    preset = put(tmp_path / "presets", "p", preset_with(text))
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Counts."})
    lore = put(tmp_path / "lorebooks", "l", [{"keys": ["salt"], "content": "From the marsh."}])
    workspace, heard = await make_workspace(endpoint.name, "echo", tools=(BY_HAND,))
    await workspace.presets.choose("p")
    await workspace.settings.set_profile("me")
    await workspace.settings.set_lorebooks(("l",))
    chosen = {"temperature": "0.4", "max_tokens": "500", "stop": "END", "web_search": "on"}
    for name, text in chosen.items():
        assert await workspace.settings.set_parameter(name, text)
    replies = [await say(workspace, heard, draft) for draft in ("salt", "more", "and 汉字 \u2028")]
    picture = MediaBlock("image", mime="image/png", data="iVBORw0KGgo=")
    await say(workspace, heard, "look", parts=(picture,))
    replies.append(ids(workspace)[-1])
    await answered(workspace, heard, workspace.replies.regenerate(replies[-1]))
    replies.append(ids(workspace)[-1])

    preset.write_text("[]")
    lore.unlink()
    await workspace.presets.choose("p")
    for name in chosen:
        assert await workspace.settings.set_parameter(name, "default")
    await workspace.branches.pin(ids(workspace)[0], True)
    await workspace.roles.save(replace(workspace.state.role, system_prompt="Other."))
    await workspace.branches.delete(ids(workspace)[2])
    forget_bodies(workspace, monkeypatch)
    for entry_id, request in zip(replies, heard.received, strict=True):
        sent = await workspace.sent.sent_request(entry_id)
        assert (sent.how, sent.why) == ("rebuilt", "")
        assert sent.body == request.body
        assert sent.is_exact


async def test_requests_are_exported_with_their_session(make_workspace, tmp_path: Path):
    received: list[HttpRequest] = []
    put(tmp_path / "presets", "p", preset_with("{{random::a::b::c::d}} {{pick::1::2::3}}"))
    put(tmp_path / "profiles", "me", {"name": "Ada", "content": "Counts."})
    workspace, heard = await make_workspace(on_request=received.append)
    await workspace.presets.choose("p")
    await workspace.settings.set_profile("me")
    replies = [await say(workspace, heard, draft) for draft in ("salt", "and 汉字")]
    file = tmp_path / "all.json"
    assert await workspace.exports.export(workspace.state.session.session_id, "json", file)
    assert heard.of(Done)[-1].sentence == f"Exported to {file}."
    session_id = workspace.state.session_id
    assert not await workspace.exports.export(session_id, "json", file)
    assert "exists already" in last_failure(heard)
    assert await workspace.exports.export(session_id, "json", file, overwrite=True)
    told = json.loads(file.read_text())
    bodies = [each["body"].encode() for each in told["sessions"][0]["requests"]]
    assert bodies == [request.body for request in received]
    await workspace.close()

    async def elsewhere():
        for path in tmp_path.glob("chat.db*"):
            path.unlink()
        workspace, _ = await make_workspace()
        [report] = await import_into(workspace, (file,))
        assert not report.faults
        return workspace

    for how in ("kept", "rebuilt"):
        workspace = await elsewhere()
        for entry_id, request in zip(replies, received, strict=True):
            sent = await workspace.sent.sent_request(entry_id)
            assert (sent.how, sent.why, sent.body) == (how, "", request.body)
            last = await workspace.sent.last_sent(sent.record.endpoint)
            assert last is None, "nothing was sent from here"
        await workspace.close()
        for each in told["sessions"][0]["requests"]:  # as where they are kept no longer
            each.pop("body", None)
        file.write_text(json.dumps(told))

    # A stranger's file may say anything about what a request was made of.
    odd = json.dumps({"name": 5, "protocol": "gemini", "base_url": [], "models": 7})
    told["sessions"][0]["revisions"].append({"kind": "endpoint", "json": odd})
    for each in told["sessions"][0]["requests"]:
        each["recipe"]["endpoint"] = sha256(odd.encode()).hexdigest()
    file.write_text(json.dumps(told))
    workspace = await elsewhere()
    sent = await workspace.sent.sent_request(replies[0])
    assert (sent.how, sent.body) == ("lost", None)
    assert "cannot be read" in sent.why


async def test_stored_bytes_are_returned(make_workspace):
    workspace, heard = await make_workspace()
    entry_id = await say(workspace, heard, "hi")
    sent = await workspace.sent.sent_request(entry_id)
    assert sent.how == "kept"
    assert sent.body == heard.received[0].body
    assert sent.is_exact


async def test_a_request_that_cannot_be_composed_again_has_a_reason(make_workspace, monkeypatch):
    workspace, heard = await make_workspace()
    entry_id = await say(workspace, heard, "hi")
    store = workspace.store

    async def none_kept(sha256: str) -> None:
        return None

    monkeypatch.setattr(store.revisions, "get", none_kept)
    sent = await workspace.sent.sent_request(entry_id)
    assert (sent.how, sent.is_exact) == ("kept", True)
    assert sent.captured is not None
    assert sent.composed.inputs is None
    assert sent.composed.endpoint is workspace.state.endpoint
    assert "is missing" in sent.why
    forget_bodies(workspace, monkeypatch)
    sent = await workspace.sent.sent_request(entry_id)
    assert (sent.how, sent.body) == ("lost", None)
    assert await workspace.sent.sent_request(ids(workspace)[0]) is None
    assert "No request" in last_failure(heard)


async def test_a_different_result_is_reported_as_different(make_workspace, monkeypatch):
    workspace, heard = await make_workspace()
    entry_id = await say(workspace, heard, "hi")
    store = workspace.store
    request_of = store.requests.get

    async def other(entry_id: str):
        record = await request_of(entry_id)
        recipe = {**record.recipe, "settings": {"model": "mirror"}, "app": "0.0.1"}
        return replace(record, recipe=recipe, body=None)

    monkeypatch.setattr(store.requests, "get", other)
    sent = await workspace.sent.sent_request(entry_id)
    assert sent.how == "differs"
    assert "0.0.1" in sent.why
    assert not sent.is_exact


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_an_exported_turn_gives_the_same_bytes(endpoint, make_workspace, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "sk-secret")
    there = replace(endpoint, key="env:TEST_KEY", proxy="none")
    workspace, heard = await make_workspace(endpoint.name, "echo", (there,))
    entry_id = await say(workspace, heard, "one", "two 汉字 \u2028 \x00")
    text = await workspace.sent.export_turn(entry_id)
    assert text is not None
    turn = read_turn(text, "t.json")
    assert compose(turn.inputs).payload.body == heard.received[-1].body
    assert turn.request.body.encode() == heard.received[-1].body
    assert turn.reply.message == workspace.state.entries[-1].message
    assert json.loads(text)["tuiChatTurn"] == 2
    assert "TEST_KEY" not in text
    assert "sk-secret" not in text


async def test_a_request_is_sent_to_another_endpoint_as_a_sibling(make_workspace):
    workspace, heard = await make_workspace("loopback", "echo")
    entry_id = await say(workspace, heard, "hi")
    await answered(
        workspace, heard, workspace.replies.replay(entry_id, "loopback-anthropic", "mirror")
    )
    assert workspace.state.entries[-1].siblings == 2
    assert workspace.state.entries[-1].endpoint == "loopback-anthropic"
    assert workspace.state.endpoint.name == "loopback", "the session goes on asking what it asks"
    sent = await workspace.sent.sent_request(ids(workspace)[-1])
    assert sent.is_exact


async def test_requests_of_a_session_can_be_compared(make_workspace):
    workspace, heard = await make_workspace()
    entry_id = await say(workspace, heard, "one", "two")
    assert len(await workspace.sent.of_session()) == 2
    assert await workspace.sent.last_sent("nobody") is None

    again, _ = await make_workspace()  # as after a restart
    assert again.state.last_sent == {}
    last = await again.sent.last_sent("loopback")
    assert last.entry_id == entry_id
    assert last.composed.payload.body == workspace.state.last_sent["loopback"].composed.payload.body
    history = last.composed.inputs.history if last.composed.inputs else ()
    there = {entry.message.id: entry.message for entry in again.state.entries}
    assert [message is there[message.id] for message in history] == [True] * len(history)
    assert history


PREFILLS = tuple(replace(each, facts=(("*", ModelFacts(prefill=True)),)) for each in LOOPBACKS)


@each_row("endpoint", PREFILLS, ids=lambda e: e.protocol.value)
async def test_a_reply_is_continued_if_the_model_accepts_its_beginning(endpoint, make_workspace):
    endpoints = (*PREFILLS, replace(endpoint, name="plain", facts=()))
    workspace, heard = await make_workspace(endpoint.name, "flaky-cut", endpoints)
    cut = await say(workspace, heard, "go")
    before = workspace.state.entries[-1].message.content.rstrip()
    assert workspace.state.entries[-1].status == "failed"
    await workspace.settings.set_model(endpoint.name, "echo")
    await answered(workspace, heard, workspace.replies.continue_reply(cut))
    last = workspace.state.entries[-1]
    assert last.siblings == 2
    assert last.message.content.startswith(before)
    assert len(last.message.content) > len(before)
    assert json.dumps(before, ensure_ascii=False).encode()[1:-1] in heard.received[-1].body
    sent = await workspace.sent.sent_request(last.message.id)
    assert sent.is_exact

    # Its replay is a continuation, too: it can be composed again, and its reply begins likewise.
    await answered(
        workspace, heard, workspace.replies.replay(last.message.id, endpoint.name, "echo")
    )
    assert heard.received[-1].body == heard.received[-2].body
    assert workspace.state.entries[-1].message.content.startswith(before)
    again = await workspace.sent.sent_request(ids(workspace)[-1])
    assert again.is_exact
    # Where the model is not known to take it, the continuation is asked for.
    await answered(
        workspace,
        heard,
        workspace.replies.replay(ids(workspace)[-1], "plain", "echo"),
    )
    assert b"Continue your last message" in heard.received[-1].body
    assert b"Continue your last message" not in heard.received[-2].body
    assert workspace.state.entries[-1].message.content.startswith(before)


@each_row("named", ["the reply", "the system message"])
async def test_the_last_reply_continues_though_a_system_message_follows(named, make_workspace):
    [endpoint] = [each for each in PREFILLS if each.name == "loopback-anthropic"]
    workspace, heard = await make_workspace(endpoint.name, "flaky-cut", PREFILLS)
    cut = await say(workspace, heard, "go")
    before = workspace.state.entries[-1].message.content.rstrip()
    await workspace.branches.add_system_message("Be brief.")
    await workspace.settings.set_model(endpoint.name, "echo")
    await answered(
        workspace,
        heard,
        workspace.replies.continue_reply(cut if named == "the reply" else ids(workspace)[-1]),
    )
    last = workspace.state.entries[-1]
    assert (last.message.role, last.siblings) == ("assistant", 2)
    assert last.message.content.startswith(before)


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_every_model_can_continue_a_reply(endpoint, make_workspace):
    workspace, heard = await make_workspace(endpoint.name, "echo")
    entry_id = await say(workspace, heard, "go")
    shown = workspace.requests.compose_kind("continue")
    await answered(workspace, heard, workspace.replies.continue_reply(entry_id))
    [told] = [each.sentence for each in heard.of(Done) if "Continued" in each.sentence]
    assert told.endswith("asks for the rest (echo is not known to accept a prefill).")
    assert heard.received[-1].body == shown.payload.body
    last = workspace.state.entries[-1]
    assert last.siblings == 2
    assert (
        last.message.content == "go Continue your last message from the point where it ends. "
        "Write only what follows; repeat nothing of it."
    )
    sent = await workspace.sent.sent_request(last.message.id)
    assert sent.is_exact
    assert sent.continued
    roles = [turn.role for turn in sent.composed.envelope.turns]
    assert roles[-3:] == ["user", "assistant", "user"]
    await answered(
        workspace, heard, workspace.replies.replay(last.message.id, endpoint.name, "echo")
    )
    assert heard.received[-1].body == shown.payload.body
    assert workspace.state.entries[-1].message.content == last.message.content


async def test_a_reply_that_cannot_be_continued(make_workspace):
    workspace, heard = await make_workspace(model="echo", sent=["go"])
    assert not await workspace.replies.continue_reply(ids(workspace)[0])
    assert "Only the last reply" in last_failure(heard)
    assert len(workspace.state.entries) == 2


async def received_response(workspace: Workspace, entry_id: str) -> RawResponse | None:
    """Load and return the stored response to a request."""
    await workspace.sent.load_response(entry_id)
    received = workspace.state.request.received
    return received.response


@each_row("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_a_reply_keeps_its_response_as_it_was_received(endpoint, make_workspace):
    workspace, heard = await make_workspace(endpoint.name, "echo")
    reply = await say(workspace, heard, "and 汉字")
    received = await received_response(workspace, reply)
    definition = protocol_of(endpoint.protocol)
    assert (received.status, received.media) == (200, definition.stream_type)
    parser, again = definition.parser(), Reply()
    for name, data in recorded_events(received.body):
        for event in parser.feed(name, data):
            again = advance(again, event)
    assert again.message(endpoint.protocol).content == workspace.state.entries[-1].message.content

    await workspace.settings.set_model(endpoint.name, "flaky-500")
    refused = await say(workspace, heard, "no")
    received = await received_response(workspace, refused)
    assert received.status >= 500
    assert b"error" in received.body


async def test_only_the_newest_responses_are_kept(make_workspace, monkeypatch):
    monkeypatch.setattr("tui_chat.store.requests.RESPONSES_KEPT", 2)
    workspace, heard = await make_workspace()
    replies = [await say(workspace, heard, draft) for draft in ("a", "b", "c")]
    kept = [await received_response(workspace, reply) is not None for reply in replies]
    assert kept == [False, True, True]
    monkeypatch.setattr("tui_chat.store.requests.RESPONSE_BYTES_KEPT", 10)
    last = await say(workspace, heard, "d")
    assert await received_response(workspace, replies[-1]) is None
    assert await received_response(workspace, last) is not None


@each_row(
    ("recipe", "continued"),
    [
        ({"prefill": True}, True),
        ({"prefill": False, "chat": {"kind": "normal"}}, False),
        ({"chat": {"kind": "continue"}}, True),
        ({"chat": None}, False),
        ({}, False),
    ],
)
def test_a_request_tells_whether_its_reply_continues_a_message(
    recipe: dict[str, object], continued: bool
):
    record = RequestRecord("e", Protocol.GEMINI, "POST", "https://x", "00", recipe)
    assert SentRequest(record, "kept").continued is continued
