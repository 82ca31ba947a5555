"""`[tools.NAME]`: what models may call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_chat.config import Config, load_config
from tui_chat.errors import ConfigError
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.tool import Tool


def loaded(folder: Path, text: str) -> Config:
    (folder / "config.toml").write_text(text)
    return load_config(folder, folder, {}, {})


def test_a_tool_whole(tmp_path: Path):
    config = loaded(
        tmp_path,
        """
        [tools.weather]
        description = "The weather."
        parameters = '{"type": "object", "properties": {"city": {"type": "string"}}}'
        command = ["weather", "--json"]
        consent = "always"
        offered = false
        timeout = 5
        most_output = 1000
        """,
    )
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    weather = Tool(
        ToolDefinition("weather", "The weather.", schema),
        command=("weather", "--json"),
        consent="always",
        offered=False,
        timeout=5,
        most_output=1000,
    )
    assert config.tools == (weather,)
    assert config.tool_named("weather") == weather
    assert config.tool_named("other") is None


def test_a_schema_may_be_a_table(tmp_path: Path):
    config = loaded(tmp_path, "[tools.t.parameters]\ntype = 'object'\nproperties = {a = {}}\n")
    assert config.tools[0].definition.parameters == {"type": "object", "properties": {"a": {}}}
    assert config.tools[0].consent == "ask"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("parameters = '{'", "tools.t.parameters: is not JSON"),
        ("parameters = '[]'", "tools.t.parameters: must be a JSON Schema of type object"),
        ("parameters = {type = 'string'}", "must be a JSON Schema of type object"),
        ("parameters = {x = 2020-01-01}", "a value that JSON does not know"),
        ("consent = 'never'", "tools.t.consent"),
        ("command = 'rm'", "tools.t.command"),
        ("timeout = 0", "tools.t.timeout"),
        ("comand = ['x']", "is “command” meant?"),
    ],
)
def test_faults_name_their_place(tmp_path: Path, line: str, fault: str):
    with pytest.raises(ConfigError) as told:
        loaded(tmp_path, f"[tools.t]\n{line}\n")
    assert fault in str(told.value)


def test_a_name_that_providers_refuse_is_a_fault(tmp_path: Path):
    with pytest.raises(ConfigError):
        loaded(tmp_path, '[tools."my tool"]\n')
