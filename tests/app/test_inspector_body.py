"""The inspector: protocols, the exact body, what stands under the cursor, and notes."""

from __future__ import annotations

from tests.support.app import rows_shown
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
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.ui.inspector.notes_list import NoteRows, NotesHeader, NotesList
from tui_chat.ui.inspector.origins import Legend, OriginStatus, origin_phrase
from tui_chat.ui.inspector.tabs import ProtocolTabs


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


# Summary


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


async def test_a_hidden_character_is_named() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 45)) as pilot:
        app.view.go_to("/messages/4/content")
        await pilot.pause()
        assert "U+202E RIGHT-TO-LEFT OVERRIDE" in app.query_one(OriginStatus).render().plain


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


async def test_no_notes_and_many_notes() -> None:
    app = InspectorApp(composed(notes=()))
    async with app.run_test(size=(60, 45)) as pilot:
        await pilot.pause()
        header = app.query_one(NotesHeader)
        assert header.render().plain.startswith("✓ nothing changed or left out  ")
        await pilot.press("o")
        await pilot.pause()
        assert "no notes" in app.said[-1]
        assert app.view.has_focus
        many = tuple(Note(Level.WARNING, "x", f"Note {n} \u202e[b]") for n in range(5_000))
        app.pane.show(composed(notes=many))
        await pilot.press("o")
        await pilot.pause()
        assert header.render().plain.startswith("▾ ▲ 5,000 warnings")
        rows = app.query_one(NoteRows)
        assert rows.virtual_size.height == 200
        assert rows.render_line(0).text.startswith(r"▲ Note 0 \u202e[b]")


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
