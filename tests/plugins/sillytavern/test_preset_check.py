"""Checks of presets with policies."""

from __future__ import annotations

from tests.support.preset_findings import HISTORY, told


def test_what_is_merged_or_waits_for_another_action_can_be_sent():
    policies = {"depths": "joined", "squashSystem": True, "postProcessing": "merge"}
    messages = [
        {"id": "a", "role": "system", "content": "A"},
        {"id": "b", "role": "system", "content": "B"},
        {"id": "c", "role": "system", "content": "{{incvar::turns}}{{setglobalvar::x::y}}"},
        {"id": "d", "role": "system", "content": "D", "triggers": ["continue"]},
        {"id": "g", "role": "system", "content": "", "cardField": "post_history"},
        HISTORY,
        {"id": "e", "role": "user", "content": "E", "insertionPoint": -1},
        {"id": "f", "role": "user", "content": "F", "insertionPoint": -1},
    ]
    codes = {code for _, code, _ in told(*messages, policies=policies, systemPlacement="in_place")}
    assert "never-sent" not in codes
    assert "empty-content" not in codes - {"blank-content"}
