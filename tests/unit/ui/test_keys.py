"""Names of keys, as they are written and as they are shown."""

from __future__ import annotations

import pytest

from tui_chat.ui.keys import DEFAULT_KEYS, NO_KEY, insert_keys, key_name, parse_key


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("ctrl+n", "ctrl+n"),
        ("Ctrl+N", "ctrl+n"),
        ("Control+Shift+Left", "ctrl+shift+left"),
        ("shift + alt + F5", "alt+shift+f5"),
        ("Esc", "escape"),
        ("Ctrl+↑", "ctrl+up"),
        ("PgUp", "pageup"),
        ("?", "question_mark"),
        ("full_stop", "full_stop"),
        ("Ctrl+/", "ctrl+slash"),
        ("g", "g"),
        ("G", "G"),
        ("shift+g", "G"),
        ("漢", "漢"),
        ("ctrl", ""),
        ("ctrl+", ""),
        ("crtl+n", ""),
        ("f99", ""),
        ("", ""),
    ],
)
def test_spellings_of_keys_are_understood(written: str, key: str):
    if key:
        assert parse_key(written) == key
        assert parse_key(key_name(key)) == key
    else:
        with pytest.raises(ValueError, match="there is no key"):
            parse_key(written)


def test_a_hint_leaves_out_what_has_no_key():
    keys = DEFAULT_KEYS | {"sessions": NO_KEY}
    assert insert_keys("{help} help · {sessions} sessions · r again", keys) == "F1 help · r again"
    assert insert_keys("{sessions} shows them", keys) == "the palette shows them"


@pytest.mark.parametrize(
    ("key", "name"),
    [("ctrl+n", "Ctrl+N"), ("escape", "Esc"), ("g", "g"), ("G", "G"), ("ctrl+up", "Ctrl+↑")],
)
def test_names_of_keys(key: str, name: str):
    assert key_name(key) == name
