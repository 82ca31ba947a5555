"""What is said of each lore entry, by our rules and SillyTavern's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.contexts import A1, ENDPOINT, HISTORY, LETTERS, ROLE, U1, U2, built, order, said
from tests.support.lore_outcomes import OUTCOMES, explained, inputs_with, outcome
from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings, build
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.preset import Preset
from tui_chat.models.role import Character
from tui_chat.models.settings import LoreRules, TextScript
from tui_chat.plugins.sillytavern.lore.outcomes import lore_json, lore_outcomes
from tui_chat.plugins.sillytavern.lore.rules import LORE_RULES, search_rules
from tui_chat.plugins.sillytavern.policies import Policies, policy_values


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


# --- Lorebooks with SillyTavern's rules ---------------------------------------------------


JOINED = Policies(depths="joined")


def test_rules_of_lorebooks_come_from_settings_else_they_are_sillytavern_s():
    own, other = Lorebook("own"), Lorebook("other")
    role = replace(ROLE, character=Character(book=own))
    imported = Preset("p", policies=policy_values(Policies(depths="joined")))
    plain = Inputs(ENDPOINT, Preset("p"), role=role, lorebooks=(other, own))
    joined = replace(plain, preset=imported)
    assert search_rules(plain) == replace(LORE_RULES, tiers=(0, 1))
    assert search_rules(joined) == replace(LORE_RULES, tiers=(0, 1))
    assert search_rules(replace(joined, lorebooks=(own,))) == LORE_RULES
    rules = SessionSettings(lore=LoreRules(token_budget=5, tiers=(1, 0)))
    for_chat = replace(joined, settings=rules)
    assert search_rules(for_chat) == LoreRules(token_budget=5, tiers=(1, 0))
    none = replace(plain, preset=imported, role=None, settings=SessionSettings(lore=LoreRules()))
    assert search_rules(none) == LoreRules(), "what a setting says is not replaced"


@each_row(("fields", "active", "sentence"), OUTCOMES)
def test_the_outcome_of_an_entry_with_sillytaverns_rules(
    fields: dict[str, Any], active: bool, sentence: str
):
    assert outcome(policy_values(JOINED), **fields) == (active, sentence)


def test_the_depth_of_lore_is_compared_with_that_of_scripts():
    script = TextScript("s", "/^lore/", "LORE", ("lore",), min_depth=0, max_depth=2)
    entries = (
        LorebookEntry("1", "lore lore", constant=True, position="depth", insertion_point=-1),
        LorebookEntry("2", "lore deep", constant=True, position="depth", insertion_point=-4),
    )
    preset = Preset(
        "p", (HISTORY,), policies=policy_values(Policies(depths="joined", expand_history=True))
    )
    inputs = Inputs(
        *(ENDPOINT, preset, (), "hi"),
        lorebooks=(Lorebook("b", entries),),
        settings=SessionSettings(scripts=(script,)),
    )
    turns = build(inputs, lambda _: LETTERS).turns
    assert {turn.text.plain for turn in turns} == {"LORE lore", "lore deep", "hi"}


def test_a_draft_of_attachments_is_the_newest_message_that_is_searched():
    picture = MediaBlock("image", mime="image/png", data="iVBORw0KGgo=")
    lines = HISTORY, said("[{{lastMessage}}|{{lastCharMessage}}]")
    book = Lorebook("b", (LorebookEntry("e", "LORE", keys=("A1",)),), scan_depth=1)
    stored = make_message("user", "", "x", parts=(picture,))
    given = {"lorebooks": (book,)}
    typed = built(*lines, history=(U1, A1), draft="", draft_parts=(picture,), **given)
    again = built(*lines, history=(U1, A1, stored), draft="", **given)
    assert order(typed) == order(again) == "U1 A1  [|A1]"
    assert order(built(*lines, history=(U1, A1), draft="", **given)) == "LORE U1 A1 [A1|A1]"


def test_the_answered_message_activates_lore_under_its_own_name():
    book = Lorebook("b", (LorebookEntry("e", "LORE", keys=("U2",)),))
    rules = [
        next(turn.placement.rule for turn in envelope.turns if turn.text.plain == "LORE")
        for envelope in (
            built(HISTORY, history=(U1, A1), draft="U2", lorebooks=(book,)),
            built(HISTORY, history=(U1, A1, U2), draft="", lorebooks=(book,)),
        )
    ]
    assert "occurs in the draft." in rules[0]
    assert "occurs in message “U2”." in rules[1]
