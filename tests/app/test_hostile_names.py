"""Names that others gave are shown and never obeyed, wherever they stand."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, say, until, workspace_of
from tests.support.hostile_names import EVIL, shown
from tui_chat.models.role import Role
from tui_chat.ui.chat.transcript import Transcript


async def test_hostile_names_are_displayed_harmlessly(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    name = EVIL.replace("/", "")
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / f"{name}.json").write_text('{"name": "x", "messages": []}')
    async with app.run_test(size=(160, 45), notifications=True) as pilot:
        await opened(pilot)
        workspace = workspace_of(app)
        role = await workspace.roles.save(Role("", EVIL, EVIL, model="echo"))
        await workspace.sessions.new(role.role_id)
        await say(pilot, f"{EVIL} pine")
        await workspace.presets.choose(name)
        await workspace.session_list.rename(workspace.state.session_id, EVIL)
        await workspace.session_list.organize((workspace.state.session_id,), folder=EVIL)
        await workspace.session_list.retag((workspace.state.session_id,), add=(EVIL,), drop=())
        await shown(pilot, "the sidebar")
        app.notify(EVIL, markup=False)
        await until(pilot, lambda: bool(app.notifications.shown))
        await shown(pilot, "a notification")
        actions = (
            *("sessions.choose_role", "sessions.edit_roles", "sessions.rename"),
            *("presets.choose_preset", "presets.files"),
        )
        for action in actions:
            await app.run_action(action)
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await shown(pilot, action, "Preset “" if action == "presets.files" else "")
            if action == "sessions.edit_roles":
                await pilot.press("[", "enter")
                await shown(pilot, "the form of a role", "Role: ")
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        app.query_one(Transcript).focus()
        await pilot.press("e")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await shown(pilot, "a message that is edited")
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        for action in ("move_to_folder", "tag", "rename"):
            app.query_one("SessionsPane").focus()
            await app.run_action(f"sessions.{action}")
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await shown(pilot, action)
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
