"""Where the focus is, and where what is typed goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.app_under_test import make_app, opened, say, settle, until
from tui_chat.ui.areas.presets.pane import PresetPane

SIZES = [(160, 45), (120, 35), (80, 24)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_title_of_the_pane_with_the_focus_is_lit_and_no_other(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        for key in ("shift+tab", "f2", "f4", "f3", "escape", "ctrl+n"):
            await pilot.press(key)
            if key == "f3":
                await until(pilot, lambda: bool(app.query(PresetPane)))
            await settle(pilot)
            lit = [area for area in app.panes.areas for row in area.query(".-lit") if row.display]
            assert [area.has_focus_within for area in lit] == [True], key


async def test_a_message_has_the_bar_of_the_cursor_only_with_the_focus(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        transcript = app.chat.pane.transcript

        def bars() -> set[str]:
            return {transcript.render_line(y).text[:1] for y in range(transcript.size.height)}

        assert "┃" not in bars()
        await pilot.press("shift+tab")
        assert "┃" in bars()


async def test_a_temporary_session_is_marked_on_title_and_composer(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        pane = app.chat.pane
        await pilot.press("f6")
        await until(pilot, lambda: pane.composer.has_class("-temporary"))
        assert pane.title_line.has_class("-temporary")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not pane.composer.has_class("-temporary"))
        assert not pane.title_line.has_class("-temporary")
