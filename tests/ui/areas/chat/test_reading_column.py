"""The column of the text in the middle of a wide pane, and what the mouse finds there."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.pilot import Pilot

from tests.support.app import until
from tests.ui.areas.chat.test_transcript import Stage, branch, entry, shown
from tui_chat.ui.areas.chat.line_painter import COLUMN_WIDTH, GUTTER, reading_column
from tui_chat.ui.areas.chat.transcript import Transcript

TEXT = "Some 漢字 words, and **more** of them: http://a.b/c\n\n```sh\nls --all\n```"
WIDTHS = (60, 112, 113, 114, 118, 160, 201)


def left_of(app: Stage) -> int:
    """The cells to the left of the column, measured on the screen: at the bar of a user message."""
    rows = [app.transcript.render_line(y).text for y in range(app.transcript.size.height)]
    return next(row.index("▌") for row in rows if "▌" in row)


def lit_text(app: Stage, y: int, plain: Style) -> str:
    """The text of a row whose background is another than that of `plain`."""
    return "".join(
        segment.text
        for segment in app.transcript.render_line(y)
        if segment.style is not None and segment.style.bgcolor != plain.bgcolor
    )


def row_with(app: Stage, words: str) -> tuple[int, int]:
    """The row that shows words, and the cell at which they begin."""
    for y in range(app.transcript.size.height):
        strip = app.transcript.render_line(y)
        if words in strip.text:
            before = strip.text.partition(words)[0]
            return y, len(before) + sum(character in "漢字" for character in before)
    raise AssertionError(words)


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(Transcript, offset=start)
    await pilot.hover(Transcript, offset=end)
    await pilot.mouse_up(Transcript, offset=end)
    await pilot.pause()


@pytest.mark.parametrize("pane", [20, 60, 61, 112, 113, 160, 239])
def test_the_column_is_in_the_middle_and_fits_the_view(pane: int):
    for beside in (1, 7):
        left, width = column = reading_column(pane, pane - beside)
        assert left == max(pane - COLUMN_WIDTH, 0) // 2
        assert 0 < width <= COLUMN_WIDTH
        assert left + width <= pane - beside
        assert column.text_width + GUTTER <= width or width < 11


@pytest.mark.parametrize("width", WIDTHS)
async def test_text_grounds_and_composer_stand_in_one_column(width: int) -> None:
    async with Stage().run_test(size=(width, 40)) as pilot:
        app = await shown(pilot, (entry(0, TEXT), entry(1, TEXT)))
        left = max(width - COLUMN_WIDTH, 0) // 2
        assert left_of(app) == left
        assert row_with(app, "Some")[1] == left + GUTTER
        y, copy = row_with(app, "copy")
        blank = app.transcript.palette()
        ground = lit_text(app, y, blank)
        assert len(ground.rstrip()) < len(ground) <= COLUMN_WIDTH
        assert copy + len("copy ") <= left + COLUMN_WIDTH - GUTTER + 1
        composer = app.chat.composer.region
        assert (composer.x, composer.width) == (left, min(width, COLUMN_WIDTH))
        assert app.chat.title_line.region.width == width
        activity = app.chat.activity  # the one blank row, while there is nothing to say
        assert app.transcript.region.bottom == activity.region.y
        assert app.chat.composer.region.y == activity.region.bottom == activity.region.y + 1
        assert not activity.render().plain


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_column_stays_where_it_is_beside_the_strip_of_tokens(width: int) -> None:
    async with Stage().run_test(size=(width, 40)) as pilot:
        app = await shown(pilot, branch(200))
        assert app.chat.token_strip.display
        assert left_of(app) == max(width - COLUMN_WIDTH, 0) // 2 == app.chat.composer.region.x


async def test_the_column_follows_the_width_of_the_terminal() -> None:
    async with Stage().run_test(size=(160, 40)) as pilot:
        app = await shown(pilot, branch(200))
        for width in (*WIDTHS, *reversed(WIDTHS)):
            await pilot.resize_terminal(width, 40)
            await until(pilot, lambda width=width: app.chat.title_line.region.width == width)
            assert left_of(app) == max(width - COLUMN_WIDTH, 0) // 2 == app.chat.composer.region.x


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_mouse_selects_what_is_under_it(width: int) -> None:
    async with Stage().run_test(size=(width, 40)) as pilot:
        app = await shown(pilot, (entry(0, "question"), entry(1, TEXT)))
        await pilot.press("k", "k")  # the cursor, with its ground, goes to the question
        y, start = row_with(app, "字")
        _, end = row_with(app, "more")
        await drag(pilot, (start, y), (end + 3, y))
        assert app.screen.get_selected_text() == "字 words, and more"
        assert lit_text(app, y, app.transcript.palette()) == "字 words, and more"
        # In the middle of a wide character, and to the left of the column.
        await drag(pilot, (start + 1, y), (0, y))
        assert app.screen.get_selected_text() == "Some 漢字"
        await pilot.double_click(Transcript, offset=(end + 1, y))
        assert app.screen.get_selected_text() == "more"


@pytest.mark.parametrize("width", WIDTHS)
async def test_a_click_does_what_is_drawn_under_it(width: int) -> None:
    async with Stage().run_test(size=(width, 40)) as pilot:
        second = entry(1, TEXT, sibling=1, siblings=3)
        app = await shown(pilot, (entry(0, "question"), second))
        y, start = row_with(app, "http://")
        await pilot.click(Transcript, offset=(start, y))
        await pilot.click(Transcript, offset=(start + len("http://a.b/c") - 1, y))
        assert app.actions.run == [("open_link", "http://a.b/c", "m1")] * 2
        app.actions.run.clear()
        await pilot.click(Transcript, offset=(start + len("http://a.b/c"), y))
        assert not app.actions.run
        y, start = row_with(app, "copy")
        await pilot.click(Transcript, offset=(start, y))
        assert app.copied == ["ls --all"]
        y, start = row_with(app, "‹ 2/3 ›")
        await pilot.click(Transcript, offset=(start, y))
        await pilot.click(Transcript, offset=(start + 6, y))
        assert app.actions.run == [("sibling", -1, "m1"), ("sibling", 1, "m1")]


@pytest.mark.parametrize("width", WIDTHS)
async def test_hits_are_marked_where_the_words_stand(width: int) -> None:
    async with Stage().run_test(size=(width, 40)) as pilot:
        app = await shown(pilot, (entry(0, "question"), entry(1, TEXT)))
        await pilot.press("k", "k")  # the cursor, with its ground, goes to the question
        app.transcript.find("字 words")
        app.chat.composer.focus()
        await pilot.pause()
        y, _ = row_with(app, "Some")
        assert lit_text(app, y, app.transcript.palette()) == "字 words"


# --- code ---------------------------------------------------------------------------------

CODE = "Two:\n\n```sh\nls\n```\n\n1. one\n\n   ```\n   a\n\n   b\n   ```\n\nEnd."


def code_rows(app: Stage) -> list[str]:
    """The rows from the first line to the last, without the gutter."""
    rows = app.rows()
    begin = next(y for y, row in enumerate(rows) if row.startswith("Two:"))
    end = next(y for y, row in enumerate(rows) if row.startswith("End."))
    return [row.replace("copy", "").rstrip() for row in rows[begin + 1 : end]]


async def test_code_has_rows_of_its_ground_where_there_is_height() -> None:
    async with Stage().run_test(size=(60, 29)) as pilot:
        app = await shown(pilot, (entry(0, "question"), entry(1, CODE)))
        low = ["", " sh", " ls", "", "1. one", "", "", "    a", "", "    b", ""]
        assert code_rows(app) == low
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: app.chat.region.height == 30)
        assert code_rows(app) == [
            *("", " sh", "", " ls", "", "", "1. one", ""),
            *("", "", "    a", "", "    b", "", ""),
        ]
        y, _ = row_with(app, " ls")
        app.chat.composer.focus()
        await pilot.pause()
        blank = app.transcript.palette()
        grounds = [lit_text(app, row, blank) for row in range(y - 2, y + 2)]
        assert len({len(ground) for ground in grounds}) == 1
        assert not lit_text(app, y + 2, blank)
        await pilot.resize_terminal(60, 29)
        await until(pilot, lambda: app.chat.region.height == 29)
        assert code_rows(app) == low


async def test_rows_of_ground_are_not_selected_or_copied() -> None:
    async with Stage().run_test(size=(60, 40)) as pilot:
        app = await shown(pilot, (entry(0, "question"), entry(1, CODE)))
        top, _ = row_with(app, "ls")
        bottom, _ = row_with(app, "1. one")
        await drag(pilot, (3, top), (7, bottom))
        assert app.screen.get_selected_text() == "ls\n\n1. one"
        await pilot.press("c")
        assert app.copied[-1] == "ls"


async def test_cut_code_keeps_its_rows_of_ground() -> None:
    async with Stage().run_test(size=(60, 40)) as pilot:
        app = await shown(pilot, (entry(0, "question"), entry(1, CODE)))
        before = code_rows(app)
        await pilot.press("W")
        assert code_rows(app) == before
        await pilot.press("W")
        assert code_rows(app) == before


@pytest.mark.parametrize("lines", [1, 79, 80, 81, 160, 161])
async def test_long_code_closes_once(lines: int) -> None:
    async with Stage().run_test(size=(60, 400)) as pilot:
        code = "\n".join(f"line {number}" for number in range(lines))
        app = await shown(
            pilot, (entry(0, "question"), entry(1, f"Two:\n\n```\n{code}\n```\n\nEnd."))
        )
        rows = code_rows(app)
        assert rows[:3] == ["", "", ""]
        assert rows[3:-2] == [f" line {number}" for number in range(lines)]
        assert rows[-2:] == ["", ""]
