"""The parts of a role of a card in its form."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Button, Input, TextArea

from tests.plugins.sillytavern.test_characters import ada
from tests.support.app import make_app, opened, until
from tui_chat.models.role import Character
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.dialogs.roles import RoleForm


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
