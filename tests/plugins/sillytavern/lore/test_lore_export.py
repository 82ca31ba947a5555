"""Lorebooks as SillyTavern's world info, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import corpus
from tui_chat.library.lorebooks import parse_lorebook
from tui_chat.models.lorebook import (
    Lorebook,
    LorebookEntry,
    LorePosition,
    MatchSource,
    SecondaryLogic,
)
from tui_chat.models.preset import CHAT_HISTORY
from tui_chat.plugins.sillytavern.policies import GENERATION_KINDS
from tui_chat.plugins.sillytavern.world_info import export_lorebook, export_lorebook_text

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
