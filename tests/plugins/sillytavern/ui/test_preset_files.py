"""Presets of SillyTavern in the app: files, policies, pictures; the form of a role."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from textual.containers import Vertical
from textual.pilot import Pilot
from textual.widgets import Button, Input, TextArea

from tests.plugins.sillytavern.test_characters import ada
from tests.support import golden
from tests.support.app import asked, make_app, opened, until
from tests.support.pictures import Album
from tests.support.preset_app import (
    app_with,
    at_rest,
    body,
    dialog_text,
    edited,
    editing,
    ids,
    ids_in,
    preset_of,
    press,
    said_yes,
)
from tui_chat.library.presets import dump_preset
from tui_chat.models.role import Character
from tui_chat.plugins.sillytavern.policies import Policies, policies_of
from tui_chat.plugins.sillytavern.presets import import_preset
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.dialogs.roles import RoleForm
from tui_chat.ui.presets.dialogs import TextDialog
from tui_chat.ui.widgets.form_fields import ChoiceSelect


async def more(pilot: Pilot[None], words: str) -> None:
    """Choose from what can be done with preset files."""
    await pilot.press("o")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
    await press(pilot, *words, "enter")


async def test_presets_are_copied_renamed_and_deleted(tmp_path: Path) -> None:
    async with editing(tmp_path) as (pilot, pane):
        await press(pilot, "d")
        await more(pilot, "save as")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        await press(pilot, "enter")
        assert (tmp_path / "presets" / "mine copy.json").is_file()
        assert ids(pane)[0] == "world"
        assert ids_in(tmp_path / "presets" / "mine.json")[0] == "rule"

        await press(pilot, "Y")
        await more(pilot, "rename")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        await press(pilot, *(["backspace"] * 9), *"other", "enter")
        assert not (tmp_path / "presets" / "mine copy.json").exists()
        assert pilot.app.workspace.state.preset_name == "other"  # type: ignore[attr-defined]
        assert "world-2" in ids(pane), "what was not saved goes along"
        assert "world-2" not in ids_in(tmp_path / "presets" / "other.json")

        await more(pilot, "delete")
        await said_yes(pilot)
        assert not (tmp_path / "presets" / "other.json").exists()
        assert pilot.app.workspace.state.preset_name == "plain"  # type: ignore[attr-defined]

        theirs = tmp_path / "calm.json"
        prompts = [
            {"identifier": name, "content": "Be calm."} for name in ("main", *map(str, range(30)))
        ]
        rows = [{"identifier": each["identifier"], "enabled": True} for each in prompts]
        order = [{"character_id": 100001, "order": rows}]
        theirs.write_text(json.dumps({"prompts": prompts, "prompt_order": order}))
        await more(pilot, "import")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        pilot.app.screen.query_one(Input).value = str(theirs)
        await press(pilot, "enter")
        await until(pilot, lambda: "Be calm." in body(pane))
        assert pilot.app.workspace.state.preset_name == "calm"  # type: ignore[attr-defined]
        assert isinstance(pilot.app.screen, TextDialog)
        told = dialog_text(pilot)
        assert "Import of “calm”" in str(pilot.app.screen.query_one(Vertical).border_title)
        assert "does not send custom prompts with “system_prompt”: “0”" in told
        assert "and 25 more." in told, "not one line for each of them"
        await press(pilot, "escape")
        assert (tmp_path / "presets" / "calm.json").is_file()
        await more(pilot, "report")
        assert isinstance(pilot.app.screen, TextDialog), "it can be seen again"
        assert dialog_text(pilot) == told
        await press(pilot, "escape")

        await press(pilot, "space")
        await more(pilot, "export")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt))
        out = tmp_path / "out.json"
        pilot.app.screen.query_one(Input).value = str(out)
        await press(pilot, "enter")
        rows[0]["enabled"] = False
        assert json.loads(out.read_text()) == json.loads(theirs.read_text()) | {
            "prompt_order": [{"character_id": 100001, "order": rows}]
        }


# --- The form of the policies of a preset -------------------------------------------------


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


# --- The parts of a role of a card in its form --------------------------------------------


async def test_the_character_of_a_role_is_edited_from_its_form(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await workspace.store.roles.save(ada())
        await workspace.roles.refresh()

        async def character() -> Character:
            role = await workspace.store.roles.get("ada")
            assert role is not None
            assert role.character is not None
            return role.character

        await app.run_action("sessions.edit_roles")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        role_form = app.screen
        role_form.query_one("#model", Input).value = "echo"
        role_form.query_one("#part-character", Button).press()
        await until(pilot, lambda: isinstance(app.screen, FieldsForm))
        await until(pilot, lambda: bool(app.screen.query("#scenario")))
        assert app.screen.query_one("#description", TextArea).text == "{{char}} is a clerk."
        app.screen.query_one("#scenario", TextArea).text = "A shop."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is role_form)
        assert (await character()).scenario == "A shop."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await until(pilot, lambda: any(role.model == "echo" for role in workspace.state.roles))
        assert (await character()).scenario == "A shop."


# --- Pictures of the editor with a preset of SillyTavern ----------------------------------


TAVERN: dict[str, object] = golden.read(Path(__file__).parent / "data" / "tale.json")


async def test_a_preset_and_its_policies(album: Album, tmp_path: Path):
    app = app_with(tmp_path)
    preset = import_preset(TAVERN, "tale").preset
    (tmp_path / "presets" / "tale.json").write_text(dump_preset(preset))
    async with album.of(app) as pilot:
        pane = await edited(pilot, "tale")
        await press(pilot, *(["down"] * 4))
        await at_rest(pilot, pane)
        await album.take(pilot, "preset")
        await press(pilot, "s")
        await at_rest(pilot, pane)
        await album.take(pilot, "policies")
