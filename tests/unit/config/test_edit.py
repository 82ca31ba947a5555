"""Changes of `config.toml` by the program: what they set, what they keep, what they refuse."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_chat.config import Config
from tui_chat.config.file import change_config, changed_toml
from tui_chat.errors import ConfigError

WRITTEN = """\
# mine
endpoint = "work"  # the default

[endpoints.work]  # at the office
protocol = "openai_chat"
base_url = "https://llm.example.org/v1"
models = [
  "a",  # fast
  "b",
]
[endpoints.work.timeouts]
connect = 5
"""


def test_a_value_changes_and_everything_else_stays():
    text = changed_toml(WRITTEN, {("endpoints", "work", "key"): "env:KEY"})
    kept = [line for line in text.splitlines() if line and line != 'key = "env:KEY"']
    assert kept == [line for line in WRITTEN.splitlines() if line]
    assert tomllib.loads(text)["endpoints"]["work"]["key"] == "env:KEY"


def test_a_new_table_has_its_own_header_and_a_removed_value_is_gone():
    text = changed_toml("", {("endpoints", "new", "protocol"): "gemini", ("theme",): None})
    assert text == '[endpoints.new]\nprotocol = "gemini"\n'
    assert changed_toml(text, {("endpoints", "new", "protocol"): None}) == "[endpoints.new]\n"
    assert changed_toml(text, {("tools", "none", "command"): None}) == text


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1)


@settings(max_examples=50)
@given(NAMES, NAMES, st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))))
def test_any_name_and_text_can_be_written(table: str, key: str, value: str):
    read = tomllib.loads(changed_toml(WRITTEN, {("tools", table, key): value}))
    assert read["tools"] == {table: {key: value}}
    assert read["endpoints"] == tomllib.loads(WRITTEN)["endpoints"]


def test_a_change_that_makes_a_fault_is_not_written(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    for changes, words in (
        ({("endpoints", "work", "base_url"): "ftp://x"}, "endpoints.work.base_url"),
        ({("endpoints", "other", "protocol"): "gemini"}, "endpoints.other.base_url is missing"),
        ({("endpoint", "inner"): "x"}, "endpoint must be a table"),
        ({("endpoints", "work", "key"): "sk-secret"}, "must be a reference"),
    ):
        with pytest.raises(ConfigError, match=words) as raised:
            change_config(path, changes, Config())
        assert "sk-secret" not in str(raised.value)
        assert path.read_text() == WRITTEN


def test_a_file_with_a_fault_is_not_touched(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("endpoint = 5\n")
    with pytest.raises(ConfigError, match="endpoint"):
        change_config(path, {("theme",): "x"}, Config())
    assert path.read_text() == "endpoint = 5\n"


def test_the_file_and_its_folder_need_not_exist(tmp_path: Path):
    path = tmp_path / "new" / "config.toml"
    change_config(path, {("theme",): "tui-chat-light"}, Config())
    assert path.read_text() == 'theme = "tui-chat-light"\n'
