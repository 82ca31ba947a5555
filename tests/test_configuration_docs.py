"""docs/configuration.md: every key is in it, and its example is a configuration."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from tui_chat.config import Config
from tui_chat.config.file import read_config_file
from tui_chat.config.schema import known_keys
from tui_chat.extensions import plugins

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "configuration.md").read_text(encoding="utf-8")


def test_the_tables_are_up_to_date():
    code = runpy.run_path(str(DOCS / "dev" / "configuration_table.py"))
    assert code["updated"](TEXT) == TEXT, "run `python docs/dev/configuration_table.py`"


def test_every_key_is_documented_in_words_of_the_file():
    of_plugins = {plugin.name for plugin in plugins() if plugin.config}
    for key in set(known_keys()) - of_plugins:
        assert f"| `{key}` |" in TEXT
    for name in of_plugins:
        assert f"`[{name}" in TEXT, "the page of the plugin is named"
    assert "None" not in TEXT


def test_the_example_is_a_configuration(tmp_path: Path):
    [example] = re.findall(r"```toml\n(.*?)```", TEXT, re.S)
    (tmp_path / "config.toml").write_text(example)
    config = read_config_file(tmp_path / "config.toml", Config())
    assert config.endpoint == "work"
    assert config.tool_named("weather") is not None
