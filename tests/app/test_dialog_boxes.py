"""The frames of dialogs: as high as what is in them, and never higher than the screen."""

from __future__ import annotations

from textual.app import App
from textual.widgets import OptionList

from tests.support.app import screen_text
from tui_chat.ui.dialogs.base import DialogBox
from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog


async def test_no_row_is_dead_below_a_list_that_scrolls() -> None:
    app = App[None]()
    async with app.run_test(size=(100, 45)) as pilot:
        for count in (1, 12, 33, 200):
            choices = [Choice(f"c{number}", f"Choice {number}") for number in range(count)]
            await app.push_screen(ChoiceDialog("Choose", choices, "c0"))
            for height in (45, 24, 12):
                await pilot.resize_terminal(100, height)
                await pilot.pause()
                case = f"{count} choices in {height} rows"
                box, options = app.screen.query_one(DialogBox), app.screen.query_one(OptionList)
                inside = box.region.shrink(box.gutter)
                last = max(child.region.bottom for child in box.displayed_children)
                assert last == inside.bottom, f"{case}: nothing is below, and nothing is cut"
                most = height if height < 16 else height * 9 // 10
                assert box.region.height <= most, case
                assert options.size.height == count or box.region.height == most, case
                assert "Enter select · Esc cancel" in screen_text(app), case
            app.pop_screen()
