"""Pictures of the search screen."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, settle, until
from tests.support.old_sessions import filled
from tests.support.pictures import NARROW, Album
from tui_chat.plugins.search.hit_list import HitList
from tui_chat.ui.areas.chat.transcript import Transcript


async def test_searching(album: Album, tmp_path: Path) -> None:
    await filled(tmp_path)
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+f", *"fox")
        await until(pilot, lambda: len(app.screen.query_one(HitList).hits) > 2)
        await pilot.press("down")
        await settle(pilot)
        await album.take_matrix(pilot, "found")
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(Transcript).has_focus)
        await settle(pilot)
        await album.take(pilot, "gone to")
        await pilot.press("ctrl+f", *"role:nobody")
        await settle(pilot)
        await album.take(pilot, "explained", sizes=(NARROW,))
