import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from textual.widgets._toast import Toast

from tests.support.app import rows_shown, until
from tests.support.inspector_app import (
    DATE,
    DRAFT,
    STYLE,
    InspectorApp,
    chat_tree,
    composed,
    long_chat,
    said,
)
from tui_chat.analysis.cache_forecast import CacheBreak, Forecast
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import IN_HISTORY, Level, Note
from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.ui.areas.inspector import payload_layout, payload_view
from tui_chat.ui.areas.inspector.drawn_row import CursorTarget
from tui_chat.ui.areas.inspector.notes_list import NoteRows, NotesHeader, NotesList
from tui_chat.ui.areas.inspector.origins import Legend, OriginStatus, origin_phrase
from tui_chat.ui.areas.inspector.payload_layout import PayloadLayout
from tui_chat.ui.areas.inspector.summary import RequestSummary
from tui_chat.ui.areas.inspector.tabs import ProtocolTabs, ViewTabs

SIZES = [(30, 10), (30, 24), (52, 40), (60, 45), (80, 24), (120, 45)]


def text_of(app: InspectorApp) -> str:
    return "\n".join(rows_shown(app.view))


def draft_of(app: InspectorApp, draft: str, count: int = 60) -> None:
    """What a keystroke does: a new payload that reuses every stored message's node."""
    tree = chat_tree((*CHAT[:count], said("user", Text.of(draft, DRAFT), DRAFT)))
    app.pane.show(composed(tree=tree, draft=draft))


CHAT = long_chat(60)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("protocol", list(Protocol))
async def test_it_fits_every_size(size: tuple[int, int], protocol: Protocol) -> None:
    app = InspectorApp(composed(protocol))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert app.view.size.height >= 3
        for y in range(app.view.size.height):
            strip = app.view.render_line(y)
            assert strip.cell_length == app.view.size.width
            assert cell_len(strip.text) == app.view.size.width
        for widget in app.pane.query("*"):
            if widget.display and widget.size.height:
                assert widget.region.bottom <= size[1]
                assert widget.region.right <= size[0]


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


async def test_it_draws_nothing_while_out_of_sight() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.pause()
        before = app.view.payload
        app.pane.display = False
        await pilot.pause()
        later = composed(draft="typed while hidden")
        app.pane.show(later)
        await pilot.pause()
        assert app.view.payload is before
        app.pane.display = True
        await pilot.pause()
        assert app.view.payload is later.payload
        assert "typed while hidden" in text_of(app)


# Tabs


async def test_keys_and_mouse_only_switch_the_protocol() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press("3")
        tabs = app.query_one(ProtocolTabs)
        tabs.focus()
        await pilot.press("left", "right")
        await pilot.click(ProtocolTabs, offset=(16, 0))
        await pilot.pause()
        assert app.actions.run == [
            ("show_in_protocol", Protocol.ANTHROPIC),
            ("show_in_protocol", list(Protocol)[-1]),
            ("show_in_protocol", Protocol.OPENAI_RESPONSES),
            ("show_in_protocol", Protocol.OPENAI_RESPONSES),
        ]
        assert app.pane.active is Protocol.OPENAI_CHAT
        app.pane.show(composed(Protocol.GEMINI))
        await pilot.pause()
        assert app.pane.active is tabs.active is Protocol.GEMINI


@pytest.mark.parametrize("width", [24, 30, 40, 60, 120])
async def test_the_active_protocol_has_a_dot_at_every_width(width: int) -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(width, 30)) as pilot:
        await pilot.pause()
        line = app.query_one(ProtocolTabs).render().plain
        assert line.count("•") == 1
        assert cell_len(line) <= width
        assert "1•OpenAI" in line
        assert all(str(digit) in line for digit in range(1, 6))


# Summary


async def test_the_summary_shows_model_address_and_figures() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press("i")
        await pilot.pause()
        rule, *lines = app.query_one(RequestSummary).render().plain.splitlines()
        assert lines[0].startswith(" gpt-5.1 ")
        assert lines[0].endswith("POST api.openai.com/v1/chat/completions")
        size = len(composed().payload.body)
        assert rule.endswith(f"─ 1,416 of 128,000 tokens · 1 left out · {size:,} bytes ─")
        assert lines[1] == (
            f" 1,416 of 128,000 tokens · 1 left out · 6 messages · {size:,} bytes · o200k"
        )
        assert lines[2].endswith(" 122k free")


async def test_an_estimate_and_another_protocol_are_marked() -> None:
    app = InspectorApp(composed(Protocol.ANTHROPIC, limit=1_000))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press("i")
        await pilot.pause()
        rule, *lines = app.query_one(RequestSummary).render().plain.splitlines()
        assert rule.endswith("─ preview, Enter sends OpenAI Chat ─")
        assert lines[0].endswith("preview, Enter sends OpenAI Chat")
        assert lines[1].startswith(" ~4,512 over the budget of 0")
        assert lines[2].endswith(" 4.5k over")


async def test_without_a_limit_there_is_no_bar() -> None:
    app = InspectorApp(composed(limit=None))
    async with app.run_test(size=(80, 30)) as pilot:
        summary = app.query_one(RequestSummary)
        await pilot.press("i")
        await pilot.pause()
        assert len(summary.render().plain.splitlines()) == 1 + 2
        app.pane.show(composed())
        await pilot.pause()
        assert len(summary.render().plain.splitlines()) == 1 + 3


@pytest.mark.parametrize(("width", "key"), [(46, "p"), (46, "d"), (46, "b"), (30, "c"), (120, "r")])
async def test_five_lines_stand_around_the_view_until_details_are_opened(
    width: int, key: str
) -> None:
    app = InspectorApp(composed(Protocol.ANTHROPIC))
    async with app.run_test(size=(width, 45)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert app.pane.views.size.height == 40
        assert not app.query_one(Legend).display
        rule = app.query_one(RequestSummary).render().plain
        assert cell_len(rule) == width
        start, end = app.query_one(ViewTabs).active_span
        assert rule.count("━") == end - start
        assert rule[start:end] == "━" * (end - start)
        await pilot.press("i")
        await pilot.pause()
        assert app.pane.views.size.height < 40
        assert app.query_one(Legend).display is (key == "p")
        await pilot.press("i")
        await pilot.pause()
        assert app.pane.views.size.height == 40


async def test_a_click_opens_the_details() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.pause()
        assert app.query_one(NotesHeader).render().plain.endswith("  i more")
        await pilot.click(NotesHeader, offset=(57, 0))
        await pilot.pause()
        assert app.pane.are_details_open


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
        await pilot.press("f")
        draft_of(app, "back again")
        await pilot.pause()
        assert app.view.following
        assert "back again" in text_of(app)


async def test_it_stays_when_messages_in_front_go() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 30)) as pilot:
        draft_of(app, "h")
        await pilot.press("home", *["pagedown"] * 6)
        await pilot.pause()
        before = text_of(app)
        tree = chat_tree((*CHAT[5:], said("user", Text.of("hi", DRAFT), DRAFT)))
        app.pane.show(composed(tree=tree))
        await pilot.pause()
        assert text_of(app) == before


async def test_scrolling_back_to_the_end_follows_again() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 30)) as pilot:
        draft_of(app, "h")
        await pilot.pause()
        app.view.scroll_to(y=3, animate=False)
        assert not app.view.following
        app.view.scroll_end(animate=False, immediate=True)
        await pilot.pause()
        assert app.view.following


@pytest.mark.parametrize("long", [payload_view.LONG_BODY, 1], ids=["at once", "in a thread"])
async def test_a_narrower_pane_keeps_what_is_read(
    long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload_view, "LONG_BODY", long)
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 30)) as pilot:
        draft_of(app, "h")
        await pilot.press("home", *["pagedown"] * 5)
        await pilot.pause()
        layout = app.view.layout_now
        assert layout is not None
        before = [step.index for step in layout.spot(app.view.scroll_offset.y).place.steps]
        wide = layout.width
        await pilot.resize_terminal(40, 30)
        draft_of(app, "while it is laid out")
        await until(
            pilot, lambda: app.view.layout_now is not None and app.view.layout_now.width < wide
        )
        layout = app.view.layout_now
        assert layout is not None
        assert layout.rows == PayloadLayout(layout.payload, layout.width).rows
        steps = layout.spot(app.view.scroll_offset.y).place.steps
        assert [step.index for step in steps] == before


async def test_only_the_last_of_several_resizes_is_laid_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, passed, may_end = list[int](), list[int](), threading.Event()

    class Slow(PayloadLayout):
        def __init__(self, *given: Any, pause: Callable[[], object] | None = None) -> None:
            width = given[1]
            begun.append(width)
            try:
                while pause is not None and not may_end.wait(0.001):
                    pause()
            except Exception:
                passed.append(width)
                raise
            super().__init__(*given, pause=pause)

    app = InspectorApp(composed())
    async with app.run_test(size=(80, 30)) as pilot:
        monkeypatch.setattr(payload_view, "LONG_BODY", 0)
        monkeypatch.setattr(payload_layout, "PayloadLayout", Slow)
        for width in (70, 60):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda width=width: bool(begun) and begun[-1] < width)
        await until(pilot, lambda: bool(passed))
        may_end.set()
        layout = app.view.layout_now
        await until(pilot, lambda: app.view.layout_now is not layout)
        assert app.view.layout_now is not None
        assert app.view.layout_now.width < 60
    assert [60 < width < 70 for width in passed] == [True]


async def test_hostile_text_is_spelled_out_and_the_body_unchanged() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(120, 45)) as pilot:
        await pilot.pause()
        screen = text_of(app)
        assert r"a\u202egnirts\u202c b\u200b c \u001b[31mred, tag \u{e0041}" in screen
        assert "[bold]not markup[/]" in screen
        assert "\u202e" not in screen
        assert "a\u202egnirts".encode() in composed().payload.body


async def test_the_cursor_shows_origin_rule_and_pointer() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        assert app.view.go_to("/messages/1/content")
        await pilot.pause()
        status = app.query_one(OriginStatus)
        assert status.render().plain.endswith("  System messages go first.")
        await pilot.press("i")
        await pilot.pause()
        assert status.under is not None
        assert status.under.origin == STYLE
        assert status.rule == "System messages go first."
        lines = status.render().plain.splitlines()
        assert lines[0].startswith("▍ preset message “Style” ")
        assert lines[0].endswith("/messages/1/content")
        assert lines[1] == "  System messages go first."
        assert app.query_one(Legend).current is OriginKind.PRESET
        await pilot.press("right")
        await pilot.pause()
        assert status.under.origin == DATE
        assert origin_phrase(status.under) == "macro “date” in preset message “Style”"
        assert status.rule == "System messages go first."


@pytest.mark.parametrize(("width", "says_it"), [(80, True), (44, False)])
async def test_a_rule_without_news_is_shown_whole_or_not_at_all(width: int, says_it: bool) -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(width, 45)) as pilot:
        app.view.go_to("/messages/2/content")
        await pilot.pause()
        status = app.query_one(OriginStatus)
        status.rule = IN_HISTORY.rule
        line = status.render().plain
        assert line.endswith(
            "It is part of the conversation." if says_it else "/messages/2/content"
        )


async def test_the_count_of_places_is_whole_beside_a_long_origin() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 45)) as pilot:
        app.view.go_to("/messages/1/content")
        await pilot.press("right")
        await pilot.pause()
        status = app.query_one(OriginStatus)
        status.places = "1 of 1 · n N"
        line = status.render().plain
        assert line.startswith("▍ macro “date” in preset message")
        assert line.endswith("…   1 of 1 · n N")


async def test_a_hidden_character_is_named() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        app.view.go_to("/messages/4/content")
        await pilot.pause()
        assert "U+202E RIGHT-TO-LEFT OVERRIDE" in app.query_one(OriginStatus).render().plain


async def test_hovering_previews_an_origin_and_clicking_keeps_it() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        await pilot.pause()
        layout = app.view.layout_now
        assert layout is not None
        row = layout.row_at("/messages/1/content")
        assert row is not None
        y = row - app.view.scroll_offset.y
        await pilot.hover(app.view, offset=(40, y))
        await pilot.pause()
        assert isinstance(app.view.under, CursorTarget)
        assert app.view.under.origin == DATE
        await pilot.hover(ProtocolTabs)
        await pilot.pause()
        assert app.view.under.origin == DRAFT
        await pilot.click(app.view, offset=(40, y))
        await pilot.hover(ProtocolTabs)
        await pilot.pause()
        assert app.view.under.origin == DATE
        assert app.view.cursor.row == row


async def test_enter_requests_the_source() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(40, 45)) as pilot:
        app.view.go_to("/messages/5/content")
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.origins == [DRAFT]


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


async def test_another_protocol_follows_the_draft_as_before() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 24)) as pilot:
        await pilot.pause()
        app.pane.show(composed(Protocol.GEMINI))
        await pilot.pause()
        assert app.view.following
        assert app.view.under is not None
        assert app.view.under.origin == DRAFT


async def test_an_origin_can_be_revealed() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 30)) as pilot:
        assert app.pane.reveal(DATE)
        await pilot.pause()
        assert app.view.under is not None
        assert app.view.under.pointer == "/messages/1/content"
        assert not app.pane.reveal(Origin(OriginKind.LORE, "none"))


async def test_an_origin_is_revealed_as_soon_as_there_is_a_request() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(50, 30)) as pilot:
        await pilot.pause()
        payload = app.view.payload
        app.view.show(None)
        app.view.point(STYLE)
        app.view.show(payload)
        assert app.view.under is not None
        assert app.view.under.origin == STYLE


async def test_the_legend_jumps() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        app.pane.action_details()
        await pilot.pause()
        await pilot.click(Legend, offset=(2, 0))
        await pilot.pause()
        assert app.view.under is not None
        assert app.view.under.origin.kind is OriginKind.SYSTEM


@pytest.mark.parametrize("key", ["y", "ctrl+c"])
async def test_copy_takes_the_exact_body(key: str) -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(60, 30)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert app.clipboard.encode() == composed().payload.body
        [told] = app._notifications
        assert told.message == f"Copied the body: {len(composed().payload.body):,} bytes."


# Notes


async def test_notes_are_one_line_that_opens_and_lead_to_their_place() -> None:
    app = InspectorApp(composed(Protocol.ANTHROPIC))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.pause()
        notes = app.query_one(NotesList)
        assert not notes.expanded
        head = app.query_one(NotesHeader).render().plain
        assert head.startswith("▸ ▲ 1 warning  ")
        assert "…" in head, "the sentence is there as far as it fits"
        await pilot.press("o")
        await pilot.pause()
        assert notes.expanded
        rows = app.query_one(NoteRows)
        rows.focus()
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.view.under is not None
        assert app.view.under.pointer == "/system/1/text"
        assert app.view.under.origin == STYLE


async def test_infos_are_only_counted_until_opened() -> None:
    app = InspectorApp(composed(Protocol.GEMINI))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.pause()
        notes = app.query_one(NotesList)
        assert not notes.expanded
        assert app.query_one(NotesHeader).render().plain.startswith("▸ ● 1 note")
        await pilot.press("o")
        await pilot.pause()
        assert notes.expanded
        assert app.query_one(NoteRows).has_focus


async def test_no_notes_and_many_notes() -> None:
    app = InspectorApp(composed(notes=()))
    async with app.run_test(size=(60, 45), notifications=True) as pilot:
        await pilot.pause()
        header = app.query_one(NotesHeader)
        assert header.render().plain.startswith("✓ nothing changed or left out  ")
        await pilot.press("o")
        await pilot.pause()
        assert "no notes" in str(app.query_one(Toast).render())
        assert app.view.has_focus
        many = tuple(Note(Level.WARNING, "x", f"Note {n} \u202e[b]") for n in range(5_000))
        app.pane.show(composed(notes=many))
        await pilot.press("o")
        await pilot.pause()
        assert header.render().plain.startswith("▾ ▲ 5,000 warnings")
        rows = app.query_one(NoteRows)
        assert rows.virtual_size.height == 200
        assert rows.render_line(0).text.startswith(r"▲ Note 0 \u202e[b]")


async def test_the_line_of_notes_keeps_a_gap_before_the_forecast_and_the_key() -> None:
    app = InspectorApp(composed(notes=()))
    async with app.run_test(size=(80, 45)) as pilot:
        header = app.query_one(NotesHeader)
        header.forecast = Forecast(639, 334, 334, 305, CacheBreak("grown", None, "It grew."))
        for width in range(24, 80):
            header.styles.width = width + 2  # and its padding
            await pilot.pause()
            text = header.render().plain
            assert re.fullmatch(r"✓ [a-z ]+?(  +Cache: .+?)?  +i( more)?", text), (width, text)
            assert len(text) == width
            if width >= 43:
                assert text.endswith("  i more"), (width, text)
                assert "reusable" in text
        header.notes = (Note(Level.WARNING, "x", "A warning."),)
        header.styles.width = 44 + 2
        await pilot.pause()
        text = header.render().plain
        assert re.fullmatch(r"▸ ▲ 1 warning  +Cache: 334/639  i more", text), text


async def test_equal_notes_are_one_row_that_unfolds_to_their_places() -> None:
    equal = tuple(
        Note(Level.WARNING, "x", "Same.", Origin(OriginKind.MACRO, str(n)), f"/m/{n}")
        for n in range(300)
    )
    style = Note(Level.WARNING, "x", "Another.", STYLE)
    app = InspectorApp(composed(notes=(*equal, style)))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        assert app.query_one(NotesHeader).render().plain.startswith("▾ ▲ 301 warnings  ")
        rows = app.query_one(NoteRows)
        assert [rows.render_line(n).text.rstrip() for n in range(2)] == [
            "▲ ▸ 300 × Same.",
            f"▲ Another. ({STYLE.label})",
        ]
        rows.focus()
        await pilot.press("enter")
        await pilot.pause()
        assert rows.row_count == 1 + 200 + 1 + 1
        assert [rows.render_line(n).text.rstrip() for n in range(3)] == [
            "▲ ▾ 300 × Same.",
            "  macro “0” · /m/0",
            "  macro “1” · /m/1",
        ]
        await pilot.press("down", "down")
        assert rows.current == equal[1]
        app.pane.show(composed(notes=(style, *equal)))
        await pilot.pause()
        assert rows.current == equal[1], "the cursor stays on its note"
        await pilot.press("up", "up", "enter")
        await pilot.pause()
        assert (rows.row_count, rows.cursor, rows.current) == (2, 1, equal[0])
        await pilot.press("up", "enter")
        await pilot.pause()
        assert app.view.under is not None
        assert app.view.under.origin == STYLE


async def test_a_long_error_is_read_whole_without_a_key() -> None:
    sentence = "With the edits by hand the body is not a request to OpenAI Chat: it names no model."
    app = InspectorApp(composed(notes=(Note(Level.ERROR, "invalid", sentence),)))
    async with app.run_test(size=(46, 45)) as pilot:
        await pilot.pause()
        assert sentence in " ".join(" ".join(rows_shown(app.query_one(NoteRows))).split())
        assert app.view.has_focus
        await pilot.press("o")
        assert not app.query_one(NotesList).expanded, "until the user closes the list"
