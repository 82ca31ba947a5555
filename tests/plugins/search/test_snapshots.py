"""A picture of the search screen."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, settle, until
from tests.support.old_sessions import filled
from tests.support.pictures import Album
from tui_chat.plugins.search.hit_list import HitList


async def test_searching(album: Album, tmp_path: Path) -> None:
    await filled(tmp_path)
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+f", *"fox")
        await until(pilot, lambda: len(app.screen.query_one(HitList).hits) > 2)
        await pilot.press("down")
        await settle(pilot)
        await album.take(pilot, "found")
