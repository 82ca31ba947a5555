"""The lore view: entries with their reasons, turns by keys and mouse, finding, and what Enter
leads to.
"""

from __future__ import annotations

from textual.pilot import Pilot
from textual.widgets import Input

from tests.plugins.sillytavern.lore.test_table import BOOK, TEXTS, inputs
from tests.support.app import rows_shown, until
from tests.support.inspector_app import InspectorApp
from tui_chat.compose import compose
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.text import OriginKind
from tui_chat.plugins.sillytavern.lore.view import LoreView
from tui_chat.ui.inspector.lines import Line, Switches


class LoreApp(InspectorApp):
    """An inspector with a request that searches lorebooks."""

    def __init__(
        self,
        *texts: str,
        draft: str = "a fox",
        books: tuple[Lorebook, ...] = (BOOK,),
    ) -> None:
        request = inputs(*texts, draft=draft, books=books)
        super().__init__(compose(request))

    @property
    def lore(self) -> LoreView:
        view = self.pane.views.current
        assert isinstance(view, LoreView)
        return view


async def shown(pilot: Pilot[None], app: LoreApp, *keys: str) -> list[str]:
    """Show the view, press keys, and return the rows that are not blank."""
    if app.pane.view_shown != "lore":
        app.pane.action_view("lore")
        await until(pilot, lambda: app.lore.table is not None and not app.lore.table.missing)
    if keys:
        await pilot.press(*keys)
    await pilot.pause()
    await pilot.pause()
    return [row for row in rows_shown(app.lore) if row.strip()]


async def test_entries_are_listed_by_what_became_of_them() -> None:
    app = LoreApp(*TEXTS)
    async with app.run_test(size=(80, 30)) as pilot:
        rows = await shown(pilot, app)
        assert [" ".join(row.split()) for row in rows] == [
            "This request 4 of 4 requests · ← →",
            "● active ○ held back · no key found - disabled",
            "Active 2",
            "● fox ●··● “fox” occurs in the draft. 5 tokens",
            "● late ○··● “fox” occurs in the draft. 5 tokens",
            "No key found 1",
            "· sticky ·●●· None of its keys occurs in the newest message.",
            "Disabled 1",
            "- off ---- It is disabled.",
        ]


async def test_left_and_right_choose_the_turn_and_the_cursor_stays_on_its_entry() -> None:
    app = LoreApp(*TEXTS)
    async with app.run_test(size=(80, 30)) as pilot:
        rows = await shown(pilot, app, "down", "left")
        assert rows[0].startswith("Request 3  x")
        assert "● sticky" in "\n".join(rows)
        assert app.lore.row_here is not None
        assert app.lore.row_here.text.startswith("· late")
        rows = await shown(pilot, app, "K")
        assert rows[0].startswith("Request 1  a fox")
        line = str(app.query_one("#inspector-origin", Line).render())
        assert "“fox” occurs in message “a fox”, but a condition" in line
        rows = await shown(pilot, app, "f")
        assert rows[0].startswith("This request")
        rows = await shown(pilot, app, *["left"] * 9)
        assert rows[0].startswith("Request 1"), "there is no request before the first"


async def test_enter_leads_to_the_message_with_the_key_and_w_to_the_entry() -> None:
    app = LoreApp(*TEXTS)
    async with app.run_test(size=(80, 30)) as pilot:
        await shown(pilot, app, "enter", "left", "enter", "left", "left", "enter", "w")
        assert [(origin.kind, origin.id) for origin in app.origins] == [
            (OriginKind.DRAFT, ""),
            (OriginKind.HISTORY, "5"),
            (OriginKind.HISTORY, "0"),
            (OriginKind.LORE, "b/fox"),
        ]


async def test_finding_shows_the_entries_that_contain_the_words() -> None:
    app = LoreApp(*TEXTS)
    async with app.run_test(size=(80, 30)) as pilot:
        await shown(pilot, app, "slash")
        app.query_one(Input).value = "OWL"
        rows = await shown(pilot, app)
        assert [row for row in rows if row[0] in "●○·-"][1:] == [
            "· sticky              ·●●· None of its keys occurs in the newest message."
        ]
        app.query_one(Input).value = "nothing"
        rows = await shown(pilot, app)
        assert rows[-1] == "No entry has “nothing”."
        rows = await shown(pilot, app, "escape")
        assert len(rows) == 9


async def test_there_is_no_tab_without_lorebooks() -> None:
    request = inputs(*TEXTS, books=())
    app = InspectorApp(compose(request))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press(*["right_square_bracket"] * 7)
        await pilot.pause()
        assert app.pane.view_shown == "payload", "it went round once"
        assert "Lore" not in app.query_one("#inspector-views", Switches).render().plain
        app.pane.view_shown = "lore"
        await pilot.pause()
        view = app.pane.views.current
        assert isinstance(view, LoreView)
        assert rows_shown(view)[0].startswith("No lorebook is searched")
