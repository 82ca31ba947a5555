"""Continue and regenerate: what is shown is what is sent."""

from __future__ import annotations

import asyncio

from tests.support.workspace import ids, settled
from tui_chat.workspace.events import Failed


async def test_what_cannot_be_generated_says_why_and_the_draft_is_shown(make_workspace):
    workspace, heard = await make_workspace(model="echo")
    for kind, why in (
        ("continue", "There is no reply to continue."),
        ("regenerate", "There is no message in this session yet."),
    ):
        workspace.requests.set_draft("", kind=kind)
        workspace.requests.compose_shown()
        request = workspace.state.request
        assert request.kind_fault == why
        assert request.shown is request.live
    assert heard.of(Failed) == []
    workspace.requests.set_draft("")
    workspace.requests.compose_shown()
    assert workspace.state.request.kind_fault == ""


async def test_what_is_continued_is_stored_before_anything_arrives(make_workspace):
    workspace, heard = await make_workspace(model="echo", sent=["The lamp goes out"])
    store = workspace.store
    await workspace.settings.set_model("loopback", "flaky-stall")
    assert await workspace.replies.continue_reply(ids(workspace)[-1])
    reply_id = ids(workspace)[-1]
    async with asyncio.timeout(20):
        while True:  # as a program that is killed now would leave it
            entry = await store.messages.get(reply_id)
            assert entry.status == "streaming"
            if entry.message.content:
                break
    assert entry.message.content.startswith("The lamp goes out ")
    await workspace.replies.stop()
    await settled(workspace, heard)
    entry = workspace.state.entries[-1]
    assert (entry.status, entry.siblings) == ("stopped", 2)
    assert entry.message.content.startswith("The lamp goes out ")
