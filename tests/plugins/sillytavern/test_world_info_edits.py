"""Edits of lorebook files in the form of world info."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.lorebooks import check_places, read
from tui_chat.errors import FieldError
from tui_chat.plugins.sillytavern.lore.edits import (
    add_entry,
    change_entry,
    remove_entry,
)

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
