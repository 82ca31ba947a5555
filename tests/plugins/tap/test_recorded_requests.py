"""Sessions that the tap recorded: shown live, inspected, sent to another model, made a preset."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.support.vendors import serve
from tests.support.workspace import settled
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap.proxy import TapProxy
from tui_chat.plugins.tap.recorder import Recorder
from tui_chat.plugins.tap.sessions import SessionWriter
from tui_chat.plugins.tap.upstreams import read_upstream, route_to
from tui_chat.store import Store
from tui_chat.workspace.request_history import SentRequest

TOOLS = [{"name": "weather", "input_schema": {"type": "object"}}]
BODY: dict[str, Any] = {
    "model": "thinker",
    "max_tokens": 300,
    "system": [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}],
    "tools": TOOLS,
    "messages": [{"role": "user", "content": "What is the weather?"}],
}


async def record(folder: Path, *bodies: dict[str, Any], first_id: int = 0) -> None:
    """Send requests through a tap of another program that stores in the same file."""
    numbers = itertools.count(first_id)
    new_id: Callable[[], str] = lambda: f"tap{next(numbers):06}"  # noqa: E731
    async with await Store.open(folder / "chat.db", now=time.time, new_id=new_id) as store:
        writer = SessionWriter(
            store,
            now=time.time,
            new_id=new_id,
            endpoint_name=lambda protocol, url: "loopback-anthropic",
        )
        recorder = Recorder(
            on_call=lambda call: None,
            on_other=lambda exchange: None,
            prices_of=lambda call, tier: None,
            writer=writer,
        )
        async with serve() as server:
            route = route_to(read_upstream(server.base_url))
            async with TapProxy(route, recorder.follow) as proxy, httpx.AsyncClient() as client:
                for body in bodies:
                    headers = {"anthropic-version": "2023-06-01"}
                    url = f"{proxy.base_url}/v1/messages"
                    assert (await client.post(url, json=body, headers=headers)).status_code == 200
                await recorder.finish(10)
        assert not writer.dropped


async def open_recorded(make_workspace: Any, folder: Path) -> tuple[Any, Any, Any]:
    workspace, heard = await make_workspace()
    await record(folder, BODY)
    await workspace.external_changes.check()
    (session,) = workspace.state.sessions
    assert (session.title, session.tags) == ("What is the weather?", ("tap",))
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 3)
    return workspace, heard, workspace.state.entries[-1]


async def test_a_recorded_request_is_shown_exactly(make_workspace, tmp_path: Path):
    workspace, _, reply = await open_recorded(make_workspace, tmp_path)
    assert await workspace.viewed_requests.view_sent(reply.message.id)
    viewed = workspace.state.request.viewed
    assert viewed.description.startswith("recorded at ")
    assert viewed.description.endswith(" · exact bytes")
    assert viewed.composed.protocol is Protocol.ANTHROPIC
    sent: SentRequest = await workspace.request_history.request(reply.message.id)
    assert sent.body is not None
    assert viewed.composed.payload.body == sent.body
    assert [tool.name for tool in viewed.composed.envelope.tools] == ["weather"]


async def test_it_can_be_made_a_session_with_a_preset(make_workspace, tmp_path: Path):
    workspace, heard, reply = await open_recorded(make_workspace, tmp_path)
    await workspace.viewed_requests.view_sent(reply.message.id)
    await workspace.viewed_requests.save("Weather", workspace.state.request.viewed)
    await heard.until(lambda: workspace.state.session.title == "Weather")
    assert workspace.state.preset.messages[0].content == "You are terse."
    assert workspace.state.preset.messages[0].cache_control == "5m"


async def test_it_is_sent_to_another_model_with_all_that_it_had(make_workspace, tmp_path: Path):
    workspace, heard, reply = await open_recorded(make_workspace, tmp_path)
    assert await workspace.replies.replay(reply.message.id, "loopback", "mirror")
    await settled(workspace, heard)
    answer = workspace.state.entries[-1]
    assert (answer.model, answer.siblings) == ("mirror", 2)
    assert "You are terse." in answer.message.content
    assert "`weather`" in answer.message.content
    sent = await workspace.request_history.request(answer.message.id)
    assert sent.composed is not None
    assert sent.composed.payload.sha256 == sent.record.sha256


async def test_the_session_can_be_continued(make_workspace, tmp_path: Path):
    workspace, heard, _ = await open_recorded(make_workspace, tmp_path)
    await workspace.replies.submit("And tomorrow?", session_id=workspace.state.session_id)
    await settled(workspace, heard)
    assert [entry.message.role for entry in workspace.state.entries] == [
        *("system", "user", "assistant"),
        *("user", "assistant"),
    ]


async def test_another_call_of_the_conversation_appears_in_the_open_session(
    make_workspace, tmp_path: Path
):
    workspace, heard = await make_workspace()
    first = BODY["messages"][0]
    reply = {"role": "assistant", "content": "Rain."}
    await record(tmp_path, BODY, {**BODY, "messages": [first, reply, {**first, "content": "Go"}]})
    await workspace.external_changes.check()
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
    await workspace.external_changes.check()
    (session,) = workspace.state.sessions
    await workspace.sessions.activate(session.session_id)
    await heard.until(lambda: len(workspace.state.entries) == 5)
    assert await workspace.viewed_requests.view_sent(workspace.state.entries[-1].message.id)
    viewed = workspace.state.request.viewed
    assert b"And later?" not in viewed.before.payload.body
    assert viewed.forecast.at.kind not in ("grown", "first", "model")
    assert "cached tokens lost" in viewed.description
    base = workspace.live_request.comparison()
    assert (base.name, base.payload) == ("the request before it", viewed.before.payload)
    earliest, _ = await workspace.store.requests.list(session.session_id)
    assert await workspace.viewed_requests.view_sent(earliest.message_id)
    base = workspace.live_request.comparison()
    assert base.payload is None, "not with itself"
    assert base.reason.startswith("No earlier Anthropic request of this session is recorded.")
