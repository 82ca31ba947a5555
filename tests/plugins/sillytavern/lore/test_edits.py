"""Lorebook files of our own form: read, edited, and exported as world info and back."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import corpus
from tests.support.file_strategies import any_lorebooks
from tests.support.lorebooks import check_places, lorebook_text, read
from tests.support.tables import each_row
from tui_chat.errors import ChangedElsewhere, FieldError, InputError
from tui_chat.library.lorebooks import (
    load_lorebook,
    parse_lorebook,
)
from tui_chat.models.lorebook import (
    Lorebook,
    LorebookEntry,
    LorePosition,
    MatchSource,
    SecondaryLogic,
)
from tui_chat.models.preset import CHAT_HISTORY
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
from tui_chat.plugins.sillytavern.policies import GENERATION_KINDS
from tui_chat.plugins.sillytavern.world_info import export_lorebook, export_lorebook_text

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


# --- Lorebooks as SillyTavern's world info, and back --------------------------------------


CORPUS = corpus.CORPUS / "sillytavern" / "lorebooks"
WORDS = st.lists(st.sampled_from(("fox", "/o.l/i", "a b")), max_size=2, unique=True).map(tuple)
COUNTS = st.integers(0, 5)
PLACES = st.one_of(
    st.sampled_from(
        [each for each in get_args(LorePosition) if each not in ("", "depth", "outlet")]
    ).map(
        lambda position: {
            "position": position,
            **({"insertion_point": -4} if position.startswith("note") else {}),
        }
    ),
    st.just({"position": "outlet", "outlet": "o"}),
    st.integers(1, 6).map(lambda depth: {"position": "depth", "insertion_point": -depth}),
    st.just({"position": "depth", "anchor_point": "after"}),
)


def entry(fields: dict[str, Any], place: dict[str, Any]) -> LorebookEntry:
    at_depth = place.get("position") == "depth"
    return LorebookEntry("", **{**fields, **place, **({} if at_depth else {"role": "system"})})


ENTRIES = st.builds(
    entry,
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(("", "Text.", "{{char}}\n@@activate")),
            "keys": WORDS,
            "name": st.sampled_from(("", "Name")),
            "enabled": st.booleans(),
            "constant": st.booleans(),
            "secondary_keys": WORDS,
            "secondary_logic": st.sampled_from(get_args(SecondaryLogic)),
            "role": st.sampled_from(("system", "user", "assistant")),
            "order": st.integers(-5, 200),
            "scan_depth": st.none() | COUNTS,
            "case_sensitive": st.none() | st.booleans(),
            "whole_words": st.none() | st.booleans(),
            "prevent_recursion": st.booleans(),
            "exclude_recursion": st.booleans(),
            "delay_until_recursion": COUNTS,
            "ignore_budget": st.booleans(),
            "probability": st.sampled_from((0.0, 12.5, 100.0)),
            "groups": st.sampled_from(((), ("a",), ("a", "b"))),
            "group_override": st.booleans(),
            "group_weight": COUNTS,
            "group_scoring": st.none() | st.booleans(),
            "sticky": COUNTS,
            "cooldown": COUNTS,
            "delay": COUNTS,
            "triggers": st.sampled_from(((), GENERATION_KINDS)),
            "characters": st.sampled_from(((), ("Ada",))),
            "character_tags": st.sampled_from(((), ("t",))),
            "characters_excluded": st.booleans(),
            "sources": st.sampled_from(((), get_args(MatchSource))),
        }
    ),
    PLACES,
)


@given(st.lists(ENTRIES, max_size=3))
@settings(max_examples=80)
def test_entries_come_back_from_world_info(entries: list[LorebookEntry]) -> None:
    numbered = tuple(replace(each, id=str(number)) for number, each in enumerate(entries))
    exported = export_lorebook(Lorebook("Town", numbered))
    again = parse_lorebook(exported.text, "x", "x")
    assert exported.notes == ()
    assert [replace(each, extras={}) for each in again.entries] == list(numbered)
    assert again.name == "Town"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="there is no corpus")
def test_world_info_is_exported_as_it_is() -> None:
    for path in sorted(CORPUS.iterdir()):
        text = path.read_text("utf-8")
        found = export_lorebook_text(text, path.name, path.stem)
        assert json.loads(found.text) == json.loads(text)


def test_unknown_keys_of_world_info_are_kept() -> None:
    listed = {"entries": [{"uid": 4, "key": ["a"], "mine": [1], "displayIndex": 3}], "own": True}
    for whole in (listed, {"entries": {"4": listed["entries"][0]}, "x": None}):  # type: ignore[index]
        text = json.dumps(whole)
        assert json.loads(export_lorebook_text(text, "x", "x").text) == whole


def test_what_holds_for_the_book_is_written_to_its_entries_or_named() -> None:
    entries = (
        LorebookEntry("a", "A", ("fox",), insertion_point=2),
        LorebookEntry("b", "B", ("owl",), anchor_point="after", anchor_target=CHAT_HISTORY),
        LorebookEntry("c", "C", ("elk",), anchor_point="before", anchor_target="spot"),
    )
    book = Lorebook("W", entries, 5, 300, recursive=False, whole_words=False)
    found = export_lorebook(book)
    first, second, _ = cast("dict[str, Any]", found.json["entries"]).values()
    assert (first["scanDepth"], first["matchWholeWords"], first["preventRecursion"]) == (
        5,
        False,
        True,
    )
    assert (second["position"], second["depth"]) == (4, 0)
    notes = "\n".join(found.notes)
    assert "“a”: a depth that counts from the oldest message" in notes
    assert "“c”: the anchor “spot”" in notes
    assert "token_budget 300" in notes
