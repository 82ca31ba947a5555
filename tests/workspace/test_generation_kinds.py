"""Continue, regenerate, swipe, impersonate and quiet: what is shown is what is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.conftest import settled
from tests.workspace.test_tools import BY_HAND
from tui_chat.workspace.events import Failed


async def test_what_cannot_be_generated_says_why_and_the_draft_is_shown(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    for kind, why in (
        ("continue", "There is no reply to continue."),
        ("regenerate", "There is no message in this session yet."),
    ):
        workspace.live_request.show_kind(kind)
        workspace.live_request.compose()
        request = workspace.state.request
        assert request.kind_fault == why
        assert request.shown is request.live
    assert heard.of(Failed) == []
    workspace.live_request.show_kind("normal")
    workspace.live_request.compose()
    assert workspace.state.request.kind_fault == ""


async def test_the_name_before_an_impersonated_message_is_removed(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    await workspace.settings.set_parameter("user_name", "Bo")
    composed = workspace.requests.compose_kind("quiet", "Bo:  I am\x1b here. ")
    said: list[str] = []
    text = await workspace.side_requests.generate("impersonate", composed, said.append)
    assert text.startswith("I am")
    assert text.endswith("here.")
    assert heard.of(Failed) == []


async def test_a_failed_side_reply_is_reported(make_workspace):
    workspace, heard = await make_workspace(model="flaky-cut")
    composed = workspace.requests.compose_kind("quiet", "Go.")
    said: list[str] = []
    assert await workspace.side_requests.generate("quiet", composed, said.append) == ""
    assert heard.of(Failed)
    assert said[-1]  # what arrived before


async def test_what_is_continued_is_stored_before_anything_arrives(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    assert await workspace.replies.submit("The lamp goes out")
    await settled(workspace, heard)
    store = workspace.store
    await workspace.settings.set_model("loopback", "flaky-stall")
    assert await workspace.replies.continue_reply(workspace.state.entries[-1].message.id)
    reply_id = workspace.state.entries[-1].message.id
    async with asyncio.timeout(20):
        while True:  # as a program that is killed now would leave it
            entry = await store.messages.get(reply_id)
            assert entry is not None
            assert entry.status == "streaming"
            if entry.message.content:
                break
    assert entry.message.content.startswith("The lamp goes out ")
    await workspace.replies.stop()
    await settled(workspace, heard)
    entry = workspace.state.entries[-1]
    assert (entry.status, entry.siblings) == ("stopped", 2)
    assert entry.message.content.startswith("The lamp goes out ")


@pytest.mark.parametrize("kind", ["impersonate", "quiet"])
async def test_tools_and_replies_that_are_no_part_of_the_conversation(make_workspace, kind: Any):
    workspace, heard = await make_workspace(model="toolsmith", tools=(BY_HAND,))
    assert b"ask_me" in workspace.requests.compose("hi").payload.body
    assert b"ask_me" not in workspace.requests.compose_kind(kind, "hi").payload.body
    assert await workspace.replies.submit("Use the tool.")
    await settled(workspace, heard)
    workspace.live_request.show_kind(kind)
    workspace.live_request.compose()
    assert workspace.state.request.kind_fault == "A tool call is still waiting for an answer."
    [waiting] = workspace.state.pending_calls
    assert await workspace.tools.answer(waiting.entry_id, waiting.call.id, "It rains.")
    await settled(workspace, heard)
    # A call in the history must be of a tool that the request has.
    assert b'"tools"' in workspace.requests.compose_kind(kind, "hi").payload.body


@pytest.mark.parametrize("kind", ["impersonate", "quiet"])
async def test_the_cost_of_a_request_in_a_new_chat_is_counted(make_workspace, kind: Any):
    workspace, _ = await make_workspace(model="echo")
    composed = workspace.requests.compose_kind(kind, "Why?")
    assert await workspace.side_requests.generate(kind, composed, lambda text: None)
    [counted] = [reply async for reply in workspace.store.usage.requests()]
    assert (counted.session_id, counted.title, counted.kind) == ("", "New chats", kind)
    assert counted.usage.input
    assert workspace.state.session is None
    assert await workspace.store.sessions.list() == ()
    assert await workspace.store.side_requests.list("") == (), (
        "nobody could delete what was written"
    )
