"""Sessions that the tap recorded: shown live, inspected, sent to another model, made a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from tests.plugins.tap.conftest import recording
from tests.support.vendors import serve
from tests.support.workspace import settled
from tui_chat.models.endpoint import Protocol
from tui_chat.workspace.exchange import SentRequest

TOOLS = [{"name": "weather", "input_schema": {"type": "object"}}]
BODY: dict[str, Any] = {
    "model": "thinker",
    "max_tokens": 300,
    "system": [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}],
    "tools": TOOLS,
    "messages": [{"role": "user", "content": "What is the weather?"}],
}


async def record(folder: Path, *bodies: dict[str, Any], first_id: int = 1) -> None:
    """Send requests through a tap of another program that stores in the same file."""
    async with (
        serve() as server,
        recording(folder, server.base_url, first_id=first_id, endpoint="loopback-anthropic") as tap,
        httpx.AsyncClient(headers={"anthropic-version": "2023-06-01"}) as client,
    ):
        for body in bodies:
            url = f"{tap.base_url}/v1/messages"
            assert (await client.post(url, json=body)).status_code == 200


async def open_recorded(make_workspace: Any, folder: Path) -> tuple[Any, Any, Any]:
    workspace, heard = await make_workspace()
    await record(folder, BODY)
    await workspace.windows.check()
    (session,) = workspace.state.sessions
    assert (session.title, session.tags) == ("What is the weather?", ("tap",))
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 3)
    return workspace, heard, workspace.state.entries[-1]


async def test_a_recorded_request_is_shown_exactly_sent_elsewhere_and_continued(
    make_workspace, tmp_path: Path
):
    workspace, heard, reply = await open_recorded(make_workspace, tmp_path)
    assert await workspace.sent.view_sent(reply.message.id)
    viewed = workspace.state.request.viewed
    assert viewed.description.startswith("recorded at ")
    assert viewed.description.endswith(" · exact bytes")
    assert viewed.composed.protocol is Protocol.ANTHROPIC
    sent: SentRequest = await workspace.sent.request(reply.message.id)
    assert sent.body is not None
    assert viewed.composed.payload.body == sent.body
    assert [tool.name for tool in viewed.composed.envelope.tools] == ["weather"]

    assert await workspace.replies.replay(reply.message.id, "loopback", "mirror")
    await settled(workspace, heard)
    answer = workspace.state.entries[-1]
    assert (answer.model, answer.siblings) == ("mirror", 2)
    assert "You are terse." in answer.message.content
    assert "`weather`" in answer.message.content
    sent = await workspace.sent.request(answer.message.id)
    assert sent.composed is not None
    assert sent.composed.payload.sha256 == sent.record.sha256

    await workspace.replies.submit("And tomorrow?", session_id=workspace.state.session_id)
    await settled(workspace, heard)
    roles = [entry.message.role for entry in workspace.state.entries]
    assert roles == ["system", "user", "assistant", "user", "assistant"]

    await workspace.sent.save("Weather", viewed)
    await heard.until(lambda: workspace.state.session.title == "Weather")
    assert workspace.state.preset.messages[0].content == "You are terse."
    assert workspace.state.preset.messages[0].cache_control == "5m"


async def test_another_call_of_the_conversation_appears_in_the_open_session(
    make_workspace, tmp_path: Path
):
    workspace, heard = await make_workspace()
    first = BODY["messages"][0]
    reply = {"role": "assistant", "content": "Rain."}
    await record(tmp_path, BODY, {**BODY, "messages": [first, reply, {**first, "content": "Go"}]})
    await workspace.windows.check()
    (session,) = workspace.state.sessions
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 5)
    texts = [entry.message.content for entry in workspace.state.entries]
    assert texts[:4] == ["You are terse.", "What is the weather?", "Rain.", "Go"]


async def test_a_recorded_request_is_compared_with_the_one_before_it(
    make_workspace, tmp_path: Path
):
    workspace, heard = await make_workspace()
    text = "The mill is old. " * 400
    system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    first = BODY | {"model": "thinker", "system": system}
    changed = [{**system[0], "text": "Now: " + text}]
    reply = [{"role": "assistant", "content": "Dry."}, {"role": "user", "content": "And later?"}]
    second = first | {"system": changed, "messages": [*BODY["messages"], *reply]}
    await record(tmp_path, first, second)
    await workspace.windows.check()
    (session,) = workspace.state.sessions
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 5)
    assert await workspace.sent.view_sent(workspace.state.entries[-1].message.id)
    viewed = workspace.state.request.viewed
    assert b"And later?" not in viewed.before.payload.body
    base = workspace.requests.comparison()
    assert (base.name, base.payload) == ("the request before it", viewed.before.payload)
    earliest, _ = await workspace.store.requests.list(session.session_id)
    assert await workspace.sent.view_sent(earliest.message_id)
    base = workspace.requests.comparison()
    assert base.payload is None, "not with itself"
    assert base.reason.startswith("This session has no earlier recorded Anthropic request.")
