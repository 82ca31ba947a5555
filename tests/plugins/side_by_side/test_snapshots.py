"""Pictures of side by side: columns at three sizes, differences, a waiting call, the dialog."""

from __future__ import annotations

from pathlib import Path

from tests.plugins.side_by_side.test_in_app import compared, sent
from tests.support.app import make_app, settle
from tests.support.pictures import Album


async def test_columns(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path)) as pilot:
        screen = await compared(pilot, "mirror", "loopback-anthropic/thinker", "researcher")
        await sent(pilot, screen, "What grows in the salt marsh?")
        await pilot.press("tab")
        await settle(pilot)
        await album.take(pilot, "columns")
        await pilot.press("2", "space", "equals_sign")
        await settle(pilot)
        await album.take(pilot, "differences")
