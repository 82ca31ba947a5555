"""What is said of lore entries: active or not, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.contexts import ENDPOINT
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile, Role
from tui_chat.models.settings import LoreRules
from tui_chat.plugins.sillytavern.lore.outcomes import LoreOutcome, lore_outcomes
from tui_chat.plugins.sillytavern.lore.search import EntryState

NO_POLICIES: Mapping[str, Any] = {}


def outcomes(inputs: Inputs) -> list[LoreOutcome]:
    return list(lore_outcomes(inputs).entries)


def outcome(policies: Mapping[str, Any] = NO_POLICIES, **fields: Any) -> tuple[bool, str]:
    one = LorebookEntry("x", **{"content": "Foxes are red.", "keys": ("fox",), **fields})
    rival = LorebookEntry("y", "Owls.", ("fox",), groups=("g",), group_override=True, order=999)
    inputs = Inputs(
        ENDPOINT,
        Preset("p", policies=policies),
        (Message.of("user", "A wolf.", "1"), Message.of("assistant", "Yes.", "2")),
        "A fox!",
        role=Role("r", "Ada"),
        lorebooks=(Lorebook("b", (one, rival)),),
        settings=SessionSettings(lore=LoreRules(token_budget=30)),
    )
    found = outcomes(inputs)
    assert [(each.book.name, each.entry.id) for each in found] == [("b", "x"), ("b", "y")]
    assert found[1].state is EntryState.ACTIVE
    return found[0].state is EntryState.ACTIVE, found[0].sentence


def explained(*entries: LorebookEntry, draft: str = "", **fields: Any) -> list[LoreOutcome]:
    """What is said of entries in a chat of Mirek with Ada."""
    inputs = inputs_with(*entries, draft=draft, **fields)
    return outcomes(inputs)


def inputs_with(*entries: LorebookEntry, draft: str = "", **fields: Any) -> Inputs:
    return Inputs(
        ENDPOINT,
        Preset("p", policies=fields.pop("policies", NO_POLICIES)),
        (Message.of("user", "A wolf.", "1"), Message.of("assistant", "Yes.", "2")),
        draft,
        role=Role("r", "Ada"),
        profile=Profile("Mirek", ""),
        lorebooks=(Lorebook("b", entries, **{"scan_depth": 9, **fields}),),
    )


HELD_BACK = "“fox” occurs in the draft, but a condition, its group or a budget holds it back."
OUTCOMES: list[tuple[dict[str, Any], bool, str]] = [
    ({}, True, "This lore entry is active because “fox” occurs in the draft."),
    ({"constant": True}, True, "This lore entry is always active."),
    ({"enabled": False}, False, ""),
    ({"keys": ("wolf",)}, False, ""),
    ({"keys": ("wolf",), "scan_depth": 3}, True,
     "This lore entry is active because “wolf” occurs in message “A wolf.”."),
    ({"secondary_keys": ("owl", "elk"), "secondary_logic": "and_all"}, False, HELD_BACK),
    ({"triggers": ("quiet",)}, False, HELD_BACK),
    ({"characters": ("Bob",)}, False, HELD_BACK),
    ({"delay": 9}, False, HELD_BACK),
    ({"probability": 0.0}, False, HELD_BACK),
    ({"groups": ("g",)}, False, HELD_BACK),
    ({"content": "word " * 40}, False, HELD_BACK),
]  # fmt: skip
