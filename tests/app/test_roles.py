"""Roles: chosen, edited, disabled, and those of sessions."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from textual.widgets import Button, Input, Static

from tests.support.app import make_app, opened, say, until, workspace_of
from tests.support.drawings import drawing
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row
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


# --- A disabled role: what saving and importing it says, and what choosing it says --------


CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Mira", "description": "She keeps the light.", "first_mes": "Ahoy!"},
}


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def test_saving_a_disabled_role_says_how_to_enable_it(tmp_path: Path):
    card = tmp_path / "mira.json"
    card.write_text(json.dumps(CARD), encoding="utf-8")
    async with open_screen(tmp_path) as screen:
        await send(screen, f"/import {card}")
        await screen.sees("“Mira” is now a role", "Start a session with it.")
        await send(screen, "/roles")
        await screen.sees("Write or edit a role")
        await screen.type("Mira")
        await screen.press("enter")
        await screen.sees("Role: Mira", "Available for new sessions")
        await screen.click_on("Available for new sessions")
        await screen.press("ctrl+s")
        await screen.sees("Role “Mira” saved. It is disabled: /roles enables it.")

        await send(screen, "/role Mira")
        await screen.sees("The role “Mira” is disabled.", "/roles")
        await screen.press("ctrl+u")
        card.write_text(json.dumps(CARD) + " ", encoding="utf-8")
        await send(screen, f"/import {card}")
        await screen.sees("“Mira” is now a role", "It is disabled: /roles enables it.")


# --- Sessions with a role -----------------------------------------------------------------


PROMPT = "You teach mathematics."


async def begin_session(folder: Path, provider: Provider) -> None:
    """Begin a session with the role Math teacher."""
    (folder / "roles").mkdir()
    teacher = {"roleId": "teacher", "name": "Math teacher", "systemPrompt": PROMPT}
    (folder / "roles" / "teacher.json").write_text(json.dumps(teacher))
    async with open_screen(folder, config=provider.config()) as screen:
        await send(screen, "/role Math teacher")
        await screen.sees("Math teacher")
        await send(screen, "1+1=?")
        await screen.has_messages(2)
        await screen.loses("Esc stop")
        assert "Math teacher: 1+1=?" in screen.lines[0]


def lose_role(folder: Path, how: str) -> None:
    """Change the database as another window does that disables or deletes the role."""
    with closing(sqlite3.connect(folder / "chat.db")) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        if how == "disabled":
            connection.execute("UPDATE roles SET status = 'disabled' WHERE role_id = 'teacher'")
        else:
            connection.execute("UPDATE sessions SET lost_role = 'Math teacher'")
            connection.execute("DELETE FROM roles WHERE role_id = 'teacher'")


@each_row("how", ["disabled", "deleted"])
async def test_nothing_is_sent_with_a_lost_role_until_one_goes_on_without_it(
    tmp_path: Path, how: str
):
    with Provider(chat_text("Two.")) as provider:
        await begin_session(tmp_path, provider)
        assert PROMPT in str(provider.bodies[-1])
        lose_role(tmp_path, how)
        async with open_screen(tmp_path) as screen:
            await screen.has_messages(2)
            await screen.sees(f"role {how}")
            await send(screen, "2+2=?")
            await screen.sees(how, "o on without it", "new session")
            await screen.until(lambda: bool(screen.lines_with("│ 2+2=?")), "It was not given back")
            await screen.press("ctrl+r")
            await screen.rests()
            assert len(provider.received) == 1

            await screen.press("ctrl+u")
            await send(screen, "/role")
            await screen.sees("Go on without a role")
            await screen.press("enter")
            await screen.sees("continues without its role")
            await send(screen, "3+3=?")
            await screen.has_messages(4)
            await screen.loses("Esc stop")
        assert PROMPT not in str(provider.bodies[-1])
        async with open_screen(tmp_path) as screen:
            await screen.has_messages(4)
            assert f"role {how}" not in screen.text
            await send(screen, "4+4=?")
            await screen.has_messages(6)


async def test_a_session_without_a_chosen_role_has_its_first_words_as_its_title(tmp_path: Path):
    words = "a rather long first message that no title of sixty characters could ever hold whole"
    with Provider(chat_text("Two.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(300, 45)) as screen:
            await send(screen, words)
            await screen.has_messages(2)
            assert words in screen.lines[0]


async def test_a_fork_is_told_from_its_original_by_its_title(tmp_path: Path):
    with Provider(chat_text("Two.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "count")
            await screen.has_messages(2)
            await screen.loses("Esc stop")
            await screen.press("shift+tab", "f")
            await screen.sees("Forked")
            assert "Fork of count" in screen.lines[0]
