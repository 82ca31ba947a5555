"""The form of the policies of a preset."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from textual.widgets import Input

from tests.support.app import asked, until
from tests.support.preset_app import (
    editing,
    preset_of,
    press,
)
from tui_chat.plugins.sillytavern.policies import Policies, policies_of
from tui_chat.ui.widgets.choice_select import ChoiceSelect


async def test_policies_are_seen_and_changed_in_the_presets_form(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "s")
        await asked(pilot)
        form = pilot.app.screen
        for policy in fields(Policies):
            assert form.query(f"#{policy.name}"), policy.name
        form.query_one("#depths", ChoiceSelect).value = "joined"
        form.query_one("#send_if_empty", Input).value = "a\\nb"
        await press(pilot, "ctrl+s")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert policies_of(preset_of(pane)).depths == "joined"
        assert policies_of(preset_of(pane)).send_if_empty == "a\nb"
        await press(pilot, "u")
        await until(pilot, lambda: policies_of(preset_of(pane)).send_if_empty == "")
        assert preset_of(pane) == pane.edits.saved  # type: ignore[union-attr]
