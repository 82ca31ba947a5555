"""The checkbox of forms: what it shows without colors, and its size with the focus."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Input

from tui_chat.ui.widgets.check_field import CheckField


class Fields(App[None]):
    def compose(self) -> ComposeResult:
        yield Input()
        yield CheckField("In every request", id="check")


async def test_it_is_read_without_colors_and_stays_in_its_row():
    async with Fields().run_test(size=(40, 10)) as pilot:
        field = pilot.app.query_one(CheckField)
        row = field.region.y

        def text() -> str:
            return pilot.app.screen._compositor.render_strips()[row].text.rstrip()

        assert (field.region.height, text()) == (1, "[ ] In every request")
        await pilot.press("tab", "space")
        assert field.has_focus
        assert (field.region.y, field.region.height) == (row, 1)
        assert text() == "[x] In every request"
        await pilot.click(field)
        assert text() == "[ ] In every request"
