"""The configuration while the program runs: what a changed file changes, and where keys go."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from tests.support.workspace import Heard, last_failure
from tui_chat.config import load_config
from tui_chat.errors import ConfigError, Refused
from tui_chat.providers.keys import Secret
from tui_chat.workspace.events import ConfigChanged, Done, Failed
from tui_chat.workspace.workspace import Workspace

KEY = "sk-proj-0123456789abcdef"
CONFIG = """\
[endpoints.work]
protocol = "openai_chat"
base_url = "http://provider.invalid/v1"
models = ["m-1", "m-2"]
"""


def provider() -> httpx.MockTransport:
    """A provider that lists its models to whoever has the key."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return httpx.Response(401, json={"error": {"message": "Incorrect API key provided"}})
        return httpx.Response(200, json={"data": [{"id": "m-1"}, {"id": "m-9"}]})

    return httpx.MockTransport(answer)


@pytest.fixture
async def work(make_workspace, tmp_path: Path) -> tuple[Workspace, Heard]:
    (tmp_path / "config.toml").write_text(CONFIG)
    config = load_config(tmp_path, tmp_path, {}, {})
    return await make_workspace(
        endpoints=config.endpoints, model="", transport=provider, reads_config=True
    )


def edit(path: Path, text: str) -> None:
    """Write a file so that its time differs, however fast this machine is."""
    path.write_text(text)
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


async def test_a_changed_file_is_in_use_without_a_restart(work: tuple[Workspace, Heard], tmp_path):
    workspace, heard = work
    await workspace.settings.set_model("work", "m-2")
    await workspace.settings.check_config()
    assert not heard.of(ConfigChanged)
    tool = '[tools.now]\ncommand = ["date"]\n'
    edit(tmp_path / "config.toml", CONFIG.replace("provider.invalid", "other.invalid") + tool)
    await workspace.settings.check_config()
    assert len(heard.of(ConfigChanged)) == 1
    assert "was reloaded" in heard.of(Done)[-1].sentence
    state = workspace.state
    assert state.endpoint.base_url == "http://other.invalid/v1"
    assert (state.endpoint.name, state.model) == ("work", "m-2")
    assert [tool.name for tool in state.tools] == ["now"]


async def test_a_fault_is_published_once_and_changes_nothing(
    work: tuple[Workspace, Heard], tmp_path: Path
):
    workspace, heard = work
    before = workspace.state.config
    edit(tmp_path / "config.toml", "endpoint = 5\n")
    await workspace.settings.check_config()
    await workspace.settings.check_config()
    (failed,) = heard.of(Failed)
    assert "endpoint" in str(failed.error)
    assert workspace.state.config is before


async def test_a_removed_endpoint_leaves_the_session_at_the_default(
    work: tuple[Workspace, Heard], tmp_path: Path
):
    workspace, heard = work
    await workspace.settings.set_model("work", "m-2")
    edit(tmp_path / "config.toml", "")
    await workspace.settings.check_config()
    assert (workspace.state.endpoint.name, workspace.state.model) == ("loopback", "")
    assert "no endpoint “work”" in last_failure(heard)


async def test_a_key_is_checked_before_it_is_kept(work: tuple[Workspace, Heard]):
    workspace, _ = work
    endpoint = workspace.state.config.endpoint_named("work")
    with pytest.raises(Refused) as raised:
        await workspace.settings.check_key(endpoint, Secret("wrong"))
    assert raised.value.status == 401
    await workspace.settings.check_key(endpoint, Secret(KEY))
    assert workspace.client.run_keys == {}


@pytest.mark.parametrize("place", ["file", "run"])
async def test_a_kept_key_is_sent_and_is_nowhere_else(
    place, work: tuple[Workspace, Heard], tmp_path: Path
):
    workspace, _ = work
    endpoint = workspace.state.config.endpoint_named("work")
    await workspace.settings.keep_key(endpoint, Secret(KEY), place)
    endpoint = workspace.state.config.endpoint_named("work")
    assert await workspace.settings.list_models(endpoint) == ("m-1", "m-9")
    await workspace.settings.change_config({("theme",): "tui-chat-light"})  # which reads it again
    endpoint = workspace.state.config.endpoint_named("work")
    assert await workspace.settings.list_models(endpoint) == ("m-1", "m-9")
    having = [path for path in tmp_path.rglob("*") if path.is_file() and KEY in _text(path)]
    assert having == ([tmp_path / "keys" / "work"] if place == "file" else [])
    assert KEY not in repr(workspace.state)


async def test_a_change_with_a_fault_changes_neither_file_nor_state(
    work: tuple[Workspace, Heard], tmp_path: Path
):
    workspace, _ = work
    before = workspace.state.config
    with pytest.raises(ConfigError):
        await workspace.settings.change_config({("endpoints", "work", "key"): KEY})
    assert workspace.state.config is before
    assert (tmp_path / "config.toml").read_text() == CONFIG


def test_the_first_key_in_the_environment_is_the_default(tmp_path: Path):
    keys = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    config = load_config(tmp_path, tmp_path, keys, {})
    assert (config.endpoint, config.is_endpoint_found) == ("anthropic", True)
    assert config.chosen_endpoint == "loopback"
    (tmp_path / "config.toml").write_text('[endpoints.openrouter]\nkey = "file:~/key"\n')
    assert load_config(tmp_path, tmp_path, {}, {}).endpoint == "openrouter"
    (tmp_path / "config.toml").write_text('endpoint = "loopback"\n')
    assert load_config(tmp_path, tmp_path, keys, {}).endpoint == "loopback"
    (tmp_path / "config.toml").write_text("")
    assert load_config(tmp_path, tmp_path, keys, {"endpoint": "google"}).endpoint == "google"


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")
