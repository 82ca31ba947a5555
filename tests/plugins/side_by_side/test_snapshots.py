"""Pictures of side by side: columns at three sizes, differences, a waiting call, the dialog."""

from __future__ import annotations

from pathlib import Path

from tests.plugins.side_by_side.test_in_app import compared, ended, sent
from tests.support.app import make_app, opened, settle, until
from tests.support.pictures import Album
from tests.support.workspace import BY_HAND
from tui_chat.plugins.side_by_side.slot_dialog import SlotDialog


async def test_the_choice_of_slots(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        app.chat.pane.composer.text = "Which of you knows the marsh?"
        await app.run_action("plugins.compare")
        await until(pilot, lambda: isinstance(app.screen, SlotDialog))
        await settle(pilot)
        await album.take(pilot, "choice of slots")


async def test_columns(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path)) as pilot:
        screen = await compared(pilot, "mirror", "loopback-anthropic/thinker", "researcher")
        await sent(pilot, screen, "What grows in the salt marsh?")
        await pilot.press("tab")
        await settle(pilot)
        await album.take_matrix(pilot, "columns")
        await pilot.press("2", "space", "equals_sign")
        await settle(pilot)
        await album.take(pilot, "differences")


async def test_a_waiting_call_and_stalled_replies(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path, tools=(BY_HAND,))) as pilot:
        screen = await compared(pilot, "echo", "toolsmith", "flaky-500", "flaky-429")
        screen._composer.text = "Use the tool."
        await pilot.press("enter")
        await until(pilot, lambda: screen._tools.question.call is not None)
        await ended(pilot, screen)
        await pilot.press("f8")
        await settle(pilot)
        await album.take(pilot, "waiting call")
