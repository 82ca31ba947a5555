"""Lorebook files of our own form: read, and edited, or the edit is refused."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.file_strategies import any_lorebooks
from tests.support.lorebooks import check_places, lorebook_text, read
from tests.support.tables import each_row
from tui_chat.errors import ChangedElsewhere, FieldError, InputError
from tui_chat.library.lorebooks import (
    load_lorebook,
    parse_lorebook,
)
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.plugins.sillytavern.lore.edits import (
    add_entry,
    change_entry,
    merge_entry,
    remove_entry,
)
from tui_chat.plugins.sillytavern.lore.fields import (
    entry_fields,
    entry_values,
    typed_entry,
)

OURS = """{
    "name": "Town",
    "comment": "mine",
    "scan_depth": 4,
    "entries": [
        {"id": "fox", "keys": ["fox"], "content": "Red.", "x-mood": 1, "secondary_keys": ["a"]},
        {"id": "owl", "keys": ["owl"], "content": "Wise.", "anchorTarget": "__CHAT_HISTORY__"}
    ]
}
"""


def test_an_edit_changes_the_keys_of_its_fields_and_nothing_else():
    file = read(OURS)
    after = replace(file.book.entries[0], content="Grey.", secondary_keys=("a", "b"), order=7)
    edited = change_entry(file, 0, after)
    assert edited.book.entries == (after, file.book.entries[1])
    expected = json.loads(OURS)
    expected["entries"][0] |= {"content": "Grey.", "secondary_keys": ["a", "b"], "order": 7}
    assert json.loads(edited.text) == expected
    assert edited.text.startswith('{\n    "name"'), "the indent stays"


def test_a_value_that_is_none_removes_its_key():
    file = read('{"entries": [{"id": "a", "scanDepth": 3, "scan_depth": 4}]}')
    edited = change_entry(file, 0, replace(file.book.entries[0], scan_depth=None))
    assert json.loads(edited.text) == {"entries": [{"id": "a"}]}


def test_entries_are_added_with_a_free_id_and_removed():
    file = read('[{"keys": ["a"]}, {"id": "entry-3"}]')
    added = add_entry(file, LorebookEntry("", "Text", ("b",), order=5))
    assert added.book.entries[2].id == "entry-4"
    expected = {"id": "entry-4", "content": "Text", "keys": ["b"], "order": 5}
    assert json.loads(added.text)[2] == expected
    assert json.loads(remove_entry(added, added.book.entries[2]).text) == json.loads(file.text)


@pytest.mark.slow
@given(any_lorebooks, any_lorebooks, st.integers(0, 9))
def test_any_entry_can_become_any_other(book: Lorebook, other: Lorebook, number: int):
    if not (book.entries and other.entries):
        return
    file = read(lorebook_text(book))
    number %= len(book.entries)
    before = book.entries[number]
    after = replace(other.entries[number % len(other.entries)], id=before.id, extras=before.extras)
    edited = change_entry(file, number, after)
    assert edited.book == replace(
        book, entries=(*book.entries[:number], after, *book.entries[number + 1 :])
    )


@given(any_lorebooks)
def test_a_form_that_nobody_typed_into_changes_nothing(book: Lorebook):
    for entry in book.entries:
        for is_foreign in (False, True):
            typed = typed_entry(entry_values(entry), entry, is_foreign=is_foreign)
            lines = [key for key in entry.keys if "\n" in key or not key]
            words = (*entry.groups, *entry.characters, *entry.character_tags)
            secondary = [key for key in entry.secondary_keys if "\n" in key or not key]
            if not (lines or secondary or any("," in w or w != w.strip() for w in words)):
                assert typed == entry


def test_every_field_has_its_place_in_the_form():
    shown = {each.name for row in entry_fields(is_foreign=False) for each in row}
    hidden = {"id", "extras", "position", "anchor_point"}  # said by `place`
    assert shown - {"place"} == {each.name for each in fields(LorebookEntry)} - hidden


@each_row(
    ("name", "text", "sentence"),
    [
        (
            "probability",
            "120",
            "percent: it must be a number from 0 to 100, not 120.",
        ),
        ("sticky", "x", "messages: it must be a whole number from 0, not “x”."),
        ("cooldown", "-1", "messages: it must be a whole number from 0, not -1."),
        ("order", "1.5", "must be a whole number"),
        ("triggers", "sometimes", "must be one of normal"),
        ("place", "depth", "needs a number"),
        ("place", "after_anchor", "needs the id of an anchor"),
        ("place", "outlet", "An outlet needs a name."),
    ],
)
def test_a_value_that_is_not_accepted_is_named(name: str, text: str, sentence: str):
    entry = LorebookEntry("a")
    with pytest.raises(FieldError) as error:
        typed_entry({**entry_values(entry), name: text}, entry, is_foreign=False)
    assert sentence in str(error.value)
    shown = {each.name for row in entry_fields(is_foreign=False) for each in row}
    assert error.value.field in shown


def test_each_place_of_the_form_is_the_place_of_the_entry():
    check_places(read(OURS), is_foreign=False)


def test_an_entry_that_another_program_changed_is_overwritten_only_if_asked():
    before = read(OURS).book.entries[0]
    file = read(OURS.replace("Red.", "Grey.").replace('"owl"', '"bird"'))
    after = replace(before, order=7, content="Blue.")
    with pytest.raises(ChangedElsewhere, match="changed this entry"):
        merge_entry(file, before, after)
    assert merge_entry(file, before, after, overwrite=True).book.entries[0] == after
    with pytest.raises(InputError, match="removed this entry"):
        merge_entry(file, LorebookEntry("gone"), LorebookEntry("gone"), overwrite=True)
    with pytest.raises(InputError, match="Another program changed this entry"):
        remove_entry(file, before)


# --- Lorebook files of our own form -------------------------------------------------------


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
