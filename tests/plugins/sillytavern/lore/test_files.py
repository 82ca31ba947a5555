"""Lorebook files of our own form."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from tests.support.file_strategies import any_lorebooks
from tests.support.lorebooks import lorebook_text
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.library.lorebooks import (
    load_lorebook,
    parse_lorebook,
)
from tui_chat.models.lorebook import Lorebook, LorebookEntry


@given(any_lorebooks)
def test_every_field_of_a_lorebook_is_read(book: Lorebook):
    assert parse_lorebook(lorebook_text(book), "b", "other") == book


def test_both_spellings_and_a_bare_list(tmp_path: Path):
    path = tmp_path / "town.json"
    path.write_text('[{"keys": ["a"], "secondaryKeys": ["b"], "scan_depth": 3}]')
    entry = LorebookEntry("entry-1", keys=("a",), secondary_keys=("b",), scan_depth=3)
    assert load_lorebook(path) == Lorebook("town", (entry,))
    path.write_text(lorebook_text(Lorebook("town", (entry,))))
    assert load_lorebook(path) == Lorebook("town", (entry,))


@each_row(
    ("text", "words"),
    [
        ("3", "$ (line 1, column 1) must be a list of entries"),
        ("{}", "“entries” is missing"),
        ('{"entries": 3}', "$.entries (line 1, column 13) must be a list of objects, not 3"),
        ('[{"keys": "a"}]', "$[0].keys (line 1, column 11) must be a list of texts, not “a”"),
        ('[{"keys": [1]}]', "$[0].keys[0] (line 1, column 12) must be text, not 1"),
        (
            '[{"probability": 101}]',
            "$[0].probability (line 1, column 18) must be a number from",
        ),
        (
            '[{"scanDepth": -1}]',
            "$[0].scanDepth (line 1, column 16) must be a whole number from 0",
        ),
        ('{"entries": {"0": 3}}', '$.entries["0"] (line 1, column 19) must be an object'),
    ],
)
def test_a_fault_names_place_and_line(text: str, words: str):
    with pytest.raises(InputError) as caught:
        parse_lorebook(text, "b.json", "b")
    assert words in str(caught.value)
