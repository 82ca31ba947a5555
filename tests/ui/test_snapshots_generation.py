"""Pictures of continuing a reply."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import Album


async def test_kinds(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await say(pilot, "The lamp goes out, and")
        await pilot.press(*"/continue")
        await settle(pilot)
        await album.take(pilot, "continue typed")
        await pilot.press("enter")
        state = app.workspace
        await until(pilot, lambda: state.state.entries[-1].siblings == 2)
        await until(pilot, lambda: not state.state.is_streaming)
        await settle(pilot)
        await album.take(pilot, "continued")
