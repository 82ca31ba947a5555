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
from tui_chat.ui.presets.settings import PolicyRow


async def test_policies_are_seen_and_changed_in_the_presets_form(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "p")
        rows = {row.policy: row for row in pane.settings.query(PolicyRow)}
        assert set(rows) == {each.name for each in fields(Policies)}
        depths, empty = rows["depths"].field, rows["send_if_empty"].field
        depths.focus()
        await press(pilot, "right")
        assert policies_of(preset_of(pane)).depths == "joined"
        empty.focus()
        await press(pilot, *"a", "backslash", *"nb")
        assert policies_of(preset_of(pane)).send_if_empty == "a\nb"
        await press(pilot, "escape", "u")
        assert policies_of(preset_of(pane)).send_if_empty == ""
        await press(pilot, "u")
        assert preset_of(pane) == pane.edits.saved  # type: ignore[union-attr]
