"""Commands about servers of tools, and the protocols they speak."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.mcp.conftest import SCRIPT
from tests.support.command_line import Done, Run
from tests.support.corpus import ORACLE, oracle
from tests.support.sdk_types import accept
from tests.support.vendors import HttpRequest
from tests.support.workspace import LOOPBACKS, make_workspace, say, settled
from tui_chat.models.endpoint import Endpoint
from tui_chat.plugins.mcp.settings import ServerSettings

__all__ = ["make_workspace"]

pytestmark = [pytest.mark.slow]
Mcp = Callable[..., Done]


@pytest.fixture
def mcp(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mcp:
    monkeypatch.chdir(tmp_path)
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    return lambda *words: run(*folders, "mcp", *words)


def configured(folder: Path) -> object:
    return tomllib.loads((folder / "config" / "config.toml").read_text())["mcp"]


def test_servers_are_added_listed_and_removed(mcp: Mcp, tmp_path: Path):
    assert "No servers." in mcp("list").err
    words = ("--env", "A=${B}", "--tool", "x*", "--cwd", "/", "--timeout", "5")
    assert mcp("add", "one", *words, "--", "prog", "--flag", "a b").code == 0
    header = ("--header", "Authorization=Bearer ${T}")
    assert mcp("add", "two", "https://example.org/mcp", *header).code == 0
    assert configured(tmp_path) == {
        "one": {
            "command": "prog",
            "args": ["--flag", "a b"],
            "env": {"A": "${B}"},
            "tools": ["x*"],
            "cwd": "/",
            "timeout": 5.0,
        },
        "two": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${T}"}},
    }
    (one, two) = json.loads(mcp("list", "--json").out)
    assert one["runs"] == "cd / && A='${B}' prog --flag 'a b'"
    assert two["runs"] == "https://example.org/mcp\nAuthorization: … ${T}"
    assert "A server “one” already exists" in mcp("add", "one", "--", "other").err
    assert mcp("add", "one", "--force", "--", "other").code == 0
    assert mcp("remove", "two").code == 0
    assert configured(tmp_path) == {"one": {"command": "other"}}
    assert "There is no server “two”" in mcp("remove", "two").err


def test_what_cannot_be_a_server_is_refused_without_a_key(mcp: Mcp, tmp_path: Path):
    for words in (
        ("a__b", "--", "x"),
        ("a", "https://h/mcp", "--env", "A=1"),
        ("a", "https://h/mcp", "--header", "Authorization=Bearer abc"),
        ("a", "--env", "A", "--", "x"),
        ("a", "--timeout", "0", "--", "x"),
        ("a", "https://user:secret@h/mcp"),
    ):
        done = mcp("add", *words)
        assert done.code, words
        assert not (tmp_path / "config").exists()
        assert "secret" not in done.err
        assert "abc" not in done.err


def test_a_server_is_tested_and_called(mcp: Mcp):
    mcp("add", "bad", "--", sys.executable, "-S", "-E", str(SCRIPT))
    done = mcp("test", "bad", "--call", "echo", "--arguments", '{"a": 1}')
    assert done.code == 0, done.err
    assert "hostile 6.6" in done.out
    assert "bad__echo" in done.out
    assert '{"a": 1}' in done.out
    assert "\u202e" not in done.out
    assert "is not offered" in done.err
    assert "were no messages" in mcp("test", "bad", "--call", "noise").err
    assert mcp("test", "bad", "--call", "failing").code == 1
    assert json.loads(mcp("test", "bad", "--json").out)["protocol"] == "2026-07-28"


def test_without_the_package_the_extra_is_named(mcp: Mcp, monkeypatch: pytest.MonkeyPatch):
    for module in ("connection", "history_server"):
        monkeypatch.delitem(sys.modules, f"tui_chat.plugins.mcp.{module}", raising=False)
    for module in ("mcp", "mcp.server.mcpserver"):
        monkeypatch.setitem(sys.modules, module, None)
    mcp("add", "bad", "--", sys.executable, "-S", "-E", str(SCRIPT))
    for words in (("test", "bad"), ("serve", "--all")):
        done = mcp(*words)
        assert done.code
        assert "tui-chat[mcp]" in done.err


def test_a_server_that_fails_is_shown_with_its_last_words(mcp: Mcp):
    mcp("add", "gone", "--", sys.executable, "-c", "raise SystemExit('no \x1b[31mcheese')")
    done = mcp("test", "gone")
    assert done.code == 1
    assert "ended with status 1" in done.err
    assert "no ␛[31mcheese" in done.err


def test_an_import_shows_command_lines_and_writes_with_consent(mcp: Mcp, tmp_path: Path):
    entry = {"command": "x", "args": ["1 2"], "env": {"TOKEN": "sk-1"}, "consent": "always"}
    entries = {"a b": entry, "c": {}}
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    done = mcp("import", file)
    assert done.code
    assert "TOKEN='${TOKEN}' x '1 2'" in done.out
    assert "Left out: “c”" in done.err
    assert not (tmp_path / "config").exists()
    assert mcp("import", file, "--yes").code == 0
    assert configured(tmp_path) == {
        "a-b": {"command": "x", "args": ["1 2"], "env": {"TOKEN": "${TOKEN}"}}
    }
    entries["d"] = {"command": "y"}
    file.write_text(json.dumps({"mcpServers": entries}))
    done = mcp("import", file, "--yes")
    assert done.code == 0
    assert "a-b is in config.toml already.\nd  y\n" in done.out
    entries |= {"d": {"command": "z"}, "e": {"command": "x"}}
    file.write_text(json.dumps({"mcpServers": entries}))
    done = mcp("import", file, "--yes")
    assert "there is another server “d”" in done.err
    assert [table["command"] for table in configured(tmp_path).values()] == ["x", "y", "x"]
    assert mcp("import", file, "--yes", "--force").code == 0
    assert configured(tmp_path)["d"] == {"command": "z"}


def test_build_starts_the_servers_as_ask_does(run: Run, mcp: Mcp, tmp_path: Path):
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    mcp("add", "bad", "--tool", "echo", "--", sys.executable, "-S", "-E", str(SCRIPT))
    mcp("add", "gone", "--", "/nonexistent")
    built = run(*folders, "build", "--no-tools", "Hello")
    assert "bad__echo" not in built.out
    started = run(*folders, "build", "Hello")
    assert "bad__echo" in started.out
    assert "warning: gone: " in started.err


def test_values_of_headers_are_not_shown(mcp: Mcp, tmp_path: Path):
    table = {"X-Team": "search", "X-Key": "env:KEY", "X-A": "${A}", "X-B": "v ${A} ${B:-secret}"}
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"web": {"url": "https://h/m", "headers": table}}}))
    assert mcp("import", file, "--yes").code == 0
    (web,) = json.loads(mcp("list", "--json").out)
    shown = ["X-Team: …", "X-Key: ${X_KEY}", "X-A: ${A}", "X-B: … ${A}${B}"]
    assert web["runs"].split("\n") == ["https://h/m", *shown]


# --- A conversation with a server's tools that goes on in every protocol, one after the other


ENDPOINTS = {endpoint.name: endpoint for endpoint in LOOPBACKS}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
Sent = list[tuple[Endpoint, dict[str, Any]]]


@pytest.fixture(params=["modern", "legacy"])
async def sent(make_workspace: Any, request: pytest.FixtureRequest) -> Sent:
    """The bodies of a conversation that calls a tool in each protocol, and one whose result, with
    a picture, is sent in the next one.
    """
    server = ServerSettings(
        command=sys.executable,
        args=("-S", "-E", str(SCRIPT), request.param),
        tools=("echo", "image"),
        timeout=20.0,
    )
    bodies: list[bytes] = []

    def record(http: HttpRequest) -> None:
        bodies.append(http.body)

    workspace, heard = await make_workspace(on_request=record, sections={"mcp": {"bad": server}})
    sent: Sent = []
    await workspace.tool_sources.loaded()
    following = dict(zip(ENDPOINTS, [*list(ENDPOINTS)[1:], "loopback"], strict=True))
    for name, endpoint in ENDPOINTS.items():
        for tool, answered in (("echo", name), ("image", following[name])):
            bodies.clear()
            await workspace.settings.set_model(name, f"toolsmith:bad__{tool}")
            await say(workspace, heard, f"Use {tool} with {endpoint.protocol}.")
            (waiting,) = workspace.state.pending_calls
            await workspace.settings.set_model(answered, "echo")
            assert await workspace.tools.run(waiting.entry_id, waiting.index)
            await settled(workspace, heard)
            assert not workspace.state.pending_calls
            call, result = map(json.loads, bodies)
            sent += ((endpoint, call), (ENDPOINTS[answered], result))
    return sent


async def test_calls_and_results_are_in_the_requests_of_all_protocols(sent: Sent) -> None:
    assert len(sent) == 20
    for number, (endpoint, body) in enumerate(sent):
        accept(endpoint.protocol, body)
        assert not ORACLE.is_file() or oracle(endpoint.protocol, body) == []
        text = json.dumps(body)
        echoes, pictures = (number + 3) // 4, (number + 1) // 4
        assert (called(body, "bad__echo"), called(body, "bad__image")) == (echoes, pictures)
        assert text.count("left out: its data is damaged") == pictures, "the text of the result"
        assert text.count(PICTURE) == pictures
        assert f"Use {'image' if number % 4 > 1 else 'echo'} with" in text


def called(value: Any, name: str) -> int:
    """Return how often a body has a call of a tool: an object with its name and arguments."""
    if isinstance(value, list):
        return sum(called(item, name) for item in value)
    if not isinstance(value, dict):
        return 0
    is_call = value.get("name") == name and {"arguments", "input", "args"} & value.keys()
    return bool(is_call) + sum(called(item, name) for item in value.values())
