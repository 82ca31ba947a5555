"""Sources of tools: when they are asked, which tools are offered, and who answers calls."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.support.tool_servers import SERVERS, ToolServer, tool_servers
from tests.support.workspace import answered, last_failure, say, settled
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.tool import CommandTool

ECHO = CommandTool(ToolDefinition("echo", "Answers.", {}), command=("cat",))


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Return a function that installs a plugin which brings servers."""
    with ExitStack() as stack:
        yield lambda *servers: stack.enter_context(tool_servers(tmp_path, monkeypatch, *servers))


async def with_server(make_workspace, serve, **options):
    """Return a workspace that has asked the server `time` for its tools, and the server."""
    server = ToolServer("time", "now")
    serve(server)
    workspace, heard = await make_workspace(model="toolsmith", **options)
    await workspace.tool_sources.loaded()
    return workspace, heard, server


async def test_a_server_is_asked_when_something_is_typed_and_once(make_workspace, serve):
    server = ToolServer("time", "now")
    serve(server)
    workspace, heard = await make_workspace(model="toolsmith", tools=(ECHO,))
    assert [tool.name for tool in workspace.state.tools] == ["echo"]
    assert not server.loads
    server.may_answer.clear()
    workspace.requests.set_draft("h")
    assert b"time__now" not in workspace.requests.compose("h").payload.body
    server.may_answer.set()
    await heard.until(lambda: len(workspace.state.tools) == 2)
    assert b"time__now" in workspace.requests.compose("h").payload.body
    workspace.requests.set_draft("hi")
    await workspace.tool_sources.loaded()
    assert server.loads == 1
    assert [status.state for status in workspace.state.tool_sources] == ["ready"]
    await workspace.close()
    assert server.is_closed


async def test_a_call_goes_to_its_server_after_consent(make_workspace, serve):
    workspace, heard, server = await with_server(make_workspace, serve)
    await say(workspace, heard, "Use the tool.")
    [waiting] = workspace.state.pending_calls
    assert waiting.can_run
    assert not server.calls
    await answered(workspace, heard, workspace.tools.run(waiting.entry_id, waiting.index))
    assert server.calls == [("now", waiting.call.arguments)]
    assert workspace.state.entries[2].message.content.startswith("time got {")


async def test_a_call_is_known_to_run(make_workspace, serve):
    workspace, heard, server = await with_server(make_workspace, serve)
    await say(workspace, heard, "Use the tool.")
    [waiting] = workspace.state.pending_calls
    server.may_answer.clear()
    running = asyncio.ensure_future(workspace.tools.run(waiting.entry_id, waiting.index))
    await heard.until(lambda: bool(workspace.state.running_calls))
    [call] = workspace.state.pending_calls
    assert call.is_running
    server.may_answer.set()
    assert await running
    await settled(workspace, heard)
    assert not workspace.state.running_calls


async def test_a_waiting_call_of_an_opened_session_asks_its_server(make_workspace, serve):
    workspace, heard, server = await with_server(make_workspace, serve)
    await say(workspace, heard, "Use the tool.")
    await workspace.close()
    workspace, heard = await make_workspace(model="toolsmith")
    await heard.until(lambda: server.loads == 2)
    assert all(call.can_run for call in workspace.state.pending_calls)
    assert not server.calls


async def test_only_the_servers_of_chosen_tools_are_asked(make_workspace, serve):
    time, git = ToolServer("time", "now"), ToolServer("git", "log", "diff")
    serve(time, git)
    workspace, heard = await make_workspace(model="toolsmith", tools=(ECHO,))
    await workspace.tool_sources.loaded()
    await workspace.tool_sources.choose(("git__log",))
    await say(workspace, heard, "Hello")
    await workspace.close()
    workspace, heard = await make_workspace(model="toolsmith", tools=(ECHO,))
    await workspace.tool_sources.loaded()
    assert [tool.name for tool in workspace.state.tools] == ["git__log"]
    assert (time.loads, git.loads) == (1, 2)
    await workspace.tool_sources.choose(("nope",))
    assert last_failure(heard) == "There is no tool “nope”."


async def test_of_two_tools_with_one_name_the_first_counts(make_workspace, serve):
    server = ToolServer("time", "now")
    serve(server)
    local = CommandTool(ToolDefinition("time__now", "Mine.", {}), command=("cat",))
    workspace, _ = await make_workspace(tools=(local,))
    await workspace.tool_sources.loaded()
    assert [tool.definition.description for tool in workspace.state.tools] == ["Mine."]


async def test_a_changed_configuration_closes_what_it_does_not_have(make_workspace, serve):
    time, git = ToolServer("time", "now"), ToolServer("git", "log")
    serve(time, git)
    workspace, heard = await make_workspace()
    await workspace.tool_sources.loaded()
    SERVERS.remove(time)
    await workspace.settings.apply_config(replace(workspace.state.config, tools=(ECHO,)))
    await heard.until(lambda: time.is_closed)
    await workspace.tool_sources.loaded()
    assert [tool.name for tool in workspace.state.tools] == ["echo", "git__log"]
    assert git.loads == 1


async def test_a_plugin_whose_sources_fail_is_named(make_workspace, serve, monkeypatch):
    serve()
    monkeypatch.delattr("tests.support.tool_servers.open_sources")
    workspace, heard = await make_workspace(tools=(ECHO,))
    await asyncio.wait_for(workspace.tool_sources.loaded(), 10)
    assert "The plugin “servers” cannot be loaded" in last_failure(heard)
    assert [tool.name for tool in workspace.state.tools] == ["echo"]


async def test_requests_wait_once_for_each_start_of_a_source(make_workspace, serve, monkeypatch):
    server = ToolServer("time", "now")
    serve(server)
    workspace, heard = await make_workspace(model="toolsmith")
    server.may_answer.clear()
    workspace.tool_sources.load()
    monkeypatch.setattr("tui_chat.workspace.tool_sources.TOOL_SECONDS", 0)
    assert await workspace.replies.submit("Use the tool.")
    monkeypatch.setattr("tui_chat.workspace.tool_sources.TOOL_SECONDS", None)
    await settled(workspace, heard)
    await say(workspace, heard, "Again.")
    assert not workspace.state.pending_calls
    restart = asyncio.ensure_future(workspace.tool_sources.restart("time"))
    await asyncio.sleep(0)
    submit = asyncio.ensure_future(workspace.replies.submit("Use the tool."))
    await heard.until(lambda: workspace.state.awaited_sources == ("time",))
    server.may_answer.set()
    assert await submit
    await restart
    await settled(workspace, heard)
    assert [waiting.call.name for waiting in workspace.state.pending_calls] == ["time__now"]
    assert not workspace.state.awaited_sources


async def test_a_source_is_closed_and_asked_again_by_request(make_workspace, serve):
    workspace, _, server = await with_server(make_workspace, serve, tools=(ECHO,))
    server.has("now", "zones")
    await workspace.tool_sources.restart("time")
    assert server.is_closed
    assert server.loads == 2
    assert [tool.name for tool in workspace.state.tools][1:] == ["time__now", "time__zones"]
    await workspace.tool_sources.restart("")  # that of the commands has nothing to end


async def test_a_source_that_asks_without_a_screen_gets_no_answer(make_workspace, serve):
    _, _, server = await with_server(make_workspace, serve)
    assert await server.context.ask(object) is None
