"""What is said of each lore entry: why it is active, or what held it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.lore_outcomes import OUTCOMES, explained, inputs_with, outcome
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import SessionSettings
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.settings import LoreRules
from tui_chat.plugins.sillytavern.lore.outcomes import lore_json, lore_outcomes


def test_the_newest_place_of_a_key_is_named():
    entry = LorebookEntry("x", "F", ("wolf", "fox"))
    [found] = explained(entry, draft="A fox.")
    assert found.sentence == "This lore entry is active because “fox” occurs in the draft."
    [found] = explained(entry)
    assert found.sentence == "This lore entry is active because “wolf” occurs in message “A wolf.”."
    assert found.message_id == "1"
    later = LorebookEntry("y", "An elk.", ("fox",), name="Elks")
    found = explained(replace(entry, keys=("elk",)), later, draft="A fox.")
    assert found[0].sentence == (
        "This lore entry is active because “elk” occurs in the lore entry “Elks”."
    )


def test_a_macro_in_a_key_stands_for_its_name():
    [found] = explained(LorebookEntry("x", "F", ("{{user}}",)), draft="I am Mirek.")
    assert "because “Mirek” occurs in the draft." in found.sentence


def test_active_entries_have_tokens_and_a_budget_leaves_others_out():
    entries = (
        LorebookEntry("x", "Foxes are red.", ("fox",)),
        LorebookEntry("z", "word " * 40, ("fox",), order=1),
        LorebookEntry("big", "word " * 50, ("fox",), order=0, ignore_budget=True),
    )
    found = explained(*entries, draft="A fox, an owl.", token_budget=30)
    assert [each.tokens > 0 for each in found] == [True, False, True]
    rules = SessionSettings(lore=LoreRules(token_budget=500))
    all_found = lore_outcomes(replace(inputs_with(*entries, draft="A fox."), settings=rules))
    assert (all_found.used, all_found.limit) == (sum(e.tokens for e in all_found.entries), 500)


def test_what_becomes_of_entries_as_json():
    entries = (LorebookEntry("x", "F", ("fox",), name="Fox"), LorebookEntry("y", "O", ("owl",)))
    request = inputs_with(*entries, draft="A fox.")
    states = [each["state"] for each in lore_json(compose(request))["entries"]]
    assert states == ["active", "absent"]


@each_row(("fields", "active", "sentence"), OUTCOMES)
def test_the_outcome_of_an_entry(fields: dict[str, Any], active: bool, sentence: str):
    assert outcome(**fields) == (active, sentence)
