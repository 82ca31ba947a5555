"""The inspector: head and body of a request."""

from __future__ import annotations

from textual.pilot import Pilot

from tests.support.app import rows_shown
from tests.support.inspector_app import (
    DRAFT,
    ROLE,
    STYLE,
    InspectorApp,
    chat_tree,
    composed,
    long_chat,
    said,
)
from tests.support.recorded_actions import RecordedActions
from tests.support.tables import each_row
from tui_chat.analysis.cache_forecast import CacheBreak, Forecast
from tui_chat.compose import Composed
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.request_edit import EDITED
from tui_chat.models.text import Text
from tui_chat.ui.inspector.lines import Line, Switches
from tui_chat.ui.inspector.notes import MOST, NotesView


def text_of(app: InspectorApp) -> str:
    return "\n".join(rows_shown(app.view))


def draft_of(app: InspectorApp, draft: str, count: int = 60) -> None:
    """What a keystroke does: a new payload that reuses every stored message's node."""
    tree = chat_tree((*CHAT[:count], said("user", Text.of(draft, DRAFT), DRAFT)))
    app.pane.show(composed(tree=tree, draft=draft))


CHAT = long_chat(60)


async def test_an_empty_inspector_says_so() -> None:
    app = InspectorApp(None)
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.pause()
        assert app.pane.query_one("#inspector-empty").display
        assert not app.view.display
        app.pane.show(composed())
        await pilot.pause()
        assert app.view.display
        assert "gardener" in text_of(app)
        app.pane.show(None)
        await pilot.pause()
        assert not app.view.display


# Switches


async def test_a_key_asks_for_a_protocol() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press("3", "1")
        await pilot.pause()
        assert app.actions.run == [("show_in_protocol", Protocol.ANTHROPIC)]
        assert app.pane.active is Protocol.OPENAI_CHAT
        assert "OpenAI Chat is shown already." in app.said
        app.pane.show(composed(Protocol.GEMINI))
        await pilot.pause()
        assert app.pane.active is Protocol.GEMINI


async def test_left_and_right_go_round_the_views() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        shown = []
        for _ in range(7):
            await pilot.press("right")
            shown.append(app.pane.view_shown)
        assert shown == ["context", "diff", "budget", "http", "reply", "notes", "payload"]
        await pilot.press("left", "left_square_bracket")
        assert app.pane.view_shown == "reply"


# The body


async def test_it_follows_the_draft() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 30)) as pilot:
        for draft in ("h", "hello", "hello " * 60 + "END"):
            draft_of(app, draft)
            await pilot.pause()
            assert app.view.following
            assert draft.split()[-1] in text_of(app)
            under = app.view.under
            assert under is not None
            assert under.origin is DRAFT


async def test_it_stays_where_the_user_scrolled() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 30)) as pilot:
        draft_of(app, "h")
        await pilot.press("home", *["pagedown"] * 4, "down", "down")
        await pilot.pause()
        before, row, under = text_of(app), app.view.cursor.row, app.view.under
        assert not app.view.following
        for draft in ("he", "hell", "hello " * 50, ""):
            draft_of(app, draft)
            await pilot.pause()
            assert text_of(app) == before
            assert (app.view.cursor.row, app.view.under) == (row, under)
        app.view.action_follow()
        draft_of(app, "back again")
        await pilot.pause()
        assert app.view.following
        assert "back again" in text_of(app)


async def test_hostile_text_is_spelled_out_and_the_body_unchanged() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(120, 45)) as pilot:
        await pilot.pause()
        screen = text_of(app)
        assert r"a\u202egnirts\u202c b\u200b c \u001b[31mred, tag \u{e0041}" in screen
        assert "[bold]not markup[/]" in screen
        assert "\u202e" not in screen
        assert "a\u202egnirts".encode() in composed().payload.body


@each_row(
    ("pointer", "words"),
    [
        ("/messages/1/content", "▌ preset message “Style” · System messages go first."),
        ("/messages/4/content", "hides U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("/stream", "▌ protocol · structure of the body"),
    ],
)
async def test_the_line_below_says_what_the_cursor_is_on(pointer: str, words: str) -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        assert app.view.go_to(pointer)
        await pilot.pause()
        assert words in str(app.query_one("#inspector-origin", Line).render())


async def test_another_protocol_keeps_the_origin_under_the_cursor() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 24)) as pilot:
        app.pane.reveal(STYLE)
        for protocol, pointer in (
            (Protocol.GEMINI, "/system_instruction/parts/0/text"),
            (Protocol.ANTHROPIC, "/system/1/text"),
            (Protocol.OPENAI_CHAT, "/messages/1/content"),
        ):
            app.pane.show(composed(protocol))
            await pilot.pause()
            assert app.view.under is not None
            assert (app.view.under.origin, app.view.under.pointer) == (STYLE, pointer)


@each_row("key", ["y", "ctrl+c"])
async def test_copy_takes_the_exact_body(key: str) -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert app.clipboard.encode() == composed().payload.body
        [told] = app.said
        assert told == f"Copied the body: {len(composed().payload.body):,} bytes."


# Notes


def notes_of(app: InspectorApp) -> tuple[NotesView, list[str]]:
    view = app.pane.views.current
    assert isinstance(view, NotesView)
    return view, [view.row(number).text.rstrip() for number in range(view.row_count)]


async def test_notes_are_listed_and_lead_to_their_places() -> None:
    app = InspectorApp(composed(Protocol.ANTHROPIC))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        _, rows = notes_of(app)
        assert rows == [
            "▲ temperature 0.7 is left out: this model accepts no",
            "  sampling settings.",
            "  Setting “temperature”",
            "● Two system turns went to `system`.",
            "  Preset message “Style” · /system/1/text",
        ]
        await pilot.press("end", "enter")
        await pilot.pause()
        assert app.view.has_focus
        assert app.view.under is not None
        assert app.view.under.pointer == "/system/1/text"
        assert app.view.under.origin == STYLE


async def test_a_note_names_the_way_out_and_enter_takes_it() -> None:
    over = Note(Level.ERROR, "over-budget", "Over budget by 5 tokens \u202e[b].")
    app = InspectorApp(composed(notes=(over,)))
    opened = RecordedActions(app, "sessions")
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        assert notes_of(app)[1] == [
            r"✗ Over budget by 5 tokens \u202e[b].",
            "  Enter changes the limit.",
        ]
        await pilot.press("enter")
        await pilot.pause()
        assert opened.run == [("edit_settings",)]


async def test_no_notes_and_many_notes() -> None:
    app = InspectorApp(composed(notes=()))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        assert notes_of(app)[1] == ["✓ No notes: nothing is changed or left out."]
        many = tuple(Note(Level.WARNING, "x", f"Note {n}") for n in range(5_000))
        app.pane.show(composed(notes=many))
        await pilot.pause()
        _, rows = notes_of(app)
        assert rows[:2] == ["▲ Note 0", "▲ Note 1"]
        assert rows[MOST:] == ["  … 4,800 more"]


async def test_equal_notes_are_one_and_enter_goes_from_place_to_place() -> None:
    equal = tuple(Note(Level.WARNING, "x", "Same.", origin) for origin in (STYLE, ROLE, STYLE))
    app = InspectorApp(composed(notes=equal))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        assert notes_of(app)[1][0] == "▲ 3 × Same."
        for origin in (STYLE, ROLE, STYLE):
            await pilot.press("enter")
            await pilot.pause()
            assert app.view.under is not None
            assert app.view.under.origin == origin
            app.pane.action_notes()


# --- The lines around the view: what they say of a request, and what a click on them does -


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
