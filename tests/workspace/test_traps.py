"""What other chat programs get wrong, held here."""

from __future__ import annotations

from dataclasses import replace

from tests.e2e.conftest import LOOPBACKS, moved, settled
from tui_chat.offline import HttpRequest
from tui_chat.workspace import Failed


async def test_what_a_person_said_is_stored_before_the_request_leaves(make_workspace):
    workspace, _ = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("precious words")
    stored = await workspace.store.branches.load(workspace.state.session_id)
    assert [(e.message.role, e.status) for e in stored] == [
        ("user", "complete"),
        ("assistant", "streaming"),
    ]
    assert stored[0].message.content == "precious words"
    await workspace.replies.stop()


async def test_a_chat_that_ends_in_a_users_turn_is_not_sent_when_it_is_opened(make_workspace):
    received: list[HttpRequest] = []
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    assert await workspace.branches.edit(workspace.state.entries[0].message.id, "eins")
    await workspace.close()
    workspace, heard = await make_workspace(on_request=received.append)
    await workspace.sessions.open(workspace.state.session_id)
    assert [e.message.content for e in workspace.state.entries] == ["eins"]
    assert not workspace.state.is_streaming
    assert received == []


async def test_a_server_that_is_down_hides_no_chat(make_workspace):
    workspace, heard = await make_workspace()
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    await workspace.close()
    down = moved(LOOPBACKS[0], "http://127.0.0.1:9")
    workspace, heard = await make_workspace(endpoints=(down,))
    assert [e.message.content for e in workspace.state.entries] == ["one", "one"]
    assert await workspace.replies.submit("two")
    await settled(workspace, heard)
    assert [e.message.content for e in workspace.state.entries] == ["one", "one", "two", ""]
    assert workspace.state.entries[-1].error


async def test_an_endpoint_or_a_model_that_is_gone_hides_no_chat(make_workspace):
    workspace, heard = await make_workspace("loopback-gemini", "echo")
    assert await workspace.replies.submit("one")
    await settled(workspace, heard)
    await workspace.close()
    left = replace(LOOPBACKS[0], models=("mirror",))
    workspace, heard = await make_workspace(left.name, "mirror", (left,))
    assert [e.message.content for e in workspace.state.entries] == ["one", "one"]
    assert "no endpoint “loopback-gemini”" in str(heard.of(Failed)[0].error)
    assert workspace.state.endpoint.name == left.name
    assert await workspace.replies.submit("two")
    await settled(workspace, heard)
    assert len(workspace.state.entries) == 4
