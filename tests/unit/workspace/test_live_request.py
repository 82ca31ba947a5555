"""The live request and what is shown in its place, without a screen."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from tests.support.recorded_sessions import BODY, store_recorded
from tests.support.tables import each_row
from tests.support.workspace import contents, ids, preset_with, put, say
from tui_chat.compose import Composed
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.settings import Settings
from tui_chat.workspace import requests
from tui_chat.workspace.events import Failed, RequestComposed, RequestOutdated
from tui_chat.workspace.state import ViewedRequest

NOTHING_BEFORE = (
    "This session has no earlier accepted request to this endpoint. "
    "Press a to compare with something else."
)
PICTURE = MediaBlock("image", mime="image/png", data="iVBORw0KGgo=")


def shown(workspace) -> Composed:
    """Compose, and return what the inspector would show."""
    workspace.requests.compose_shown()
    composed = workspace.state.request.shown
    assert composed is not None
    return composed


async def test_what_is_shown_while_typing_is_what_is_sent(make_workspace):
    workspace, heard = await make_workspace()
    workspace.requests.set_draft("Look", (PICTURE,))
    composed = shown(workspace)
    assert workspace.state.request.live is composed
    assert heard.of(RequestComposed)
    await say(workspace, heard, "Look", parts=(PICTURE,))
    assert heard.received[0].body == composed.payload.body


async def test_another_protocol_shows_the_same_context_and_changes_no_setting(make_workspace):
    workspace, heard = await make_workspace()
    workspace.requests.set_draft("Hello")
    own = shown(workspace)
    workspace.requests.show_in(Protocol.GEMINI)
    assert heard.of(RequestOutdated)
    assert "contents" in json.loads(shown(workspace).payload.body)
    assert shown(workspace).envelope is own.envelope
    assert workspace.state.endpoint.protocol is own.protocol
    workspace.requests.return_to_live()
    assert shown(workspace) is own


async def test_a_sent_request_is_viewed_with_its_reply_and_left_with_its_session(make_workspace):
    workspace, heard = await make_workspace()
    reply = await say(workspace, heard, "one")
    first = workspace.state.session.session_id
    sent = workspace.state.last_sent["loopback"].composed
    assert await workspace.sent.view_sent(reply)
    viewed = workspace.state.request.viewed
    assert shown(workspace).payload.body == sent.payload.body
    assert viewed.entry.message.id == reply
    assert viewed.description.endswith("exact bytes")

    user = ids(workspace)[0]
    assert not await workspace.sent.view_sent(user), "a user message has no request"
    assert heard.of(Failed)

    await workspace.sessions.new(None)
    assert workspace.state.request.viewed is None
    workspace.requests.set_draft("elsewhere")
    assert b"elsewhere" in shown(workspace).payload.body
    await workspace.sessions.open(first)
    assert workspace.state.request.viewed is None


async def test_the_recorded_request_of_an_opened_session_is_shown(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    session_id = await store_recorded(tmp_path)
    await workspace.sessions.open(session_id)
    viewed = workspace.state.request.viewed
    assert viewed.is_automatic
    assert json.loads(shown(workspace).payload.body) == json.loads(BODY)
    workspace.requests.set_draft(" ")
    assert workspace.state.request.viewed is viewed, "nothing was typed"
    workspace.requests.set_draft("And tomorrow?")
    assert workspace.state.request.viewed is None


async def test_settings_are_previewed_before_they_are_stored(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    before = workspace.settings.values
    other = replace(before, model="mirror", settings=Settings(temperature=0.5))
    workspace.settings.preview(other)
    body = json.loads(shown(workspace).payload.body)
    assert (body["model"], body["temperature"]) == ("mirror", 0.5)
    assert (workspace.settings.values, workspace.state.session.model) == (other, before.model)
    workspace.settings.preview(before)
    assert json.loads(shown(workspace).payload.body)["model"] == before.model


async def test_the_first_request_of_a_session_is_compared_with_none(make_workspace):
    workspace, heard = await make_workspace(sent=["elsewhere"])
    await workspace.sessions.new(None)
    told = "This endpoint has accepted no request of this session yet."
    assert workspace.requests.comparison().reason == told
    first = await say(workspace, heard, "one")
    second = await say(workspace, heard, "two")
    assert await workspace.sent.view_sent(first)
    base = workspace.requests.comparison()
    assert (base.payload, base.reason) == (None, NOTHING_BEFORE)
    assert base.reason.startswith("This session has no earlier accepted request to this endpoint")
    assert await workspace.sent.view_sent(second)
    base = workspace.requests.comparison()
    assert base.name == "the request before it"
    assert b"one" in base.payload.body
    assert b"two" not in base.payload.body


async def test_the_stored_response_is_loaded_into_the_state(make_workspace):
    workspace, heard = await make_workspace()
    reply = await say(workspace, heard, "one")
    await workspace.sent.load_response(reply)
    received = workspace.state.request.received
    assert (received.entry_id, received.is_loading) == (reply, False)
    assert b"one" in received.response.body
    assert heard.of(RequestComposed)


@each_row(
    ("choice", "name"),
    [
        ("last", "the last accepted request"),
        ("protocol gemini", f"the same as {Protocol.GEMINI.label}"),
        ("preset other", "the same with preset other"),
        ("preset gone", "the same with preset gone"),
        ("request {reply}", "the request of "),
    ],
)
async def test_the_request_is_compared_with(choice, name, make_workspace, tmp_path):
    put(tmp_path / "presets", "other", preset_with("Another rule."))
    workspace, heard = await make_workspace()
    reply = await say(workspace, heard, "one", "two")
    workspace.requests.set_draft("three")
    live = shown(workspace).payload
    await workspace.sent.compare_with(choice.format(reply=reply))
    base = workspace.requests.comparison()
    assert base.name.startswith(name)
    if choice == "preset gone":
        assert base.payload is None
        assert "gone" in base.reason
        return
    assert base.payload.body != live.body


async def test_a_long_new_message_is_counted_in_a_thread_once(make_workspace):
    workspace, heard = await make_workspace(model="echo", sent=["short"])
    assert not workspace.requests.takes_long
    await say(workspace, heard, "long " * 30_000)
    assert workspace.requests.takes_long
    await workspace.requests.compose_in_thread()
    assert not workspace.requests.takes_long
    await say(workspace, heard, "short again")
    assert not workspace.requests.takes_long


async def test_only_accepted_requests_of_the_session_are_compared_with(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    first = workspace.state.session_id
    accepted = workspace.state.last_sent["loopback"].composed.payload
    await workspace.settings.set_model("loopback", "nobody")
    refused = await say(workspace, heard, "two")
    assert workspace.state.entries[-1].status == "failed"
    assert ids(workspace)[-1] == refused
    assert workspace.requests.comparison().payload is accepted

    await workspace.sessions.new(None)
    assert workspace.requests.comparison().payload is None
    assert workspace.cache.forecast(shown(workspace)) is None
    await workspace.cache.recall("loopback", "")
    assert workspace.requests.comparison().payload is None

    await workspace.sessions.open(first)
    workspace.requests.compose_shown()
    await workspace.cache.recall("loopback", "")
    again = workspace.requests.comparison().payload
    assert again.body == accepted.body


async def test_a_long_session_is_composed_in_a_thread_and_stale_results_are_dropped(
    make_workspace, monkeypatch
):
    monkeypatch.setattr(requests, "LONG_BRANCH", 2)
    workspace, heard = await make_workspace(sent=["one"])
    live = workspace.requests
    live.set_draft("two")
    assert live.takes_long, "the session's first request is not composed yet"
    await live.compose_in_thread()
    assert b"two" in workspace.state.request.live.payload.body
    assert not live.takes_long

    live.set_draft("", (), "continue")
    assert live.takes_long, "another end of the history is composed in a thread, too"
    await live.compose_in_thread()
    assert b"Continue your last message" in workspace.state.request.shown.payload.body

    live.set_draft("x" * (requests.LONG_DRAFT + 1))
    assert live.takes_long
    composing = live.compose_in_thread()
    before = workspace.state.request.shown
    heard.changes.clear()

    async def change_the_draft() -> None:
        live.set_draft("three")

    await asyncio.gather(composing, change_the_draft())
    assert workspace.state.request.shown is before, "the draft changed while it was composed"
    assert heard.of(RequestOutdated), "so it is composed once more"
    assert b"three" in shown(workspace).payload.body


async def test_a_captured_request_is_opened_and_saved_as_a_session(make_workspace):
    body = {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "You are a gardener."},
            {"role": "user", "content": "What grows under pines?"},
        ],
    }
    workspace, heard = await make_workspace()
    assert not await workspace.sent.open("not a request")
    assert heard.of(Failed)
    assert await workspace.sent.open(f"curl x -d '{json.dumps(body)}'")
    viewed = workspace.state.request.viewed
    assert viewed.description == "captured OpenAI Chat request"
    assert json.loads(shown(workspace).payload.body)["messages"] == body["messages"]

    await workspace.sent.save("Garden", viewed)
    assert workspace.state.request.viewed is None
    assert workspace.state.session.title == "Garden"
    assert contents(workspace) == ["What grows under pines?"]
    assert b"You are a gardener." in shown(workspace).payload.body

    before = workspace.state.session
    await workspace.sent.save("Nothing", replace(viewed, source=None))
    assert workspace.state.session is before
    assert isinstance(viewed, ViewedRequest)
