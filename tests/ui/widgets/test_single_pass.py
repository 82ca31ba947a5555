"""A resize lays out and draws once; containers cost nothing, and a scroll bar renders few rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from tests.ui.app_under_test import make_app, opened, settle
from tui_chat.ui.widgets.line_view import LineView, ThinScrollBar
from tui_chat.ui.widgets.one_pass import OnePassWidget

pytestmark = pytest.mark.drawn


class Floor(Screen[None], OnePassWidget):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    pass


class Frame(Vertical, OnePassWidget):
    DEFAULT_CSS = "Frame { background: $surface; color: $foreground; }"


class Rows(LineView, OnePassWidget):  # pyright: ignore[reportIncompatibleMethodOverride]  so in Textual
    def __init__(self) -> None:
        super().__init__()
        self.virtual_size = Size(0, 90)

    def render_lines(self, crop: Region) -> list[Strip]:
        return [Strip.blank(crop.width)] * crop.height


class Words(OnePassWidget):
    DEFAULT_CSS = "Words { height: 1; }"

    def render(self) -> str:
        return "words"


class FramedApp(App[None]):
    def get_default_screen(self) -> Floor:
        return Floor(id="_default")

    def compose(self) -> ComposeResult:
        with Frame(), Frame():
            with Vertical():
                yield Frame()
            yield Words()
            yield Rows()


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is laid out and drawn."""
    found = Counter[str]()
    for owner, name in (
        (Compositor, "reflow"),
        (Compositor, "render_full_update"),
        (StylesCache, "render_line"),
    ):
        call = getattr(owner, name)

        def counted(*given: object, name: str = name, call: object = call, **named: object):
            found[name] += 1
            assert callable(call)
            return call(*given, **named)

        monkeypatch.setattr(owner, name, counted)
    return found


async def test_a_resize_renders_only_text_row_by_row(counts: Counter[str]):
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
    assert counts["render_full_update"] == counts["render_line"] == 1


async def test_a_resize_lays_the_app_out_once(tmp_path: Path, counts: Counter[str]):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        for width in (100, 140):  # each time, other panes fit
            counts.clear()
            await pilot.resize_terminal(width, 45)
            await settle(pilot)
            assert app.screen.size.width == width
            del counts["render_line"]
            assert counts == {"reflow": 1, "render_full_update": 1}, width


@pytest.mark.parametrize("no_color", [False, True])
async def test_a_single_pass_frame_equals_a_normal_one(
    no_color: bool, monkeypatch: pytest.MonkeyPatch
):
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
        bar = app.query_one(Rows).vertical_scrollbar
        assert isinstance(bar, ThinScrollBar)
        for bar.position in (0, 7, 7.5, 33, 71):
            crop = Region(0, 2, bar.size.width, bar.size.height - 5)
            assert bar.render_lines(crop) == ScrollBar.render_lines(bar, crop)
