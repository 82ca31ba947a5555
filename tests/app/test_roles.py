"""Roles on the screen: a new session asks for one; they are written and disabled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.widgets import Button, Input, Static

from tests.support.app import make_app, opened, say, until, workspace_of
from tests.support.drawings import drawing
from tui_chat.models.role import Character, Role
from tui_chat.models.settings import Settings
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import Confirm
from tui_chat.ui.dialogs.file_viewer import ImagePreview
from tui_chat.ui.dialogs.roles import RoleForm


async def test_a_new_session_takes_the_last_role_and_another_is_chosen_for_it(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        poet = await workspace.roles.save(Role("", "Poet", "Rhyme."))
        await workspace.sessions.new(poet.role_id)
        await say(pilot, "hello")
        await pilot.press("ctrl+n", *"text")
        await until(pilot, lambda: workspace.state.session is None)
        await until(pilot, lambda: app.query_one(Composer).text == "text")
        assert len(app.screen_stack) == 1, "nothing is asked"
        assert workspace.state.role.name == "Poet"
        await app.run_action("sessions.choose_role")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"assis", "enter")
        await until(
            pilot,
            lambda: workspace.state.role is not None and workspace.state.role.name == "Assistant",
        )


async def test_a_role_is_written_and_its_faults_are_reported(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await app.run_action("sessions.edit_roles")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"new role", "enter")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, RoleForm)  # it has no name yet
        await pilot.press(*"Critic", "tab", *"Judge.")
        temperature(app).value = "hot"
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, RoleForm)
        temperature(app).value = "0.5"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any(role.name == "Critic" for role in workspace.state.roles))
        critic = next(role for role in workspace.state.roles if role.name == "Critic")
        assert (critic.system_prompt, critic.settings.temperature) == ("Judge.", 0.5)
        said = "Role “Critic” saved. Use it with /role Critic."
        await until(pilot, lambda: app.notifications.log[-1].message == said)


async def test_the_form_keeps_the_settings_that_it_does_not_show(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        given = Settings(temperature=0.1, top_k=3, stop=("END",))
        assert await workspace.roles.save(Role("", "Poet", settings=given)) is not None
        await app.run_action("sessions.edit_roles")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"poet", "enter")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        temperature(app).value = "0.9"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) < 3)
        poet = next(role for role in workspace.state.roles if role.name == "Poet")
        assert poet.settings == replace(given, temperature=0.9)


async def test_a_role_is_deleted_and_its_sessions_stay(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        await app.run_action("sessions.edit_roles")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        app.screen.query_one("#delete", Button).press()
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        question = str(app.screen.query(Static).first().render())
        assert "The session bound to it stays" in question
        await pilot.press("tab", "enter")
        workspace = workspace_of(app)
        await until(pilot, lambda: not workspace.state.roles)
        assert len(workspace.state.sessions) == 1


def temperature(app: TuiChat) -> Input:
    return app.screen.query_one("#temperature", Input)


async def test_the_picture_of_a_card_is_named_and_shown(tmp_path: Path):
    picture = drawing("PNG", (400, 600))
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        ada = Role("ada", "Ada", character=Character(description="A clerk."))
        await workspace.store.roles.save(ada, picture)
        await workspace.roles.refresh()
        await app.run_action("sessions.edit_roles")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        form = app.screen
        form.query_one("#part-picture", Button).press()
        await until(pilot, lambda: isinstance(app.screen, ImagePreview))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is form)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert await workspace.roles.picture("ada") == picture
        assert not await workspace.roles.picture("assistant")
