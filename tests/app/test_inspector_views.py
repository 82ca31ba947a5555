"""The views of the inspector, and what is selected in them."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from textual.pilot import Pilot

from tests.support.app import rows_shown, settle, until
from tests.support.inspector_app import (
    DRAFT,
    InspectorApp,
    chat_tree,
    composed,
    long_chat,
    said,
)
from tests.support.messages import make_message
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Dropped, Level, Note
from tui_chat.models.message import Message
from tui_chat.models.payload import Obj, tree_of
from tui_chat.models.preset import Preset
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, RawResponse, RecordedRequest
from tui_chat.models.settings import Settings
from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.models.usage import Usage
from tui_chat.ui.inspector.rows_view import RowsView
from tui_chat.ui.inspector.views import CONTEXT, PAYLOAD, Baseline, ReplyDetails

REPLY = Entry(
    make_message("assistant", "Under the pines.", "r1", tool_calls=(CallBlock("1", "look", "{}"),)),
    model="claude-sonnet-5",
    endpoint="test",
    usage=Usage(input=1200, output=34, cached=1000),
    finish="end_turn",
    seconds=1.5,
)

RAW = RawResponse(
    *(200, "text/event-stream", b"data: {}\ndata: [1]\ndata: [2]", 38), ((250, 19), (1500, 38))
)


def rows_of(app: InspectorApp) -> str:
    return "\n".join(rows_shown(app.pane.views.current))


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


async def show(pilot: Pilot[None], app: InspectorApp, view: str) -> None:
    app.pane.action_view(view)
    await press(pilot)


def go_to_row(app: InspectorApp, words: str) -> None:
    """Put the cursor on the first row with some words."""
    view = app.pane.views.current
    assert isinstance(view, RowsView)
    view.set_cursor(next(at for at in range(view.row_count) if words in view.row(at).text))


async def test_the_context_view_shows_who_set_a_setting_and_what_became_of_it() -> None:
    endpoint = Endpoint("here", Protocol.OPENAI_CHAT, "https://x.invalid", models=("gpt-4o",))
    role = Role("r", "Ada\x1b[31m", settings=Settings(temperature=0.5, top_k=3))
    request = compose(Inputs(endpoint, Preset("P"), draft="Hi", role=role))
    app = InspectorApp(request)
    async with app.run_test(size=(100, 40)) as pilot:
        await show(pilot, app, "context")
        lines = rows_of(app).splitlines()
        assert lines[0].startswith("Settings")
        assert lines[0].endswith("1 setting changed or not sent")
        (temperature,) = (each for each in lines if "temperature" in each)
        assert temperature.split()[:3] == ["▎temperature", "0.5", "role"]
        assert temperature.endswith(" /temperature")
        assert "\x1b" not in temperature
        assert any(each.endswith("not sent") for each in lines if "top_k" in each)
        go_to_row(app, "top_k")
        await press(pilot, "enter")
        text = rows_of(app)
        assert "top_k is not sent: OpenAI Chat has no such setting." in text
        await show(pilot, app, "payload")
        assert app.pane.view_shown == "payload"
        await show(pilot, app, "context")
        await press(pilot, "enter")
        assert "has no such setting" not in rows_of(app)


async def test_the_context_view_shows_placement_and_unfolds_a_turn() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 40)) as pilot:
        await show(pilot, app, "context")
        text = rows_of(app)
        assert "System  " in text
        assert "Chat history" in text
        assert "1 left out to fit" in text
        assert "System messages go first" not in text
        go_to_row(app, "Style")
        await press(pilot, "enter")
        assert "System messages go first" in rows_of(app)
        app.pane.show(composed(draft="another key"))
        await pilot.pause()
        assert "System messages go first" in rows_of(app)
        await press(pilot, "enter")
        assert "System messages go first" not in rows_of(app)


def with_muted(*, is_history_sent: bool = True) -> Composed:
    """A request of which a message is muted; perhaps nothing else of the history is sent."""
    request = composed(limit=None)
    envelope = request.envelope
    assert envelope.budget is not None
    muted = (Dropped(Origin(OriginKind.HISTORY, "muted"), "tool", "A long list", 900),)
    turns = tuple(t for t in envelope.turns if is_history_sent or t.role == "system")
    budget = replace(envelope.budget, muted=950)
    envelope = replace(envelope, turns=turns, dropped=(), muted=muted, budget=budget)
    return replace(request, envelope=envelope)


@each_row("is_history_sent", [True, False])
async def test_what_is_muted_is_listed_and_led_to(is_history_sent: bool) -> None:
    app = InspectorApp(with_muted(is_history_sent=is_history_sent))
    async with app.run_test(size=(80, 40)) as pilot:
        await show(pilot, app, "context")
        view = app.pane.views.current
        assert isinstance(view, RowsView)
        assert "▸ 1 muted, not sent" in rows_of(app)
        assert "A long list" not in rows_of(app)
        assert app.pane.reveal(Origin(OriginKind.HISTORY, "muted"))
        await pilot.pause()
        assert "▾ 1 muted, not sent" in rows_of(app)
        row = view.row(view.cursor)
        assert "A long list" in row.text
        assert row.hint == "Muted; m in the conversation unmutes it."
        assert row.text.endswith(" 900")
        assert "1 message of the history" not in rows_of(app), "it is counted once"


async def test_the_budget_counts_what_is_muted_apart() -> None:
    app = InspectorApp(with_muted())
    async with app.run_test(size=(60, 40)) as pilot:
        await show(pilot, app, "budget")
        rows = "\n".join(rows_shown(app.pane.views.current))
        assert "1 message muted: 950 tokens not sent" in rows
        assert "The context limit is unknown: nothing is left out to fit." in rows


async def test_the_request_masks_the_key_and_is_copied_as_curl() -> None:
    app = InspectorApp(composed(Protocol.ANTHROPIC))
    async with app.run_test(size=(80, 40)) as pilot:
        await show(pilot, app, "http")
        await press(pilot, "Y")
        assert "api.anthropic.com/v1/messages" in rows_of(app)
        assert "curl --request POST" in app.clipboard


@each_row(
    ("recorded", "words"),
    [
        (("https://x.example/v1?beta=true", (("X-App", "cli"),)), ("Headers  as sent", "X-App: cli",
          "https://x.example/v1?beta=true", "Body  as sent")),
        (("", None), ("rebuilt: it was not recorded", "Headers  rebuilt: they were not recorded")),
        (("", (), True), ("Body  as kept: credentials are masked",)),
        (("", (), False, "its metadata"), ("Body  rebuilt, without its metadata",)),
    ],
)  # fmt: skip
async def test_a_recorded_request_says_what_of_it_was_sent(
    recorded: tuple[Any, ...], words: tuple[str, ...]
) -> None:
    url, headers, *more = recorded
    request = RecordedRequest("POST", url, headers, b'{ "a": 1 }', *more)
    app = InspectorApp(replace(composed(Protocol.ANTHROPIC), recorded=request))
    async with app.run_test(size=(100, 40)) as pilot:
        await show(pilot, app, "http")
        assert not [each for each in words if each not in rows_of(app)]
        await press(pilot, "Y")
        assert """--data-raw '{ "a": 1 }'""" in app.clipboard


async def test_the_difference_marks_what_changed() -> None:
    app = InspectorApp(composed(draft="Say it in winter"))
    async with app.run_test(size=(80, 40)) as pilot:
        base = composed(draft="Say it in summer").payload
        app.pane.change(baseline=Baseline("the last request", base))
        await show(pilot, app, "diff")
        await until(pilot, lambda: "equal lines" in rows_of(app))  # compared after a pause
        view = app.pane.views.current
        assert isinstance(view, RowsView)
        rows = [view.row(number) for number in range(view.row_count)]
        rows = [row for row in rows if row.text[:1] in ("+", "-")]
        assert [row.text.split('"')[3] for row in rows] == ["Say it in summer", "Say it in winter"]
        marked = [
            r.text[s.start : s.end] for r in rows for s in r.content.spans if "40%" in str(s.style)
        ]
        assert marked == ["summ", "wint"]


async def test_the_reply_view_shows_usage_and_calls() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.change(reply=ReplyDetails(REPLY, REPLY.message, RAW))
        await show(pilot, app, "reply")
        text = rows_of(app)
        for words in ("end_turn", "input 1,200 (1,000 cached)", "Under the pines.", "look"):
            assert words in text
        assert "HTTP 200, text/event-stream, 38 bytes" in text
        assert "data: {}" not in text
        await press(pilot, "G", "enter")
        text = rows_of(app)
        assert "The first 10 bytes were not kept." in text
        assert "data: {}" in text
        app.pane.change(reply=ReplyDetails(replace(REPLY, model="", endpoint=""), REPLY.message))
        await pilot.pause()
        assert "complete  by an unknown model" in rows_of(app)


async def test_folding_hides_a_message_and_stays_while_one_types() -> None:
    stored = long_chat(30)
    app = InspectorApp(composed(tree=chat_tree(stored)))
    async with app.run_test(size=(60, 40)) as pilot:
        view = app.view
        view.go_to("/messages/3/content")
        rows = view.layout_now.rows if view.layout_now else 0
        await press(pilot, "space")
        assert view.layout_now is not None
        assert view.layout_now.rows < rows
        assert "⋯" in "\n".join(rows_shown(view))
        draft = said("user", Text.of("more", DRAFT), DRAFT)
        app.pane.show(composed(tree=chat_tree((*stored, draft))))
        await pilot.pause()
        assert view.layout_now.spot(view.layout_now.row_at("/messages/3") or 0).folded
        view.go_to("/messages/3/content")
        await pilot.pause()
        assert not view.layout_now.spot(view.layout_now.row_at("/messages/3") or 0).folded


def tooled(draft: str = "Look.") -> Composed:
    """A request with tools, and settings that take several lines."""
    tools = [{"name": "look", "parameters": {"city": "a town"}}, {"name": "wait"}]
    tree = chat_tree((said("user", Text.of(draft, DRAFT), DRAFT),))
    apart = (
        ("tools", tree_of(tools, Origin(OriginKind.TOOL, "look"))),
        ("reasoning", tree_of({"effort": "low"}, Origin(OriginKind.SETTING, "reasoning"))),
    )
    return composed(tree=Obj((*tree.items, *apart)))


def is_folded(app: InspectorApp, pointer: str) -> bool:
    layout = app.view.layout_now
    assert layout is not None
    row = layout.row_at(pointer)
    assert row is not None
    return layout.spot(row).folded > 0


async def test_tools_and_settings_are_folded_until_enter_or_a_click() -> None:
    app = InspectorApp(tooled())
    async with app.run_test(size=(60, 40)) as pilot:
        await pilot.pause()
        assert '▸ "tools": [ ⋯ ' in rows_of(app)
        assert '▾ "messages": [' in rows_of(app)
        assert is_folded(app, "/reasoning")
        assert not is_folded(app, "/messages")
        assert app.view.go_to("/tools")
        await press(pilot, "enter")
        assert '▾ "tools": [' in rows_of(app)
        assert not app.origins, "it goes nowhere"
        assert app.view.layout_now is not None
        row = app.view.layout_now.row_at("/reasoning")
        assert row is not None
        await pilot.click(app.view, offset=(8, row - app.view.scroll_offset.y))
        assert not is_folded(app, "/reasoning")
        await pilot.click(app.view, offset=(2, row - app.view.scroll_offset.y))
        assert is_folded(app, "/reasoning"), "a click on its mark folds it again"


PICTURE = b64encode(bytes(range(256)) * 24).decode()


def pictured(protocol: Protocol, draft: str) -> Composed:
    """A request with a picture in its history."""
    endpoint = next(each for each in ENDPOINTS if each.protocol is protocol)
    shown = make_message("user", "Look.", "m1", parts=(MediaBlock("image", "image/png", PICTURE),))
    history = (shown, Message.of("assistant", "I see.", "m2"))
    return compose(Inputs(endpoint, Preset("plain"), history, draft))


def shown_text(app: InspectorApp) -> str:
    """The whole laid-out body without breaks and indents."""
    layout = app.view.layout_now
    assert layout is not None
    rows = (layout.seen(row) for row in range(layout.rows))
    return "".join(line.text for spot, line in rows if not spot.row)


@each_row("protocol", Protocol)
async def test_the_data_of_a_file_is_folded_until_it_is_opened(protocol: Protocol) -> None:
    app = InspectorApp(pictured(protocol, "What"))
    async with app.run_test(size=(60, 40)) as pilot:
        await pilot.pause()
        assert shown_text(app).count("⋯ 8 kB of data, all sent") == 1
        assert PICTURE not in shown_text(app)
        assert PICTURE.encode() in pictured(protocol, "What").payload.body
        assert app.view.reveal(Origin(OriginKind.HISTORY, "m1"))
        await pilot.pause()
        assert PICTURE not in shown_text(app), "the cursor of the conversation opens nothing"
        assert app.view.find(PICTURE[:80]) == 1
        await pilot.pause()
        assert PICTURE in shown_text(app)
        app.pane.show(pictured(protocol, "What is"))
        await pilot.resize_terminal(50, 40)
        await pilot.pause()
        assert PICTURE in shown_text(app), "it stays open"
        await press(pilot, "space")
        assert PICTURE not in shown_text(app)
        app.pane.show(pictured(protocol, "What is it?"))
        assert PICTURE not in shown_text(app)
        assert "What is it?" in shown_text(app)


async def test_find_unfolds_what_hides_the_words() -> None:
    app = InspectorApp(tooled())
    async with app.run_test(size=(60, 40)) as pilot:
        await press(pilot, "slash", *"a town", "enter")
        assert not is_folded(app, "/tools")
        assert app.view.under is not None
        assert app.view.under.pointer == "/tools/0/parameters/city"
        assert is_folded(app, "/reasoning")


async def test_find_works_while_typing_and_with_n() -> None:
    app = InspectorApp(composed(tree=chat_tree(long_chat(30))))
    async with app.run_test(size=(60, 40)) as pilot:
        await press(pilot, "g", "slash")
        await press(pilot, *"12: L", "enter")
        assert app.view.under is not None
        assert app.view.under.pointer == "/messages/12/content"
        await press(pilot, "slash", *["backspace"] * 8, *"PINE", "enter")
        first = app.view.cursor.row
        await press(pilot, "n")
        assert app.view.cursor.row > first
        await press(pilot, "N")
        assert app.view.cursor.row == first


async def test_words_are_found_in_the_body_from_a_view_without_a_search() -> None:
    app = InspectorApp(composed(tree=chat_tree(long_chat(30))))
    async with app.run_test(size=(60, 40)) as pilot:
        await show(pilot, app, "context")
        assert app.pane.view_shown == CONTEXT
        await press(pilot, "slash", *"12: L", "enter")
        assert app.pane.view_shown == PAYLOAD
        assert app.view.has_focus
        assert app.view.under is not None
        assert app.view.under.pointer == "/messages/12/content"


@each_row("limit", [None, 128_000])
async def test_the_budget_says_which_pictures_are_not_sent(limit: int | None) -> None:
    notes = tuple(
        Note(
            Level.WARNING,
            "piece-left-out",
            f"Left out: {n}.",
            unsent=MediaBlock("image", "image/png"),
        )
        for n in range(2)
    )
    app = InspectorApp(composed(limit=limit, notes=notes))
    async with app.run_test(size=(60, 40)) as pilot:
        await show(pilot, app, "budget")
        rows = "\n".join(rows_shown(app.pane.views.current))
        assert "2 pictures not sent: 0 tokens" in rows
        assert ("The context limit is unknown" in rows) is (limit is None)


# --- Selecting text of the inspector with the mouse: what is lit, what is copied, what ends it


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
