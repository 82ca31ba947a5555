"""Frames that only hold other things cost nothing when the screen gets another width."""

from __future__ import annotations

from collections import Counter

import pytest
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from tui_chat.ui.ground import Ground


class Floor(Screen[None], Ground):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    pass


class Frame(Vertical, Ground):
    DEFAULT_CSS = "Frame { background: $surface; color: $foreground; }"


class FramedApp(App[None]):
    def get_default_screen(self) -> Floor:
        return Floor(id="_default")

    def compose(self) -> ComposeResult:
        with Frame(), Frame(), Vertical():
            yield Frame()


async def test_another_width_is_drawn_once_and_no_frame_row_by_row(monkeypatch: pytest.MonkeyPatch):
    counts = Counter[str]()
    for owner, name in (
        (Compositor, "render_full_update"),
        (StylesCache, "render_line"),
    ):
        call = getattr(owner, name)

        def counted(*given: object, name: str = name, call: object = call, **named: object):
            counts[name] += 1
            assert callable(call)
            return call(*given, **named)

        monkeypatch.setattr(owner, name, counted)
    app = FramedApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        app.query_one("Frame > Frame > Vertical").display = False
        await pilot.pause()
        counts.clear()
        await pilot.resize_terminal(50, 20)
        for _ in range(4):
            await pilot.pause()
        assert {one.size.width for one in app.query(Frame) if one.is_on_screen} == {50}
    assert counts == {"render_full_update": 1}


@pytest.mark.parametrize("no_color", [False, True])
async def test_a_frame_looks_as_any_other(no_color: bool, monkeypatch: pytest.MonkeyPatch):
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    app = FramedApp()
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        crop = Region(0, 0, 60, 5)
        frame = app.query(Frame).first()
        ours, theirs = frame.render_lines(crop), Widget.render_lines(frame, crop)
        assert [row.text for row in ours] == [row.text for row in theirs]
        backs = [
            {segment.style.bgcolor for segment in row if segment.style is not None}
            for row in (*ours, *theirs)
        ]
        assert backs[0]
        assert all(each == backs[0] for each in backs)
