"""Tables of plugins in `config.toml`: their values, and the errors about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.tables import each_row
from tests.support.tool_servers import PLUGIN, ServerSettings, tool_servers
from tui_chat import hooks
from tui_chat.config import Config
from tui_chat.config.file import change_config, parse_config
from tui_chat.errors import ConfigError

ENABLED = '[plugins]\nenabled = ["servers"]\n'


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    with tool_servers(tmp_path, monkeypatch):
        hooks.enable(())
        yield


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "config.toml", Config())
    return str(caught.value)


def test_the_table_of_an_enabled_plugin_is_read_by_its_type():
    table = '[servers.time]\ncommand = "serve"\ntimeout = 5\n'
    config = parse_config(ENABLED + table, "config.toml", Config())
    assert config.sections == {"servers": {"time": ServerSettings("serve", 5.0)}}
    assert parse_config(ENABLED, "config.toml", Config()).sections == {}


@each_row(
    ("table", "sentence"),
    [
        (
            "[servers.time]\ncommand = 3\n",
            "config.toml: servers.time.command must be text (at line 4, column 1)",
        ),
        (
            '[servers.time]\ncommand = "x"\ntimeout = 0\n',
            "config.toml: servers.time.timeout must be a number above 0, at most 600 "
            "(at line 5, column 1)",
        ),
        (
            '[servers.time]\ncomand = "x"\n',
            "config.toml: servers.time.command is missing (at line 3, column 10); "
            "servers.time.comand is unknown; known are command, timeout (at line 4, column 1)",
        ),
        ("[servers.time]\n", "config.toml: servers.time.command is missing (at line 3, column 10)"),
        (
            "[server.time]\n",
            "config.toml: server is not a setting; did you mean “servers”? (at line 3, column 2)",
        ),
    ],
)
def test_a_fault_names_key_and_place(table: str, sentence: str):
    assert fault(ENABLED + table) == sentence


def test_the_table_of_a_plugin_that_is_not_enabled_is_no_setting():
    assert fault("[servers.time]\n").startswith("config.toml: servers is not a setting")


def test_the_table_of_a_plugin_that_fails_is_not_read(monkeypatch):
    broken = replace(PLUGIN, config="tests.support.tool_servers:Missing")
    monkeypatch.setattr("tests.support.tool_servers.PLUGIN", broken)
    config = parse_config(ENABLED + "[servers.time]\nx = 1\n", "config.toml", Config())
    assert config.sections == {}
    [failed] = hooks.faults()
    assert "tests.support.tool_servers:Missing: AttributeError" in failed.error
    hooks.enable(())
    monkeypatch.setattr("tests.support.tool_servers.PLUGIN", replace(PLUGIN, api=9))
    assert parse_config(ENABLED + "[servers]\n", "config.toml", Config()).sections == {}
    [failed] = hooks.faults()
    assert failed.error == (
        "tests.support.tool_servers:PLUGIN was made for api 9; this version of tui-chat has api 2."
    )


def test_the_program_changes_a_table(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(ENABLED)
    change_config(path, {("servers", "time", "command"): "serve"}, Config())
    assert path.read_text() == ENABLED + '\n[servers.time]\ncommand = "serve"\n'
    with pytest.raises(ConfigError, match="timeout"):
        change_config(path, {("servers", "time", "timeout"): 0}, Config())
