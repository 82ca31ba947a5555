"""The frames of dialogs: as high as what is in them, and a list that scrolls fills the frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import OptionList

from tests.support.app import make_app, opened, settle, until
from tui_chat.library.typed_fields import Field, Values
from tui_chat.ui.dialogs.base import Confirm, DialogBox, HelpDialog, HelpLine
from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog
from tui_chat.ui.dialogs.forms import FieldsForm


@pytest.mark.parametrize("height", [12, 24, 35, 45])
@pytest.mark.parametrize("count", [1, 3, 12, 14, 31, 32, 33, 200])
async def test_no_row_is_dead_below_a_list_that_scrolls(count: int, height: int) -> None:
    app = App[None]()
    async with app.run_test(size=(100, height)) as pilot:
        choices = [Choice(f"c{number}", f"Choice {number}") for number in range(count)]
        await app.push_screen(ChoiceDialog("Choose", choices, "c0"))
        await pilot.pause()
        box, options = app.screen.query_one(DialogBox), app.screen.query_one(OptionList)
        inside = box.region.shrink(box.gutter)
        last = max(child.region.bottom for child in box.displayed_children)
        assert last == inside.bottom, "nothing is below, and nothing is cut"
        most = height if height < 16 else height * 9 // 10
        assert box.region.height <= most
        if options.size.height < count:
            assert box.region.height == most
        else:
            assert options.size.height == count
        assert options.styles.scrollbar_size_vertical == 1


@pytest.mark.parametrize("height", [12, 24])
@pytest.mark.parametrize("hint", ["", "Enter edits · Esc cancels"])
async def test_a_list_says_what_enter_does(height: int, hint: str) -> None:
    app = App[None]()
    async with app.run_test(size=(100, height)) as pilot:
        choices = [Choice(f"c{number}", f"Choice {number}") for number in range(40)]
        await app.push_screen(ChoiceDialog("Choose", choices, "c0", hint=hint))
        await pilot.pause()
        shown = app.export_screenshot().replace("&#160;", " ")
        assert (hint or "Enter select · Esc cancel") in shown


async def test_a_list_without_a_filter_has_no_frame_of_its_own() -> None:
    app = App[None]()
    async with app.run_test(size=(100, 24)) as pilot:
        await app.push_screen(ChoiceDialog("Choose", [Choice("a", "A")], "a", has_filter=False))
        await pilot.pause()
        options = app.screen.query_one(OptionList)
        assert options.has_focus
        assert options.region.height == options.size.height == 1


@pytest.mark.parametrize("height", [24, 45])
async def test_a_form_is_as_high_as_its_fields_where_they_fit(height: int) -> None:
    app = App[None]()
    rows = tuple((Field(f"f{number}", f"Field {number}"),) for number in range(5))

    async def keep(values: Values, overwrites: bool) -> None: ...

    async with app.run_test(size=(100, height)) as pilot:
        values = {field.name: "" for row in rows for field in row}
        await app.push_screen(FieldsForm("Form", rows, values, keep))
        await pilot.pause()
        box, fields = app.screen.query_one(DialogBox), app.screen.query_one("#fields")
        most = height * 9 // 10
        assert box.region.height == min(2 + 2 + 5 * 3 - 1 + 5, most)
        assert fields.region.bottom < app.screen.query_one("#save").region.y


@pytest.mark.parametrize(("question", "rows"), [("Quit now?", 1), ("word " * 20, 2)])
async def test_a_question_is_as_high_as_its_text(question: str, rows: int) -> None:
    app = App[None]()
    async with app.run_test(size=(160, 45)) as pilot:
        await app.push_screen(Confirm("Quit?", question, yes="Quit"))
        await pilot.pause()
        box = app.screen.query_one(DialogBox)
        around = 2 + 2 + 1 + 1  # the border, its padding, the row above the buttons, the buttons
        assert box.region.height == rows + around


async def test_a_help_that_scrolls_fills_its_frame() -> None:
    app = App[None]()
    async with app.run_test(size=(100, 24)) as pilot:
        lines = [HelpLine(f"F{number}", f"Action {number}") for number in range(60)]
        await app.push_screen(HelpDialog([("Keys", lines)]))
        await pilot.pause()
        box = app.screen.query_one(DialogBox)
        assert box.region.height == 21
        assert app.screen.query_one(".hint").region.bottom == box.region.shrink(box.gutter).bottom


@pytest.mark.parametrize("size", [(160, 45), (80, 24)], ids=str)
async def test_scrollbars_take_one_column_everywhere(size: tuple[int, int], tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=size) as pilot:
        app = await opened(pilot)
        for keys in (("f1",), ("ctrl+p",), ("ctrl+o",), ("f5",), ("f3", "enter"), ("ctrl+f",)):
            await pilot.press(*keys)
            await settle(pilot)
            for widget in app.screen.walk_children(Widget):
                if widget.allow_vertical_scroll or widget.show_vertical_scrollbar:
                    assert widget.styles.scrollbar_size_vertical == 1, (keys, widget)
            await pilot.press("escape")
            await settle(pilot)


@pytest.mark.usefixtures("drawn")
async def test_what_is_below_a_dialog_is_drawn_for_a_new_size(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        drawn: list[Size] = []
        display = app._display

        def record(screen: Screen[object], renderable: object) -> None:
            if screen is app.screen and isinstance(renderable, LayoutUpdate):
                drawn.append(app.screen_stack[0]._compositor.size)
            display(screen, renderable)

        app._display = record
        await pilot.resize_terminal(160, 45)
        await until(pilot, lambda: drawn[-1:] == [Size(160, 45)])
