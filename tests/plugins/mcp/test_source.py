"""Servers as sources of tools."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.mcp.conftest import SCRIPT, has_ended, is_alive, process_of
from tui_chat.config import Config
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.plugins.mcp.source import OfferedSource, ServerSource, open_sources
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


async def test_tools_have_their_origin_and_claims(opened: Opened):
    opened.open(bad=settings(tools=("echo", "hidden")))
    (source,) = opened.sources
    assert (source.name, source.status.state, source.tools) == ("bad", "idle", ())
    await source.load()
    assert source.status.state == "ready"
    echo, hidden = source.tools
    assert echo.name == "bad__echo"
    assert echo.server == "bad"
    assert echo.definition.source is not None
    assert echo.definition.source.name == "echo"
    assert echo.definition.source.version == "hostile 6.6"
    assert echo.definition.source.digest == echo.digest
    assert echo.runs.endswith("hostile_server.py")
    assert hidden.claims == ("only reads",)
    answer = await source.call(echo, ' {"a": 1}', print)
    assert (answer.text, answer.ok) == ('{"a": 1}', True)


async def test_progress_is_told_in_words(opened: Opened):
    opened.open(bad=settings(tools=("progress",)))
    (source,) = opened.sources
    await source.load()
    words: list[str] = []
    assert (await source.call(source.tools[0], "{}", words.append)).ok
    assert words == ["50% half"]


async def test_calls_that_cannot_be_made_are_answered(opened: Opened):
    opened.open(bad=settings(tools=("echo", "failing")))
    (source,) = opened.sources
    await source.load()
    echo, failing = source.tools
    for arguments in ("{", "[1]"):
        answer = await source.call(echo, arguments, print)
        assert not answer.ok
        assert answer.text.startswith("The tool was not called.")
    assert (await source.call(echo, "", print)).text == "{}"
    assert not (await source.call(failing, "{}", print)).ok


async def test_tools_that_changed_are_asked_for_again(opened: Opened):
    opened.open(bad=settings(tools=("change", "hidden")))
    (source,) = opened.sources
    await source.load()
    change, before = source.tools
    await source.call(change, "{}", print)
    while source.tools[1].digest == before.digest:
        await opened.until_changed()
    assert source.tools[1].definition.description == "Adds, and more."


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
    assert isinstance(source, ServerSource)
    await source.load()
    pid = process_of(source.server)
    await source.close()
    assert is_alive(pid)
    assert await has_ended(pid)


async def test_a_server_of_the_folder_waits_until_it_is_allowed(opened: Opened, tmp_path: Path):
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"local": {"command": "touch", "args": ["ran"]}}}))
    opened.open()
    (source,) = opened.sources
    assert isinstance(source, OfferedSource)
    await source.load()
    assert source.tools == ()
    assert "`tui-chat mcp allow local`" in source.status.sentence
    assert not (tmp_path / "ran").exists()


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
        await source.call(die, "{}", print)
    assert source.status.state == "failed"
    await source.close()
    await source.load()
    assert source.status.state == "ready"
    assert (await source.call(echo, "{}", print)).ok


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


async def test_questions_of_a_server_go_to_the_user_and_are_declined_without_one(
    opened: Opened, tmp_path: Path
):
    opened.open(bad=settings(tools=("ask",)))
    (source,) = opened.sources
    await source.load()
    (ask,) = source.tools
    assert '"action": "decline"' in (await source.call(ask, "{}", print)).text
