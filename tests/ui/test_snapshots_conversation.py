"""Pictures of what is done with a whole conversation: forks."""

from __future__ import annotations

from pathlib import Path

from tests.ui.album import Album
from tests.ui.app_under_test import make_app, opened, say, settle, until


async def test_a_fork(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        await say(pilot, "Which ferries go to Kos?")
        app.chat.pane.transcript.focus()
        await pilot.press("f")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await album.take(pilot, "its title")
        await pilot.press(*"Ferries in winter", "enter")
        await until(pilot, lambda: app.chat.pane.title_line.title == "Ferries in winter")
        await pilot.press("f2")
        await settle(pilot)
        await album.take(pilot, "header and list")
