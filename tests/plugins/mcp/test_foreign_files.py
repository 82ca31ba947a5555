"""Servers in the files of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.plugins.mcp.foreign_files import (
    ForeignServer,
    read_servers,
)
from tui_chat.plugins.mcp.settings import ServerSettings


def read(folder: Path, value: Any) -> tuple[dict[str, ForeignServer], tuple[str, ...]]:
    path = folder / "servers.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    servers, faults = read_servers(path)
    return {server.settings.name: server for server in servers}, faults


def test_claude_desktop_and_cursor(tmp_path: Path):
    servers, faults = read(
        tmp_path,
        {
            "mcpServers": {
                "file system": {"command": "npx", "args": ["-y", "pkg", "/home/${USER}"]},
                "remote": {"url": "https://example.org/mcp", "headers": {"X-Team": "search"}},
            }
        },
    )
    assert faults == ()
    assert servers["file-system"].settings == ServerSettings(
        "file-system", "npx", ("-y", "pkg", "/home/${USER}")
    )
    assert servers["remote"].settings.headers == (("X-Team", "search"),)


def test_keys_are_not_copied(tmp_path: Path):
    servers, _ = read(
        tmp_path,
        {
            "mcpServers": {
                "git": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_1", "LEVEL": "3", "N": 5}},
                "my-web": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer abc123"}},
            }
        },
    )
    git, web = servers["git"], servers["my-web"]
    assert git.settings.env == (("GITHUB_TOKEN", "${GITHUB_TOKEN}"), ("LEVEL", "3"), ("N", "5"))
    assert git.notes == (
        "Its GITHUB_TOKEN was not copied: set the variable GITHUB_TOKEN in your shell, before you "
        "start tui-chat.",
    )
    assert web.settings.headers == (("Authorization", "Bearer ${MY_WEB_TOKEN}"),)
    assert "abc123" not in repr(servers)


def test_servers_with_different_keys_of_one_name_get_variables_of_their_own(tmp_path: Path):
    entries = {
        name: {"command": "x", "env": {"API_KEY": key}}
        for name, key in (("a", "sk-1"), ("b-b", "sk-2"), ("c", "sk-1"))
    }
    servers, _ = read(tmp_path, {"mcpServers": entries})
    assert [servers[name].settings.env[0][1] for name in ("a", "b-b", "c")] == [
        "${API_KEY}", "${B_B_API_KEY}", "${API_KEY}"
    ]  # fmt: skip
    assert "set the variable B_B_API_KEY" in servers["b-b"].notes[0]


def test_vs_code_with_comments_inputs_and_variables(tmp_path: Path):
    servers, faults = read(
        tmp_path,
        """{
          // the servers
          "inputs": [{"id": "api-key"}],
          "servers": {
            "a": {"type": "stdio", "command": "${env:HOME}/a", "env": {"K": "${input:api-key}"}},
            "b": {"command": "x", "args": ["${workspaceFolder}/b"]}, /* with // inside */
            "c": {"type": "http", "url": "https://h//mcp"},
          },
        }""",
    )
    assert servers["a"].settings.command == "${HOME}/a"
    assert servers["a"].settings.env == (("K", "${API_KEY}"),)
    assert servers["a"].notes == (
        "It asks for “api-key”: set the variable API_KEY in your shell, before you start tui-chat.",
    )
    assert servers["c"].settings.url == "https://h//mcp"
    assert faults == ("“b” uses a variable or a command that is not known here.",)


def test_gemini_and_crush(tmp_path: Path):
    servers, _ = read(
        tmp_path,
        {"mcpServers": {"g": {"httpUrl": "https://h/mcp", "includeTools": ["a"], "trust": True}}},
    )
    assert servers["g"].settings == ServerSettings("g", url="https://h/mcp", tools=("a",))
    servers, faults = read(
        tmp_path,
        {
            "$schema": "x",
            "mcp": {
                "one": {"type": "stdio", "command": "x", "env": {"TOKEN": "$MY_TOKEN"}},
                "two": {"type": "http", "url": "https://h/mcp", "disabled": True},
                "three": {"type": "stdio", "command": "x", "args": ["$(cat secret)"]},
                "four": {"type": "sse", "url": "https://h/sse"},
            },
        },
    )
    assert servers["one"].settings.env == (("TOKEN", "${MY_TOKEN}"),)
    assert servers["four"].settings.transport == "sse"
    assert len(faults) == 2


def test_no_file_makes_calls_run_without_being_asked(tmp_path: Path):
    permits = {
        "consent": "always",
        "trust": True,
        "alwaysAllow": ["a"],
        "autoApprove": ["a"],
        "allowed_tools": ["a"],
    }
    entry = {"command": "x", **permits}
    servers, faults = read(tmp_path, {"mcpServers": {"a": entry}, **permits})
    assert (servers["a"].settings, faults) == (ServerSettings("a", "x"), ())
    assert servers["a"].settings.consent == "ask"


@each_row("text", ["[]", "{}", "{", '{"mcpServers": {}}', '{"mcpServers": 3}'])
def test_a_file_without_servers_is_an_error(tmp_path: Path, text: str):
    with pytest.raises(InputError):
        read(tmp_path, text)


@each_row("entry", [3, {}, {"command": 3}, {"command": "x", "url": "http://h"}, []])
def test_an_entry_that_is_no_server_is_named(tmp_path: Path, entry: Any):
    servers, faults = read(tmp_path, {"mcpServers": {"bad\x1b": entry, "good": {"command": "x"}}})
    assert list(servers) == ["good"]
    assert len(faults) == 1
    assert "\x1b" not in faults[0]
