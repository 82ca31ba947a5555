"""The app is closed while something still works: it ends cleanly."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.screen import open_screen
from tests.support.tables import each_row


@each_row("seconds", [0.0, 0.2, 0.8])
async def test_it_ends_cleanly_while_it_starts(seconds: float, tmp_path: Path):
    async with open_screen(tmp_path, waits=()):
        await asyncio.sleep(seconds)


async def test_a_worker_that_finds_its_screen_gone_is_no_error(tmp_path: Path):
    """As on a busy machine, where the workspace opens while the screens are being removed."""
    found: list[str] = []
    async with open_screen(tmp_path) as screen:
        composer = screen.app.focused
        assert composer is not None

        async def work() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                found.append("the end")
            composer.screen.refresh()

        screen.app.run_worker(work(), group="workspace")
        await screen.rests()
    assert found == ["the end"]
