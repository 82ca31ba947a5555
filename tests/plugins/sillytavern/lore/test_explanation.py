"""What is said of each lore entry: why it is active, or what held it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.lore_outcomes import (
    OUTCOMES,
    explained,
    inputs_with,
    outcome,
    outcomes,
)
from tests.support.tables import each_row
from tui_chat.context import SessionSettings, build
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.settings import LoreRules
from tui_chat.plugins.sillytavern.lore.explanation import LoreExplanation
from tui_chat.tokens import counter_for


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


def test_active_entries_have_tokens_and_budgets_say_what_is_used():
    entries = (
        LorebookEntry("x", "Foxes are red.", ("fox",)),
        LorebookEntry("z", "word " * 40, ("fox",), order=1),
        LorebookEntry("big", "word " * 50, ("fox",), order=0, ignore_budget=True),
    )
    found = explained(*entries, draft="A fox, an owl.", token_budget=30)
    assert [each.tokens > 0 for each in found] == [True, False, True]
    request = inputs_with(*entries, draft="A fox.", token_budget=30)
    explanation = LoreExplanation(request, counter_for("gpt-4o"))
    assert explanation.budgets() == (("b", found[0].tokens, 30),)
    rules = SessionSettings(lore=LoreRules(token_budget=500))
    explanation = LoreExplanation(replace(request, settings=rules), counter_for("gpt-4o"))
    both = found[0].tokens + found[2].tokens
    assert explanation.budgets() == (("", both, 500), ("b", found[0].tokens, 30))


@each_row("system_placement", ["hoist", "in_place"])
@each_row(
    ("fields", "place", "kind"),
    [
        ({}, "before the history", "skeleton"),
        ({"position": "before_character"}, "before the history", "skeleton"),
        ({"insertion_point": -2}, "depth 2", "depth"),
        ({"anchor_point": "after"}, "after the history", "after"),
        ({"anchor_target": "world"}, "after “world”", "after"),
        ({"anchor_point": "before", "anchor_target": "world"}, "before “world”", "before"),
        ({"anchor_target": "off"}, "before the history", "skeleton"),
        ({"anchor_target": "nowhere"}, "before the history", "skeleton"),
    ],
)
def test_the_place_of_an_active_entry_is_that_in_the_context(
    system_placement: Any, fields: dict[str, Any], place: str, kind: str
):
    for role in ("system", "user"):
        entry = LorebookEntry("x", "F", constant=True, role=role, **fields)
        anchors = (
            PresetMessage("world", type="placeholder"),
            PresetMessage("off", type="placeholder", enabled=False),
            PresetMessage("h", type="chat_history"),
        )
        preset = Preset("p", anchors, system_placement=system_placement)
        request = replace(inputs_with(entry, draft="Hi."), preset=preset)
        [found] = outcomes(request)
        turns = build(request, counter_for).turns
        [placement] = [turn.placement for turn in turns if turn.origin.id == "b/x"]
        is_first = role == "system" and system_placement == "hoist"
        assert (found.place, placement.kind) == (
            ("with the system messages", "system") if is_first else (place, kind)
        )


@each_row(("fields", "active", "sentence"), OUTCOMES)
def test_the_outcome_of_an_entry(fields: dict[str, Any], active: bool, sentence: str):
    assert outcome(**fields) == (active, sentence)
