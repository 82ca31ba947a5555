"""Selecting text of the inspector with the mouse: what is lit, what is copied, what ends it."""

from __future__ import annotations

from rich.cells import cell_len
from textual.pilot import Pilot

from tests.support.app import rows_shown, until
from tests.support.inspector_app import (
    DRAFT,
    InspectorApp,
    chat_tree,
    composed,
    long_chat,
    said,
)
from tests.support.tables import each_row
from tui_chat.models.text import Text

CHAT = long_chat(60)


def place(app: InspectorApp, words: str) -> tuple[int, int]:
    """The cell and the row at which words begin."""
    for y, row in enumerate(rows_shown(app.pane.views.current)):
        if words in row:
            return cell_len(row.partition(words)[0]), y
    raise AssertionError(words)


def lit(app: InspectorApp) -> str:
    """What is drawn on the ground of a selection."""
    ground = app.screen.get_component_rich_style("screen--selection").bgcolor
    view = app.pane.views.current
    strips = (view.render_line(y) for y in range(view.size.height))
    return "\n".join(
        text
        for strip in strips
        if (text := "".join(s.text for s in strip if s.style and s.style.bgcolor == ground))
    )


async def drag(pilot: Pilot[None], app: InspectorApp, first: str, last: str) -> None:
    """Drag from the begin of some words to the last character of others."""
    (x, y), (last_x, last_y) = place(app, first), place(app, last)
    view = app.pane.views.current
    end = last_x + cell_len(last) - 1, last_y
    await pilot.mouse_down(view, offset=(x, y))
    await pilot.hover(view, offset=end)
    await pilot.mouse_up(view, offset=end)
    await pilot.pause()


def show_draft(app: InspectorApp, draft: str) -> None:
    tree = chat_tree((*CHAT, said("user", Text.of(draft, DRAFT), DRAFT)))
    app.pane.show(composed(tree=tree, draft=draft))


@each_row("width", [52, 80, 160])
async def test_a_drag_selects_and_a_key_copies_and_says_so(width: int) -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(width, 45)) as pilot:
        await pilot.pause()
        await drag(pilot, app, "木漏れ日", "mean?")
        assert lit(app) == "木漏れ日” mean?"
        app.view.focus()
        await pilot.press("ctrl+c")
        assert app.clipboard == "木漏れ日” mean?"
        assert app.said == ["Copied the selection: 21 bytes."]
        await pilot.press("escape")
        assert not lit(app)
        await pilot.press("y")
        assert app.clipboard.encode() == composed().payload.body


async def test_wrapped_lines_are_copied_as_one_and_others_with_their_indent() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(44, 60)) as pilot:
        await pilot.pause()
        await drag(pilot, app, "Keep names", "briefly.")
        assert "\n" in lit(app)
        assert app.screen.get_selected_text() == r"Keep names as they are.\nAnswer briefly."
        await drag(pilot, app, "briefly.", '"role": "assistant"')
        selected = app.screen.get_selected_text() or ""
        assert selected.startswith("briefly.")
        assert [line.strip() for line in selected.split("\n")[1:3]] == ["},", "{"]
        assert selected.split("\n")[1].startswith(" ")


async def test_what_is_typed_ends_a_selection_only_where_it_changes_it() -> None:
    app = InspectorApp(composed(tree=chat_tree(CHAT)))
    async with app.run_test(size=(80, 45)) as pilot:
        show_draft(app, "some words of it")
        await pilot.pause()
        await drag(pilot, app, "some", "words")
        show_draft(app, "other words of it")
        assert not lit(app)
        await pilot.press("g")
        await pilot.pause()
        await drag(pilot, app, "model", "model")
        show_draft(app, "more words of it")
        assert lit(app) == "model"
        app.pane.forget()
        assert app.screen.get_selected_text() is None


async def test_text_of_the_other_views_is_selected_too_and_a_click_acts_as_before() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        app.pane.action_view("http")
        await pilot.pause()
        await drag(pilot, app, "Content-Type", "Body")
        text = "Content-Type: application/json\n  Accept: text/event-stream\n\nBody"
        assert app.screen.get_selected_text() == text
        assert lit(app).startswith("Content-Type: application/json")
        x, y = place(app, "Copy as curl")
        await pilot.click(app.pane.views.current, offset=(x, y))
        await until(pilot, lambda: app.clipboard.startswith("curl "))


async def test_the_bars_of_rows_are_not_copied() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        app.pane.action_view("context")
        await pilot.pause()
        view = app.pane.views.current
        rows = rows_shown(view)
        first = next(y for y, row in enumerate(rows) if row.startswith("▎system"))
        await pilot.mouse_down(view, offset=(0, first))
        await pilot.hover(view, offset=(20, first + 1))
        await pilot.mouse_up(view, offset=(20, first + 1))
        await pilot.pause()
        copied = (app.screen.get_selected_text() or "").split("\n")
        assert copied[0] == rows[first][1:].rstrip()
        assert copied[1].startswith("system    Style")
