"""The form of the policies of a preset."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from tests.support.preset_app import (
    editing,
    preset_of,
    press,
)
from tui_chat.plugins.sillytavern.policies import Policies, policies_of
from tui_chat.ui.presets.form import ChoiceSelect, FormField


async def test_policies_are_seen_and_changed_in_the_presets_form(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "s")
        for policy in fields(Policies):
            assert pane.settings.query(f"#settings-{policy.name}"), policy.name
        pane.settings.query_one("#settings-depths", ChoiceSelect).focus()
        await press(pilot, "enter", "down", "enter")
        assert policies_of(preset_of(pane)).depths == "joined"
        pane.settings.query_one("#settings-send_if_empty", FormField).focus()
        await press(pilot, *"a", "backslash", *"nb")
        assert policies_of(preset_of(pane)).send_if_empty == "a\nb"
        await press(pilot, "escape", "u")
        assert policies_of(preset_of(pane)).send_if_empty == ""
        await press(pilot, "u")
        assert preset_of(pane) == pane.edits.saved  # type: ignore[union-attr]
