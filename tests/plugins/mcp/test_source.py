"""Servers as sources of tools."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.mcp.conftest import SCRIPT, has_ended, is_alive, running
from tui_chat.config import Config
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.plugins.mcp.source import open_sources
from tui_chat.providers.client import HttpClient
from tui_chat.workspace.tool_sources import SourceContext, ToolSource

pytestmark = [pytest.mark.slow]


class Opened:
    """The sources of a configuration, and the changes that they told."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.sources: tuple[ToolSource, ...] = ()
        self.changed = asyncio.Event()

    def open(self, hidden: frozenset[str] = frozenset(), **servers: ServerSettings) -> None:
        config = Config(
            config_dir=self._folder / "c", data_dir=self._folder / "d", sections={"mcp": servers}
        )
        context = SourceContext(
            config=config,
            client=HttpClient(),
            hidden=hidden,
            changed=self.changed.set,
            before=self.sources,
        )
        self.sources = tuple(open_sources(context))

    async def until_changed(self) -> None:
        self.changed.clear()
        await self.changed.wait()


def settings(*words: str, **values: Any) -> ServerSettings:
    return ServerSettings(
        command=sys.executable, args=("-S", "-E", str(SCRIPT), *words), timeout=20.0, **values
    )


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    monkeypatch.chdir(tmp_path)
    opened = Opened(tmp_path)
    yield opened
    for source in opened.sources:
        await source.close()


async def test_tools_have_their_origin_and_are_called(opened: Opened):
    names = ("echo", "progress", "change", "failing", "ask", "hidden")
    opened.open(bad=settings(tools=names))
    (source,) = opened.sources
    assert (source.name, source.status.state, source.tools) == ("bad", "idle", ())
    await source.load()
    assert source.status.state == "ready"
    tools = {tool.name.removeprefix("bad__"): tool for tool in source.tools}
    assert tools.keys() == set(names)
    echo, hidden = tools["echo"], tools["hidden"]
    assert echo.server == "bad"
    origin = echo.definition.source
    assert origin is not None
    assert (origin.name, origin.version) == ("echo", "hostile 6.6")
    assert origin.digest == echo.digest
    assert echo.runs.endswith("hostile_server.py")
    assert hidden.claims == ("only reads",)

    answer = await source.call(echo, ' {"a": 1}')
    assert (answer.text, answer.ok) == ('{"a": 1}', True)
    assert (await source.call(echo, "")).text == "{}"
    for arguments in ("{", "[1]"):
        answer = await source.call(echo, arguments)
        assert not answer.ok
        assert answer.text.startswith("The tool was not called.")
    assert not (await source.call(tools["failing"], "{}")).ok
    assert (await source.call(tools["progress"], "{}")).ok
    # Nobody can be asked.
    assert '"action": "cancel"' in (await source.call(tools["ask"], "{}")).text

    await source.call(tools["change"], "{}")

    def changed() -> bool:
        return any(t.definition.description == "Adds, and more." for t in source.tools)

    while not changed():
        await opened.until_changed()


async def test_a_server_that_fails_says_why(opened: Opened):
    opened.open(gone=ServerSettings(command="/nonexistent"))
    (source,) = opened.sources
    await source.load()
    assert source.status.state == "failed"
    assert "could not be started" in source.status.sentence


async def test_a_source_stays_open_unless_its_settings_change(opened: Opened):
    opened.open(one=settings(), two=settings())
    one, two = opened.sources
    opened.open(one=settings(), two=settings("legacy"))
    assert opened.sources[0] is one
    assert opened.sources[1] is not two
    opened.open(frozenset({"KEY"}), one=settings())
    assert opened.sources[0] is not one  # another variable holds a key now


async def test_closing_does_not_wait_for_a_stubborn_server(opened: Opened):
    opened.open(bad=settings("stubborn"))
    (source,) = opened.sources
    await source.load()
    (pid,) = running()
    await source.close()
    assert is_alive(pid)
    assert await has_ended(pid)


async def test_values_of_variables_are_not_shown_and_are_part_of_the_identity(opened: Opened):
    opened.open(bad=settings(tools=("echo",), env=(("KEY", "secret-1"), ("HOST", "${HOME}"))))
    (source,) = opened.sources
    await source.load()
    (before,) = source.tools
    assert before.runs.startswith("KEY=… HOST='${HOME}' ")
    opened.open(bad=settings(tools=("echo",), env=(("KEY", "secret-2"), ("HOST", "${HOME}"))))
    (source,) = opened.sources
    await source.load()
    (now,) = source.tools
    assert (now.runs, now.digest) == (before.runs, before.digest)
    assert now.identity != before.identity
    default = ServerSettings(command="prog", env=(("KEY", "${KEY:-secret-3}"),))
    assert default.command_line == "KEY=… prog"


async def test_a_closed_server_starts_again_however_often_it_died(opened: Opened):
    opened.open(bad=settings(tools=("die", "echo")))
    (source,) = opened.sources
    await source.load()
    echo, die = source.tools
    for _ in range(3):
        await source.call(die, "{}")
    assert source.status.state == "failed"
    await source.close()
    await source.load()
    assert source.status.state == "ready"
    assert (await source.call(echo, "{}")).ok


async def test_a_server_that_was_closed_while_it_started_starts_again(opened: Opened):
    opened.open(bad=settings(tools=("echo",)))
    (source,) = opened.sources
    loading = asyncio.ensure_future(source.load())
    while source.status.state != "starting":
        await opened.until_changed()
    loading.cancel()
    await source.close()
    await source.load()
    assert source.status.state == "ready"
