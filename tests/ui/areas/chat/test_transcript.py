"""The transcript on a screen: scrolling, following, keys, clicks, selection."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.selection import SELECT_ALL, Selection

from tests.support.app import until
from tests.support.recorded_actions import RecordedActions
from tests.unit.ui.chat.test_message_layout import SOURCES
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry
from tui_chat.models.stream_events import TextDelta
from tui_chat.models.usage import Usage
from tui_chat.offline import models as catalog
from tui_chat.ui.areas.chat.chat_pane import ChatPane
from tui_chat.ui.areas.chat.message_layout import MessageLayout
from tui_chat.ui.areas.chat.text_lines import TextLine
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.areas.chat.welcome import Welcome
from tui_chat.ui.key_names import DEFAULT_KEYS
from tui_chat.ui.themes import origin_defaults
from tui_chat.ui.widgets.block_view import Viewport


class Stage(App[None]):
    """A chat pane, and a record of the area's actions, of copies and of notifications."""

    def __init__(self) -> None:
        super().__init__()
        self.actions = Actions(self, "conversation", self._current)
        RecordedActions(self, "plugins")
        self.copied: list[str] = []
        self.said: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return origin_defaults(dark=True)

    def compose(self) -> ComposeResult:
        yield ChatPane()

    @property
    def chat(self) -> ChatPane:
        return self.query_one(ChatPane)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def rows(self) -> list[str]:
        """Return what the screen shows, without the bars at the left."""
        view = self.transcript
        return [view.render_line(y).text[2:].rstrip() for y in range(view.size.height)]

    def _current(self, action: str) -> tuple[str, ...]:
        del action
        current = self.transcript.current
        return () if current is None else (current.message.id,)

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    def notify(self, message: str, **more: object) -> None:  # type: ignore[override]
        del more
        self.said.append(message)


class Actions(RecordedActions):
    """Of the area's actions, those that find and scroll are done."""

    @property
    def _pane(self) -> ChatPane:
        return self.stage.query_one(ChatPane)

    async def action_find(self) -> None:
        await self._pane.find()

    def action_page(self, direction: int) -> None:
        self._pane.transcript.action_page(direction)

    def action_first_message(self) -> None:
        self._pane.transcript.action_begin()

    def action_latest_message(self) -> None:
        self._pane.transcript.action_end()


def entry(index: int, text: str = "", **more: object) -> Entry:
    role = "assistant" if index % 2 else "user"
    message = Message(role, text or f"text {index}", id=f"m{index}", timestamp=1.75e9 + index)
    return Entry(message, model="model-x" if index % 2 else "", **more)  # pyright: ignore[reportArgumentType]


def branch(count: int) -> tuple[Entry, ...]:
    return tuple(entry(n, f"text {n}\n\n" + "more words " * (n % 7 * 6)) for n in range(count))


LIVE = Entry(Message("assistant", id="live"), status="streaming", model="model-x")


async def shown(
    pilot: Pilot[None], entries: tuple[Entry, ...], empty: Welcome | None = None
) -> Stage:
    app = pilot.app
    assert isinstance(app, Stage)
    app.chat.show("Title", "role · model", entries, empty)
    app.transcript.focus()
    await pilot.pause()
    return app


async def test_it_opens_at_the_end_and_home_goes_to_the_beginning() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(60))
        assert app.rows()[-1].strip().endswith("more words")
        assert app.transcript.follows
        await pilot.press("home")
        assert "text 0" in app.rows()[4]
        assert app.transcript.scroll_y == 0
        await pilot.press("end")
        assert app.transcript.follows


async def test_the_first_message_is_selected_where_all_fit_on_the_screen() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(3))
        await pilot.press("g")
        assert app.transcript.cursor == 0
        await pilot.press("j")
        assert app.transcript.cursor == 1


async def test_only_what_is_seen_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[str] = []
    init = MessageLayout.__init__

    def counted(self: MessageLayout, of: Entry, width: int, **more: object) -> None:
        laid.append(of.message.id)
        init(self, of, width, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(MessageLayout, "__init__", counted)
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(5000))
        assert len(laid) < 20
        entries = app.transcript.entries
        laid.clear()
        app.chat.show("Title", "", (*entries, entry(5000)))
        await pilot.pause()
        assert laid == ["m5000"]


async def test_a_reader_stays_where_they_are_when_what_came_before_is_added() -> None:
    app = Stage()
    async with app.run_test(size=(60, 20)) as pilot:
        whole = branch(200)
        await shown(pilot, whole[-40:])
        await pilot.press("pageup", "k")
        rows, cursor = app.rows(), app.transcript.cursor
        assert cursor is not None
        app.chat.show("A session", "", branch(200))
        assert app.rows() == rows
        assert app.transcript.cursor == cursor + 160
        await pilot.press("end")
        app.chat.show("A session", "", branch(400)[-200:])
        assert app.rows()[-2:] != rows[-2:]


async def test_what_one_sends_is_seen_though_one_had_scrolled_up() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(40))
        await pilot.press("home")
        app.chat.show("Title", "", (*app.transcript.entries, entry(40, "mine")))
        await pilot.pause()
        assert app.rows()[-1].strip() == "mine"


async def test_one_line_up_is_one_line_up_though_heights_were_guessed() -> None:
    async with Stage().run_test(size=(44, 20)) as pilot:
        app = await shown(pilot, branch(40))
        await pilot.press("up")
        for _ in range(60):
            before = app.rows()
            app.transcript.action_move(-1)
            assert app.rows()[1:] == before[:-1]


async def test_a_page_keeps_two_lines() -> None:
    async with Stage().run_test(size=(44, 20)) as pilot:
        app = await shown(pilot, branch(40))
        app.transcript.action_page(-1)
        app.transcript.action_page(-1)
        low = app.rows()
        await pilot.press("pageup")
        high = app.rows()
        assert high[-2:] == low[:2]
        await pilot.press("pagedown")
        assert app.rows() == low


async def test_the_scroll_bar_reaches_both_ends() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(300))
        view = app.transcript
        view.scroll_to(y=0)
        await pilot.pause()
        assert "text 0" in "".join(app.rows())
        view.scroll_to(y=view.max_scroll_y)
        await pilot.pause()
        assert "text 299" in "".join(app.rows())
        assert view.follows


async def test_a_reader_is_left_in_peace_while_a_reply_grows() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (*branch(30), LIVE))
        app.transcript.action_page(-1)
        app.transcript.action_page(-1)
        before = app.rows()
        reply = advance(Reply(), TextDelta("one\n\ntwo\n\n" * 20))
        app.chat.stream("live", reply)
        app.transcript.flush()
        await pilot.pause()
        assert app.rows()[:-1] == before[:-1]
        assert "new text below" in app.rows()[-1]
        await pilot.press("end")
        assert app.rows()[-1].strip() == "two"
        assert "new text below" not in "".join(app.rows())


async def test_the_mark_of_new_text_can_be_clicked() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (*branch(30), LIVE))
        app.transcript.action_page(-1)
        app.transcript.action_page(-1)
        app.chat.stream("live", advance(Reply(), TextDelta("fresh")))
        app.transcript.flush()
        await pilot.pause()
        await pilot.click(Transcript, offset=(30, app.transcript.size.height - 1))
        assert app.rows()[-1].strip() == "fresh"


async def test_the_end_is_followed_while_a_reply_grows_and_ends() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (*branch(30), LIVE))
        reply = Reply()
        for number in range(50):
            reply = advance(reply, TextDelta(f"line {number}\n\n"))
            app.chat.stream("live", reply)
            app.transcript.flush()
            assert app.rows()[-1].strip() == f"line {number}"
        streamed = app.rows()
        done = Entry(Message("assistant", reply.text, id="live"), model="model-x")
        app.chat.show("Title", "", (*app.transcript.entries[:-1], done))
        await pilot.pause()
        assert app.rows() == streamed


async def test_bursts_of_tokens_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    settles = 0
    lay_out = Viewport.lay_out

    def counted(self: Viewport[TextLine]) -> None:
        nonlocal settles
        settles += 1
        lay_out(self)

    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (LIVE,))
        monkeypatch.setattr(Viewport, "lay_out", counted)
        reply = Reply()
        for _ in range(500):
            reply = advance(reply, TextDelta("word "))
            app.chat.stream("live", reply)
        assert settles <= 10
        app.transcript.flush()
        await pilot.pause()
        assert "word word" in "".join(app.rows())

        # A terminal far away is sent the rows that have changed, and every one of them.
        view = app.transcript
        drawn: list[int] = []

        def refresh(*regions: Region) -> None:
            drawn.extend(y for region in regions or (whole,) for y in region.line_range)

        other = Entry(Message("assistant", id="other"), status="streaming", model="model-x")
        app.chat.show("Title", "", (other,))
        await pilot.pause()
        reply, whole, height = Reply(), view.size.region, view.size.height
        monkeypatch.setattr(view, "refresh", refresh)
        screen, pieces = [view.render_line(y) for y in range(height)], 0
        for block in catalog.blocks(400):
            for at in range(0, len(block), 8):
                reply = advance(reply, TextDelta(block[at : at + 8]))
                drawn_before, pieces = len(drawn), pieces + 1
                app.chat.stream("other", reply)  # draws it itself, if it is time to
                view.flush()
                now = [view.render_line(y) for y in range(height)]
                for y in drawn[drawn_before:]:
                    screen[y] = now[y]
                assert screen == now
                assert max(drawn[drawn_before:], default=0) < len(view._viewport.rows), "no blank"
        assert view.follows
        assert len(drawn) * 3 < pieces * height
        view.action_page(-1)
        view.action_page(-1)
        for words, rows in (("more ", [height - 1]), ("and more", [])):
            drawn.clear()
            reply = advance(reply, TextDelta(words))
            app.chat.stream("other", reply)
            view.flush()
            assert drawn == rows, "the mark that there is new text, once"


async def test_retry_is_asked_for_by_key_and_click() -> None:
    failed = entry(1, status="failed", error="No answer.", advice="Try again.")
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), failed))
        await pilot.press("r")
        row = next(y for y, text in enumerate(app.rows()) if "Regenerate" in text)
        await pilot.click(Transcript, offset=(8, row))
        assert app.actions.run == [("retry", "m1"), ("retry", "m1")]


LONG = "\n\n".join(f"line {n}" for n in range(40))


async def test_a_long_reply_opens_at_its_beginning() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), entry(1, LONG)))
        assert any("line 0" in row for row in app.rows())
        assert not app.transcript.follows
        app.chat.show("Title", "", (entry(4), entry(5, "short")), session_id="other")
        await pilot.pause()
        assert app.transcript.follows


async def test_text_of_another_version_is_not_below() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        earlier = branch(30)
        app = await shown(pilot, (*earlier, replace(LIVE, sibling=1, siblings=2)))
        app.transcript.action_page(-1)
        app.chat.stream("live", advance(Reply(), TextDelta("one\n\ntwo\n\n" * 20)))
        app.transcript.flush()
        await pilot.pause()
        assert "new text below" in app.rows()[-1]
        other = Entry(Message("assistant", LONG, id="other"), sibling=0, siblings=2)
        app.chat.show("Title", "", (*earlier, other))
        await pilot.pause()
        assert "‹ 1/2 ›" in "".join(app.rows())
        assert "new text below" not in "".join(app.rows())


async def test_another_version_opens_with_its_header() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        first, *more = branch(20)
        short = entry(21, "short", sibling=0, siblings=2)
        app = await shown(pilot, (first, *more, short))
        assert app.transcript.follows
        message = Message("assistant", LONG, id="other")
        app.chat.show("Title", "", (first, *more, Entry(message, sibling=1, siblings=2)))
        await pilot.pause()
        rows = app.rows()
        assert any("‹ 2/2 ›" in row for row in rows)
        assert any("line 0" in row for row in rows)
        app.chat.show("Title", "", (first, *more, short))
        await pilot.pause()
        assert any("‹ 1/2 ›" in row for row in app.rows())
        assert app.transcript.follows


WIDE_CODE = "```python\n" + "x = [" + ", ".join(map(str, range(40))) + "]\ny = 1\n```"


async def test_wide_code_is_wrapped_or_cut_and_scrolled() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        nested_code = WIDE_CODE.replace("\n", "\n  ")
        app = await shown(pilot, (entry(0), entry(1, f"{WIDE_CODE}\n\n- {nested_code}")))
        wrapped = [row for row in app.rows() if row.strip()]
        await pilot.press("W")
        cut = [row for row in app.rows() if row.strip()]
        assert len(cut) < len(wrapped)
        [code, nested] = [row for row in cut if "x = [" in row]
        assert code.endswith("›")
        assert nested.endswith("›")
        assert sum("y = 1" in row for row in cut) == 2
        await pilot.press(">", "shift+right")
        scrolled = [row for row in app.rows() if "‹" in row and "›" in row]
        assert len(scrolled) == 2
        assert "x = [" not in scrolled[0]
        await pilot.press("<", "<", "<")
        assert [row for row in app.rows() if row.strip()] == cut
        await pilot.press("W")
        assert [row for row in app.rows() if row.strip()] == wrapped
        await pilot.press("c")
        assert app.copied[-1].splitlines()[1] == "y = 1"


async def test_the_composer_scrolls_the_conversation() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(60))
        composer = app.chat.composer
        composer.focus()
        await pilot.press("home")
        await until(pilot, lambda: any("text 0" in row for row in app.rows()))
        await pilot.press("pagedown")
        await until(pilot, lambda: not any(row.strip() == "text 0" for row in app.rows()))
        await pilot.press("end")
        await until(pilot, lambda: app.transcript.follows)
        await pilot.press(*"two words", "pageup")
        await until(pilot, lambda: not app.transcript.follows)
        await pilot.press("home", "x", "end", "y")
        assert composer.text == "xtwo wordsy", "with a draft they move in it"
        assert not app.transcript.follows


async def test_a_hint_names_a_key_that_works_where_the_focus_is() -> None:
    failed = entry(1, "half", status="failed", error="It failed.")
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (begun := entry(0), failed))
        app.chat.set_hint_keys(DEFAULT_KEYS)
        assert any(" r  Regenerate" in row for row in app.rows())
        app.chat.composer.focus()
        await until(pilot, lambda: any("Ctrl+R  Regenerate" in row for row in app.rows()))
        app.chat.show("Title", "", (begun, failed, entry(2)))
        await pilot.pause()
        assert not any("Ctrl+R" in row for row in app.rows()), "Ctrl+R regenerates another reply"
        assert any("Regenerate" in row for row in app.rows())


async def test_a_key_says_what_it_does_not_find() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), LIVE))
        for action in ("copy_code", "hit(1)"):
            await app.run_action(action, app.transcript)
        await pilot.press("space", "k", "k", "y")
        assert app.said == [
            "There is no code block in this message.",
            "Nothing was found. / searches this conversation.",
            "Nothing of this message is folded.",
            "Copied the message: 6 characters.",
        ]
        assert app.copied == ["text 0"]


async def test_reasoning_and_calls_unfold_by_key_and_click() -> None:
    message = Message(
        "assistant",
        "answer",
        id="a",
        tool_calls=(ToolCall("1", "look", '{"q": "wal"}'),),
        semantics=MessageSemantics((ReasoningBlock("anthropic", "deep thought"),)),  # pyright: ignore[reportArgumentType]
    )
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (Entry(message, model="m"),))
        assert "▸ Reasoning (2 words)" in "\n".join(app.rows())
        assert "deep thought" not in "\n".join(app.rows())
        await pilot.press("space")
        assert "│ deep thought" in "\n".join(app.rows())
        assert '"q": "wal"' in "\n".join(app.rows())
        await pilot.press("enter")
        row = next(y for y, text in enumerate(app.rows()) if "Reasoning (" in text)
        await pilot.click(Transcript, offset=(6, row))
        assert "│ deep thought" in "\n".join(app.rows())
        assert '"q": "wal"\n' not in "\n".join(app.rows())


async def test_a_message_that_unfolds_past_the_screen_is_still_the_one_that_folds() -> None:
    deep = MessageSemantics((ReasoningBlock("anthropic", "deep\n\n" * 40),))  # pyright: ignore[reportArgumentType]
    async with Stage().run_test(size=(60, 24)) as pilot:
        thought = Entry(Message("assistant", "answer", id="a", semantics=deep), model="m")
        app = await shown(pilot, (*branch(3), thought))
        folded = app.rows()
        await pilot.press("enter")
        assert "▾ Reasoning" in "\n".join(app.rows())
        await pilot.press("enter")
        assert app.rows() == folded


async def test_keys_go_from_message_to_message_and_copy_the_one_they_are_on() -> None:
    async with Stage().run_test(size=(60, 20)) as pilot:
        app = await shown(pilot, branch(20))
        await pilot.press("y", "k", "y")
        assert [text.split("\n")[0] for text in app.copied] == ["text 19", "text 18"]
        await pilot.press("end", "y")
        assert app.copied[-1].startswith("text 19")


async def test_a_message_can_be_revealed() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(200))
        assert app.transcript.show_message("m40")
        assert "text 40" in app.rows()[2]
        assert not app.transcript.show_message("unknown")


async def test_links_are_reported_and_not_followed() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, "see [docs](https://a.b/c)"),))
        row = next(y for y, text in enumerate(app.rows()) if "docs" in text)
        await pilot.click(Transcript, offset=(7, row))
        assert app.actions.run == [("open_link", "https://a.b/c", "m1")]


async def test_the_mouse_selects_text() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(1, "first words\n\nlast words"),))
        rows = app.rows()
        first = next(y for y, text in enumerate(rows) if "first" in text)
        await pilot.mouse_down(Transcript, offset=(8, first))
        await pilot.hover(Transcript, offset=(5, first + 2))
        await pilot.mouse_up(Transcript, offset=(5, first + 2))
        assert app.screen.get_selected_text() == "words\n\nlast"
        ground = app.screen.get_component_rich_style("screen--selection").bgcolor
        lit = [
            s.text
            for s in app.transcript.render_line(first)
            if s.style and s.style.bgcolor == ground
        ]
        assert "".join(lit).strip() == "words"
        await pilot.press("y")
        assert app.copied == ["words\n\nlast"]


async def test_selected_whole_messages_are_copied_as_written() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0, "**a**"), entry(1, "*b*")))
        assert app.transcript.get_selection(SELECT_ALL) == ("**a**\n\n*b*", "\n")
        some = Selection(Offset(0, 0), None)
        assert app.transcript.get_selection(some) == ("**a**\n\n*b*", "\n")


async def test_an_empty_session_shows_the_first_screen() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (), Welcome("mirror"))
        assert "is a practice model" in "".join(app.rows())
        app.chat.show("Title", "", branch(2))
        await pilot.pause()
        assert "practice model" not in "".join(app.rows())


async def test_another_width_keeps_the_first_line_in_sight() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(80))
        app.transcript.show_message("m30")
        await pilot.resize_terminal(40, 24)
        assert "text 30" in "".join(app.rows()[:4])
        await pilot.press("end")
        await pilot.resize_terminal(90, 30)
        assert "text 79" in "".join(app.rows())


async def test_another_width_keeps_the_place_in_a_long_paragraph() -> None:
    long = entry(1, " ".join(f"word{number:03}" for number in range(900)))
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), long, *branch(4)[2:]))
        app.transcript.action_begin()
        for _ in range(3):
            await pilot.press("pagedown")
        first = app.rows()[1].split()[1]
        assert first.startswith("word")
        number = int(first[4:])
        for width in (40, 100, 50, 60):
            await pilot.resize_terminal(width, 24)
            now = int(app.rows()[1].split()[1][4:])
            assert abs(now - number) <= 12, "one line of the widest"
        app.transcript.action_end()
        await pilot.resize_terminal(80, 24)
        assert app.transcript.follows


def is_scrolled_to_the_end(transcript: Transcript) -> bool:
    bar = transcript.vertical_scrollbar
    total = transcript.virtual_size.height
    return bar.window_virtual_size == total == bar.position + bar.window_size


async def test_the_end_is_followed_at_any_size() -> None:
    long = entry(2, "\n\n".join(str(n) for n in range(400)))
    grown = Reply()
    async with Stage().run_test(size=(120, 35)) as pilot:
        app = await shown(pilot, (entry(0), entry(1), long, LIVE))
        for n, size in enumerate(((80, 24), (120, 35), (160, 45), (70, 18), (50, 18))):
            grown = advance(grown, TextDelta(f"{'words of it ' * 30}\n\npart {n}\n\n"))
            app.transcript.stream("live", grown)
            app.transcript.flush()
            await pilot.resize_terminal(*size)
            assert app.transcript.follows
            assert f"part {n}" in "".join(app.rows()[-3:])
            await until(pilot, lambda: is_scrolled_to_the_end(app.transcript))


async def test_another_theme_lays_nothing_out_again() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(10))
        before, style = app.rows(), _first_style(app)
        app.theme = "textual-light"
        await pilot.pause()
        assert app.rows() == before
        assert _first_style(app) != style


def _first_style(app: Stage) -> object:
    segment: Segment = next(iter(app.transcript.render_line(0)))
    return segment.style and segment.style.bgcolor


async def test_another_session_forgets_the_place() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(80))
        await pilot.press("home")
        app.chat.show(
            "Other", "", tuple(Entry(Message("user", f"o{n}", id=f"o{n}")) for n in range(50))
        )
        await pilot.pause()
        assert app.rows()[-1].strip() == "o49"


async def test_another_version_of_the_first_message_keeps_the_place() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, Stage)
        for name in "new", "old":
            first = Entry(Message("user", f"{name} text", id=name), siblings=2)
            app.chat.show("Title", "", (first, *branch(80)[1:]), session_id="a")
            if name == "new":
                app.transcript.focus()
                await pilot.press("home")
            await pilot.pause()
            assert f"{name} text" in "".join(app.rows())
            assert app.transcript.current is first
        app.chat.show("Other", "", branch(80), session_id="b")
        await pilot.pause()
        assert "text 0" not in "".join(app.rows())
        assert app.transcript.current is app.transcript.entries[-1]


async def test_a_shorter_branch_does_not_break_it() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        entries = branch(80)
        app = await shown(pilot, entries)
        await pilot.press("ctrl+up", "ctrl+up")
        app.chat.show("Title", "", entries[:3])
        await pilot.pause()
        assert "text 2" in "".join(app.rows())
        app.chat.show("Title", "", ())
        view = app.transcript
        for act in (view.action_begin, view.action_end, view.action_unfold, view.action_copy):
            act()
        for step in (-1, 1):
            view.action_move(step)
            view.action_page(step)
            view.action_message(step)
        assert app.said[-1] == "There is nothing to copy yet."
        assert app.copied == []


async def test_the_wheel_scrolls() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, branch(80))
        before = app.rows()
        app.transcript.post_message(
            events.MouseScrollUp(app.transcript, 5, 5, 0, 0, 0, False, False, False)
        )
        await pilot.pause()
        assert app.rows()[3:] == before[:-3]


async def test_a_megabyte_is_read_only_where_it_is_seen() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0), entry(1, "word " * 200_000), entry(3, "tail")))
        assert app.rows()[-1].strip() == "tail"
        app.transcript.action_page(-1)
        app.transcript.action_begin()
        app.transcript.action_page(1)
        assert "word word" in "".join(app.rows())


ROLES = st.sampled_from(["user", "assistant", "tool", "system"])


@given(st.lists(st.tuples(SOURCES, ROLES), min_size=8, max_size=12), st.integers(12, 70))
@settings(max_examples=3)
async def test_every_strip_is_as_wide_as_the_screen(
    messages: list[tuple[str, str]], width: int
) -> None:
    entries: list[Entry] = []
    for text, role in messages:
        message = Message(role, text, id=text[:5], name=text[:20])  # pyright: ignore[reportArgumentType]
        failed = Entry(
            message, model=text[:30], status="failed", error=text, advice=text, usage=Usage(1, 2)
        )
        entries += [failed, Entry(message, model=text, finish=text)]
    async with Stage().run_test(size=(width, 24)) as pilot:
        app = await shown(pilot, tuple(entries))
        view = app.transcript
        wide = view.scrollable_content_region.width
        while True:
            for y in range(view.size.height):
                strip = view.render_line(y)
                assert strip.cell_length == wide
                assert sum(segment.cell_length for segment in strip) == wide
                assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in strip.text)
            if view.scroll_y == 0:
                break
            view.action_page(-1)
