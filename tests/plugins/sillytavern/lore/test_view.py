"""The lore view: entries with their reasons, finding, and what Enter leads to."""

from __future__ import annotations

from dataclasses import replace

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import rows_shown, settle, until
from tests.support.contexts import ENDPOINT
from tests.support.inspector_app import InspectorApp
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.plugins.sillytavern.lore.view import LoreView
from tui_chat.ui.inspector.lines import Switches

BOOK = Lorebook(
    "b",
    (
        LorebookEntry("fox", "F", ("fox",), "fox"),
        LorebookEntry("late", "L", ("fox",), "late", delay=4),
        LorebookEntry("off", "O", ("fox",), "off", enabled=False),
        LorebookEntry("paused", "P", ("fox",), "paused", delay=99),
        LorebookEntry("owl", "S", ("owl",), "owl"),
    ),
    scan_depth=1,
)
TEXTS = ("a fox", "yes", "an owl", "no", "x", "y")


def inputs(*texts: str, draft: str = "", books: tuple[Lorebook, ...] = (BOOK,)) -> Inputs:
    history = tuple(
        Message.of("assistant" if n % 2 else "user", text, str(n)) for n, text in enumerate(texts)
    )
    return Inputs(ENDPOINT, Preset("p"), history, draft, lorebooks=books)


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
        await until(pilot, lambda: app.lore.outcomes is not None)
    if keys:
        await pilot.press(*keys)
    await settle(pilot)
    return [row for row in rows_shown(app.lore) if row.strip()]


async def test_entries_are_listed_by_what_became_of_them() -> None:
    app = LoreApp(*TEXTS)
    async with app.run_test(size=(80, 30)) as pilot:
        rows = await shown(pilot, app)
        assert [" ".join(row.split()) for row in rows] == [
            "Active 10 tokens · 2",
            "● fox “fox” occurs in the draft. 5 tokens",
            "● late “fox” occurs in the draft. 5 tokens",
            "Held back 1",
            "○ paused “fox” occurs in the draft, but a condition, its group o…",
            "No key found 1",
            "· owl owl",
            "Disabled 1",
            "- off fox",
        ]


async def test_enter_leads_to_the_message_with_the_key_and_w_to_the_entry() -> None:
    app = LoreApp("a fox", "yes", draft="x", books=(replace(BOOK, scan_depth=9),))
    async with app.run_test(size=(80, 30)) as pilot:
        await shown(pilot, app, "enter", "w")
        assert [(origin.kind, origin.id) for origin in app.origins] == [
            (OriginKind.HISTORY, "0"),
            (OriginKind.LORE, "b/fox"),
        ]


async def test_finding_shows_the_entries_that_contain_the_words() -> None:
    app = LoreApp(*TEXTS)
    async with app.run_test(size=(80, 30)) as pilot:
        await shown(pilot, app, "slash")
        app.query_one(Input).value = "OWL"
        rows = await shown(pilot, app)
        assert [row.split() for row in rows if row[0] in "●○·-"] == [["·", "owl", "owl"]]
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
