"""Pictures of the form with the settings of the session, and of a temporary session."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, say, until
from tests.support.pictures import Album
from tui_chat.models.role import Role
from tui_chat.models.settings import Settings
from tui_chat.ui.dialogs.session_settings import SessionSettingsForm


async def test_session_settings(album: Album, tmp_path: Path) -> None:
    """One setting of the session, some of the role, some refused, and one that is not accepted."""
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        settings = Settings(temperature=0.4, max_tokens=2_000)
        role = await app.workspace.roles.save(Role("", "Writer", settings=settings))
        await app.workspace.sessions.choose_role(role.role_id)
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, SessionSettingsForm))
        await pilot.press(*"0.8", "down", *"3", "up", "up")
        await album.take_matrix(pilot, "session settings")


async def test_temporary_session(album: Album, tmp_path: Path) -> None:
    """With a message, and the question when it is left."""
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await pilot.press("f6")
        await until(pilot, lambda: app.workspace is not None and app.workspace.state.is_temporary)
        await say(pilot, "Just between us.")
        await album.take(pilot, "temporary session")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await album.take(pilot, "leaving it")
