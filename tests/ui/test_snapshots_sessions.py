"""Pictures of the sidebar with many kinds of sessions."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import NOON, make_app, opened, settle, until
from tests.support.old_sessions import filled
from tests.support.pictures import NARROW, Album
from tui_chat.ui.areas.sessions import SessionList


async def shown(pilot: Pilot[None]) -> SessionList:
    """Go to the sessions, some of which are busy."""
    app = await opened(pilot)
    await pilot.press("f2")
    workspace = app.workspace
    assert workspace is not None
    sessions = list(workspace.state.sessions)
    sessions[4] = sessions[4]._replace(role_name="Editor", status="failed", folder="stories")
    sessions[1] = sessions[1]._replace(folder="notes")
    listed = app.query_one(SessionList)
    listed.show(sessions, sessions[1].session_id, NOON, {sessions[0].session_id})
    await settle(pilot)
    return listed


async def test_sessions(album: Album, tmp_path: Path) -> None:
    await filled(tmp_path)
    async with album.of(make_app(tmp_path)) as pilot:
        await shown(pilot)
        await pilot.press("home", "shift+down")
        await album.take_matrix(pilot, "by time, two chosen")
        await pilot.press("escape", "g")
        await album.take(pilot, "by folder")
        await pilot.press("g", "end", "left")
        await album.take(pilot, "by tag, archived folded")
        await pilot.press("g", "slash", *"#work no")
        await settle(pilot)
        await album.take(pilot, "filtered")
        await pilot.press(*"nsense")
        await settle(pilot)
        await album.take(pilot, "nothing matches", sizes=(NARROW,))


async def test_what_is_asked_about_sessions(album: Album, tmp_path: Path) -> None:
    await filled(tmp_path)
    roles = tmp_path / "roles"
    roles.mkdir()
    for name, prompt in (("Editor", "Correct what is wrong."), ("Cook", "Think of dinner.")):
        role = json.dumps({"name": name, "system_prompt": prompt, "model": "echo"})
        (roles / f"{name}.json").write_text(role)
    async with album.of(make_app(tmp_path)) as pilot:
        await shown(pilot)
        for key, state in (("t", "tags"), ("f", "folder"), ("r", "title"), ("", "role")):
            if key:
                await pilot.press("home", key)
            else:
                await pilot.app.run_action("sessions.choose_role")
            await until(pilot, lambda: len(pilot.app.screen_stack) > 1)
            await settle(pilot)
            await album.take(pilot, state)
            await pilot.press("escape")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await pilot.press("home", "d")
        await until(pilot, lambda: bool(pilot.app.notifications.shown))
        await album.take(pilot, "deleted")
