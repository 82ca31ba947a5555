"""The table of settings by protocol in docs/settings.md."""

from __future__ import annotations

import runpy
from pathlib import Path

from tui_chat.models.setting_types import SETTINGS
from tui_chat.models.settings import CONTEXT_SETTINGS

DOCS = Path(__file__).parents[1] / "docs"


def test_the_table_of_settings_is_up_to_date():
    code = runpy.run_path(str(DOCS / "dev" / "settings_table.py"))
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert code["updated"](text) == text, "run `python docs/dev/settings_table.py`"
    assert text.count("| `effort` | `reasoning_effort`") == 1


def test_every_setting_is_documented():
    text, _, table = (DOCS / "settings.md").read_text(encoding="utf-8").partition("<!-- table -->")
    for name in SETTINGS:
        assert f"`{name}`" in text
        assert (f"| `{name}` |" in table) == (name not in CONTEXT_SETTINGS)
