"""docs/presets.md has every key, every macro and every code of a finding."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.tables import each_row
from tui_chat.context.macros.environment import is_value_macro
from tui_chat.context.macros.functions import MACROS
from tui_chat.extensions import plugins
from tui_chat.library import lorebooks, presets
from tui_chat.library.preset_check import check_preset

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
WORDS = ("user", "char", "preset", "model", "date", "time", "weekday", "lastMessage")


@each_row(
    "keys", [presets.PRESET_KEYS, presets.MESSAGE_KEYS, lorebooks.BOOK_KEYS, lorebooks.ENTRY_KEYS]
)
def test_every_key_is_documented(keys: presets.KnownKeys):
    camels = [key for key in keys.field_of if "_" not in key]
    assert [key for key in camels if f"`{key}`" not in DOCS] == []


def test_every_macro_is_documented():
    assert all(is_value_macro(word.lower()) for word in WORDS)
    told = [name.lower() for name in re.findall(r"\{\{(\w+|[.$])", DOCS)]
    added = (macro.name for plugin in plugins() for macro in plugin.macros)
    assert {*MACROS, *added, *(word.lower() for word in WORDS), "trim"} <= set(told)


def test_every_note_code_is_documented():
    sources = [
        path.read_text(encoding="utf-8") for path in (ROOT / "tui_chat/library").glob("*.py")
    ]
    codes = re.findall(r'(?:Level\.\w+, |code = )"([a-z]+-[a-z-]+)"', "".join(sources))
    assert len(set(codes)) > 10
    assert [code for code in codes if f"`{code}`" not in DOCS] == []


def test_the_example_is_a_preset_without_faults():
    example = re.search(r"```json\n(.*?)```", DOCS, re.DOTALL)
    assert example
    assert json.loads(example[1])["name"] == "tutor"
    assert check_preset(example[1], "tutor") == ()
