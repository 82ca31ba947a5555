"""A picture of a quiet prompt."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import Album
from tui_chat.plugins.sillytavern.quiet_reply import QuietReply


async def test_a_quiet_prompt(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await say(pilot, "The lamp goes out, and")
        await pilot.press(*"/quiet Who is in the room?", "enter")
        await until(pilot, lambda: isinstance(app.screen, QuietReply))
        dialog = app.screen
        assert isinstance(dialog, QuietReply)
        await until(pilot, lambda: dialog.text == "Who is in the room?")
        await settle(pilot)
        await album.take(pilot, "quiet")
