"""The lines around the view: what they say of a request, and what a click on them does."""

from __future__ import annotations

from textual.pilot import Pilot

from tests.support.inspector_app import STYLE, InspectorApp, composed
from tests.support.tables import each_row
from tui_chat.analysis.cache_forecast import CacheBreak, Forecast
from tui_chat.compose import Composed
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.request_edit import EDITED
from tui_chat.ui.inspector.lines import Line, Switches

ANTHROPIC = Protocol.ANTHROPIC
LEVELS = (Level.INFO, Level.WARNING, Level.ERROR)
FORECAST = Forecast(1416, 700, 640, 716, CacheBreak("changed", STYLE))


def noted(*levels: Level, code: str = "code") -> Composed:
    notes = [Note(level, code, f"Sentence {number}.") for number, level in enumerate(levels)]
    return composed(notes=tuple(notes))


def line(app: InspectorApp, name: str) -> str:
    return str(app.pane.query_one(f"#inspector-{name}", Line).render())


def switches(app: InspectorApp, name: str) -> str:
    return app.pane.query_one(f"#inspector-{name}", Switches).render().plain


async def show(pilot: Pilot[None], app: InspectorApp, request: Composed) -> None:
    app.pane.show(request)
    await pilot.pause()


@each_row(
    ("request", "note", "count"),
    [
        (noted(), "✓ No notes", "Notes"),
        (noted(Level.INFO), "● Sentence 0.", "Notes 1"),
        (noted(Level.WARNING, Level.INFO), "▲ Sentence 0.", "Notes 2"),
        (noted(Level.ERROR, Level.WARNING, Level.INFO), "✗ Sentence 0.", "Notes 3"),
        (noted(Level.INFO, code=EDITED), "● Sentence 0.", "Notes"),
    ],
)
async def test_the_last_line_has_the_worst_note_and_the_cache(
    request: Composed, note: str, count: str
) -> None:
    app = InspectorApp(request)
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        assert line(app, "notes") == note
        assert switches(app, "views").endswith(count)
        app.pane.show_forecast(FORECAST)
        await pilot.pause()
        assert line(app, "notes") == note
        assert line(app, "cache") == "Cache: 640 of 1.4k tokens"


@each_row(
    ("width", "views", "protocols"),
    [
        (80, "Payload  Context  Diff  Budget  HTTP  Reply  Notes",
         "1 OpenAI  2 Responses  3 Anthropic  4 Gemini  5 Ollama"),
        (48, "Payload Context Diff Budget HTTP Reply Notes", "1 OpenAI 2 Resp 3 Anthr 4 Gem 5 Oll"),
        (24, "Pay Ctx Diff Bud HTTP…", "1 OpenAI 2 Resp 3 Ant…"),
    ],
)  # fmt: skip
async def test_switches_have_two_widths_and_an_ellipsis(
    width: int, views: str, protocols: str
) -> None:
    app = InspectorApp(composed(notes=()))
    async with app.run_test(size=(width, 40)) as pilot:
        await pilot.pause()
        assert (switches(app, "views"), switches(app, "protocols")) == (views, protocols)


async def test_a_click_on_a_line_does_what_its_key_does() -> None:
    app = InspectorApp(noted(Level.INFO))
    async with app.run_test(size=(100, 40)) as pilot:
        app.pane.show_forecast(FORECAST)
        await pilot.pause()

        async def click(name: str, words: str, text: str) -> None:
            await pilot.click(f"#inspector-{name}", offset=(text.index(words) + 2, 0))
            await pilot.pause()

        await click("views", "Budget", switches(app, "views"))
        assert app.pane.view_shown == "budget"
        await click("protocols", "Gemini", switches(app, "protocols"))
        assert app.actions.run == [("show_in_protocol", Protocol.GEMINI)]
        await click("notes", "Sentence", line(app, "notes"))
        assert app.pane.view_shown == "notes"
        await click("cache", "Cache", line(app, "cache"))
        assert app.pane.view_shown == "payload"
        assert app.view.under is not None
        assert app.view.under.origin == STYLE
        await pilot.click("#inspector-origin")
        await pilot.pause()
        assert app.origins == [STYLE]


async def test_a_banner_says_what_is_shown_in_place_of_the_live_request() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        assert not app.pane.is_banner_up
        for banner, protocol, words in (
            ("", ANTHROPIC, "Anthropic preview: Enter sends OpenAI Chat"),
            ("Sent 12:30", Protocol.OPENAI_CHAT, "Sent 12:30"),
            ("Sent 12:30", ANTHROPIC, "Sent 12:30 · Anthropic preview: it was OpenAI Chat"),
        ):
            app.pane.show_banner(banner)
            await show(pilot, app, composed(protocol))
            assert line(app, "banner") == words
            assert app.pane.is_banner_up
            assert not app.pane.query_one("#inspector-protocols").display
        await pilot.press("escape")
        assert app.actions.run == [("return_to_live",)]
        app.pane.show_banner("")
        await show(pilot, app, composed())
        assert not app.pane.is_banner_up
