"""What is said of each lore entry: why it is active, or what held it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.context.requests import ENDPOINT
from tui_chat.context import Inputs
from tui_chat.context.lorebooks.explanation import explain_lorebooks
from tui_chat.models.chat_settings import ChatSettings
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.policies import Policies
from tui_chat.models.preset import Preset
from tui_chat.models.role import Role
from tui_chat.models.settings import LoreRules
from tui_chat.tokens import counter_for


def outcome(policies: Policies, **fields: Any) -> tuple[bool, str]:
    one = LorebookEntry("x", **{"content": "Foxes are red.", "keys": ("fox",), **fields})
    rival = LorebookEntry("y", "Owls.", ("fox",), groups=("g",), group_override=True, order=999)
    inputs = Inputs(
        ENDPOINT,
        Preset("p", policies=policies),
        (Message("user", "A wolf.", "1"), Message("assistant", "Yes.", "2")),
        "A fox!",
        role=Role("r", "Ada"),
        lorebooks=(Lorebook("b", (one, rival)),),
        chat=ChatSettings(lore=LoreRules(token_budget=30)),
    )
    found = explain_lorebooks(inputs, counter_for("gpt-4o"))
    assert [(each.book, each.entry) for each in found] == [("b", "x"), ("b", "y")]
    assert found[1].active
    return found[0].active, found[0].sentence


@pytest.mark.parametrize("policies", [Policies(), Policies(depths="joined")])
@pytest.mark.parametrize(
    ("fields", "active", "sentence"),
    [
        ({}, True, "This lore entry is active because “fox” occurs in the draft."),
        ({"constant": True}, True, "This lore entry is always active."),
        ({"enabled": False}, False, "It is disabled."),
        ({"keys": ()}, False, "It has no keys and is not always active."),
        ({"keys": ("wolf",)}, False, "None of its keys occurs in the newest 2 messages."),
        ({"keys": ("wolf",), "scan_depth": 3}, True,
         "This lore entry is active because “wolf” occurs in message “A wolf.”."),
        ({"scan_depth": 0}, False, "Its scan depth is 0, so nothing is searched for its keys."),
        ({"secondary_keys": ("owl", "elk"), "secondary_logic": "and_all"}, False,
         "“fox” occurs in the draft, but its condition is not met: all of “owl”, “elk”."),
        ({"triggers": ("quiet",)}, False,
         "It is only active with quiet, although “fox” occurs in the draft."),
        ({"characters": ("Bob",)}, False,
         "It is not active with the role Ada, although “fox” occurs in the draft."),
        ({"delay": 9}, False,
         "It is not active before there are 9 messages, although “fox” occurs in the draft."),
        ({"probability": 0.0}, False,
         "Its probability of 0 % was not drawn, although “fox” occurs in the draft."),
        ({"groups": ("g",)}, False,
         "Of its group “g”, “fox” was chosen, although “fox” occurs in the draft."),
        ({"content": "word " * 40}, False,
         "It does not fit into the token budget of lore, although “fox” occurs in the draft."),
    ],
)  # fmt: skip
def test_the_outcome_of_an_entry(
    policies: Policies, fields: dict[str, Any], active: bool, sentence: str
):
    assert outcome(replace(policies), **fields) == (active, sentence)
