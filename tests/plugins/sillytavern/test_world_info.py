"""Lorebook files of SillyTavern: world info, read and edited."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.support.file_strategies import json_values
from tests.support.lorebooks import check_places, lorebook_text, read
from tests.support.tables import each_row
from tui_chat.errors import FieldError, InputError
from tui_chat.library.lorebooks import (
    load_lorebook,
    parse_lorebook,
    read_lorebook,
)
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.plugins.sillytavern.lore.edits import (
    add_entry,
    change_entry,
    remove_entry,
)


def taken_over(**entry: Any) -> LorebookEntry:
    text = json.dumps({"entries": {"7": {"key": ["k"], "content": "c", **entry}}})
    return parse_lorebook(text, "w.json", "w").entries[0]


def told(**entry: Any) -> list[tuple[str, str]]:
    text = json.dumps({"entries": {"7": {"key": ["k"], "content": "c", **entry}}})
    return [(f.level.value, f.path) for f in read_lorebook(text, "w").file.findings()]


@each_row(
    ("given", "fields"),
    [
        ({}, {}),
        ({"comment": "Fox", "order": 5, "constant": True, "disable": True},
         {"name": "Fox", "order": 5, "constant": True, "enabled": False}),
        ({"keysecondary": ["a"], "selective": True, "selectiveLogic": 3},
         {"secondary_keys": ("a",), "secondary_logic": "and_all"}),
        ({"keysecondary": ["a"], "selective": False}, {}),
        ({"position": 4, "depth": 2, "role": 1},
         {"position": "depth", "insertion_point": -2, "role": "user"}),
        ({"position": 4, "depth": 0, "role": 2},
         {"position": "depth", "anchor_point": "after", "role": "assistant"}),
        ({"position": 0, "role": 1}, {}),
        ({"position": 2}, {"position": "note_top", "insertion_point": -4}),
        ({"position": 5}, {"position": "examples_top"}),
        ({"position": 7, "outletName": "a"}, {"position": "outlet", "outlet": "a"}),
        ({"group": "a, b", "groupWeight": 5}, {"groups": ("a", "b"), "group_weight": 5}),
        ({"sticky": 3, "cooldown": 2, "delay": 1}, {"sticky": 3, "cooldown": 2, "delay": 1}),
        ({"triggers": ["swipe", "x"]}, {"triggers": ("swipe",)}),
        ({"characterFilter": {"names": ["Ada"], "isExclude": True}},
         {"characters": ("Ada",), "characters_excluded": True}),
        ({"matchScenario": True}, {"sources": ("scenario",)}),
        ({"scanDepth": 3, "caseSensitive": True, "matchWholeWords": False},
         {"scan_depth": 3, "case_sensitive": True, "whole_words": False}),
        ({"preventRecursion": True, "excludeRecursion": True, "delayUntilRecursion": 2},
         {"prevent_recursion": True, "exclude_recursion": True, "delay_until_recursion": 2}),
        ({"probability": 40, "useProbability": True}, {"probability": 40.0}),
        ({"probability": 40, "ignoreBudget": True}, {"ignore_budget": True}),
        ({"probability": 40, "useProbability": False}, {}),
        ({"content": "@@activate\nc"}, {"constant": True}),
        ({"content": "@@dont_activate\nc"}, {"enabled": False}),
        ({"content": "c\n@@activate"}, {"content": "c\n@@activate"}),
        ({"key": "a, b"}, {"keys": ("a", "b")}),
        ({"vectorized": True, "group": ""}, {"extras": {"vectorized": True}}),
        ({"content": "@@activate"}, {"constant": True, "content": "@@activate"}),
    ],
)  # fmt: skip
def test_world_info_is_imported(given: dict[str, Any], fields: dict[str, Any]):
    place = "before_character"
    expected = {"id": "7", "content": "c", "keys": ("k",), "position": place, **fields}
    assert taken_over(**given) == LorebookEntry(**expected)


ENTRIES = [
    {"uid": 7, "key": ["fox"], "content": "a", "role": 0, "position": 4, "depth": 2,
     "delayUntilRecursion": 0, "scanDepth": None, "disable": False},
    {"uid": 7, "key": ["owl"], "content": "@@activate\nb", "vectorized": True},
    {"key": [], "constant": True, "content": "c", "comment": "Always"},
    {"disable": True, "content": "d"},
]  # fmt: skip


def test_world_info_may_be_a_list():
    of_list = read_lorebook(json.dumps({"name": "W", "entries": ENTRIES}), "w")
    of_object = read_lorebook(
        json.dumps({"name": "W", "entries": dict(zip("7abc", ENTRIES, strict=True))}), "w"
    )
    assert of_list.book is not None
    assert of_object.book is not None
    assert [entry.id for entry in of_list.book.entries] == ["7", "entry-2", "entry-3", "entry-4"]
    for ours, theirs in zip(of_list.book.entries, of_object.book.entries, strict=True):
        assert replace(ours, id="") == replace(theirs, id="")
    told = [(finding.sentence, finding.level) for finding in of_list.file.findings()]
    assert told == [(f.sentence, f.level) for f in of_object.file.findings()]
    assert "$.entries[1].vectorized" in [finding.path for finding in of_list.file.findings()]
    assert parse_lorebook(lorebook_text(of_list.book), "again", "w") == of_list.book


def test_a_list_may_mix_our_entries_and_sillytaverns():
    book = parse_lorebook(
        json.dumps([{"keys": ["a"], "wholeWords": False}, {"key": ["b"]}, {"content": "c"}]), "", ""
    )
    assert [(entry.id, entry.keys) for entry in book.entries] == [
        *(("entry-1", ("a",)), ("entry-2", ("b",)), ("entry-3", ())),
    ]
    both = read_lorebook(json.dumps([{"keys": ["a"], "key": ["b"], "wholeWords": False}]), "")
    assert both.book is not None
    assert both.book.entries[0].keys == ("a",), "it is one of ours, with a key too many"
    assert [finding.code for finding in both.file.findings()] == ["misspelled-key"]


@each_row("fault", [3, None, "x", ["k"]])
def test_a_list_of_world_info_is_read_completely_or_refused(fault: object):
    with pytest.raises(InputError, match=r"\$\.entries\[1\]"):
        parse_lorebook(json.dumps({"entries": [ENTRIES[0], fault]}), "b.json", "b")


@each_row(
    ("given", "expected"),
    [
        ({}, []),
        ({"vectorized": True}, [("warning", '$.entries["7"].vectorized')]),
        ({"sticky": "3"}, [("warning", '$.entries["7"].sticky')]),
        ({"characterFilter": {"isExclude": False, "names": [], "tags": []}}, []),
        ({"order": "50"}, [("warning", '$.entries["7"].order')]),
        ({"order": True}, [("warning", '$.entries["7"].order')]),
        ({"position": 3}, []),
        ({"key": "a"}, [("info", '$.entries["7"]')]),
        ({"content": "@@depth 4\nc"}, [("warning", '$.entries["7"].content')]),
    ],
)
def test_unsupported_settings_are_reported(given: dict[str, Any], expected: list[tuple[str, str]]):
    assert told(**given) == expected


@given(json_values)
def test_world_info_of_any_shape_is_read_or_refused(value: Any):
    asked = ({"entries": {"0": value}}, {"entries": [value]}, {"entries": [{"uid": value}]})
    for whole in (value, {"entries": value}, *asked):
        found = read_lorebook(json.dumps(whole), "b")
        assert (found.book is None) == bool(found.file.errors())


def test_every_lorebook_of_the_corpus_is_read():
    files = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern" / "lorebooks"
    if not files.is_dir():
        pytest.skip("the corpus is not here")
    for path in files.glob("*.json"):
        assert load_lorebook(path).entries


# --- Edits of lorebook files in the form of world info ------------------------------------


WORLD = {
    "entries": {
        "3": {
            "uid": 3, "key": ["fox"], "keysecondary": [], "selective": True, "comment": "Fox",
            "content": "@@activate\n@@other\nRed.", "disable": False, "constant": False,
            "position": 4, "depth": 4, "role": 0, "vectorized": True, "useProbability": False,
            "probability": 30, "characterFilter": {"names": ["Ada"], "isExclude": False},
        },
    },
    "name": "World", "extensions": {"a": 1},
}  # fmt: skip


def test_an_entry_of_sillytavern_stays_one():
    file = read(WORLD)
    before = file.book.entries[0]
    assert before.constant, "by its decorator"
    edited = change_entry(file, 0, replace(before, content="Grey.", probability=50.0, sticky=2))
    entry = json.loads(edited.text)["entries"]["3"]
    assert entry == {
        **WORLD["entries"]["3"],
        "content": "@@activate\n@@other\nGrey.",
        "probability": 50,
        "useProbability": True,
        "sticky": 2,
    }
    off = change_entry(file, 0, replace(before, constant=False))
    assert json.loads(off.text)["entries"]["3"]["content"] == "@@other\nRed."
    keys = change_entry(file, 0, replace(before, secondary_keys=("owl",)))
    assert json.loads(keys.text)["entries"]["3"]["keysecondary"] == ["owl"]


def test_a_new_entry_beside_those_of_sillytavern_is_one_too():
    file = read(WORLD)
    assert file.is_world_info
    added = add_entry(file, replace(file.book.entries[0], constant=False))
    assert [each.id for each in added.book.entries] == ["3", "4"]
    assert json.loads(added.text)["entries"]["4"]["uid"] == 4
    assert json.loads(remove_entry(added, added.book.entries[1]).text) == WORLD


def test_what_the_form_of_the_file_cannot_express_is_refused_by_name():
    file = read(WORLD)
    after = replace(file.book.entries[0], anchor_target="style", insertion_point=None, position="")
    with pytest.raises(
        FieldError, match="SillyTavern's form of a lorebook cannot express"
    ) as error:
        change_entry(file, 0, after)
    assert error.value.field in ("anchor_target", "position")


def test_each_place_of_the_form_is_the_place_of_an_entry_of_sillytavern():
    check_places(read(WORLD), is_foreign=True)
