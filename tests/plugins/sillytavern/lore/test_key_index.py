"""The index of a lorebook's keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.patterns import SOURCES, TEXTS
from tui_chat.context.patterns import Pattern
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.plugins.sillytavern.lore.keys import KeyIndex


@given(SOURCES, st.lists(TEXTS | st.just(""), min_size=1, max_size=3))
def test_an_index_finds_what_its_patterns_find(source: str, texts: list[str]):
    keys = [f"/{source}/", "/[ab]_/", r"/\d/", "/^$/", "/a|b/i"]
    entries = tuple(LorebookEntry(str(n), keys=(key,)) for n, key in enumerate(keys))
    index = KeyIndex(Lorebook("b", entries), {})
    for text in texts:
        found = {index.keys[number].text for number in index.found(text)}
        in_all = {
            key.text for n, key in enumerate(index.keys) if index.occurs_in_all(n, key.text, text)
        }
        expected = {k for k in keys if Pattern(*k[1:].rsplit("/", 1)).occurs_in(text)}
        # A pattern that may occur across texts is not searched for in each.
        assert expected - {"/^$/", f"/{source}/"} <= found <= expected == in_all
