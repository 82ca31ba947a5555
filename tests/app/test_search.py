"""The search screen: what it asks, what it shows, and where it leads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support.app import (
    burst,
    leave_dialog,
    make_app,
    opened,
    say,
    settle,
    until,
    workspace_of,
)
from tests.support.hostile_names import EVIL, shown
from tests.support.messages import make_message, thought
from tests.support.old_sessions import filled
from tests.support.pictures import Album
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.search.hit_list import HitList, HitPreview
from tui_chat.ui.search.query_text import KnownNames
from tui_chat.ui.search.screen import SearchAnswer, SearchScreen
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.ui.themes import color_defaults
from tui_chat.ui.widgets.find_bar import FindBar

NOW = 1_767_268_800.0


def hit(number: int, snippet: str = "the fox runs", words: str = "fox") -> Hit:
    begin = snippet.index(words)
    return Hit(
        *(f"s{number}", f"m{number}", f"Session {number}", "user", snippet),
        ((begin, begin + len(words)),),
        NOW - 60 * number,
    )


class Stage(App[None]):
    """The screen, and what it asks."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Query] = []
        self.pointed: list[Hit] = []
        self.ended: list[Hit | None] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return color_defaults(self.current_theme.dark)

    def on_mount(self) -> None:
        known = KnownNames(tag=("work",))
        screen = SearchScreen(known, NOW, self.asked.append, self.pointed.append)
        self.push_screen(screen, self.ended.append)

    @property
    def search(self) -> SearchScreen:
        assert isinstance(self.screen, SearchScreen)
        return self.screen

    def lines(self) -> list[str]:
        view = self.screen.query_one(HitList)
        return [view.render_line(y).text.strip() for y in range(view.size.height)]

    def state(self) -> str:
        return str(self.screen.query_one(".search--state", Static).render())


async def pressed(pilot: Pilot[None], *keys: str) -> Stage:
    await pilot.press(*keys)
    await settle(pilot)
    assert isinstance(pilot.app, Stage)
    return pilot.app


async def test_only_the_last_text_typed_during_a_query_is_searched() -> None:
    async with Stage().run_test(size=(120, 40)) as pilot:
        app = await pressed(pilot, *"fox")
        assert [query.text for query in app.asked] == ["f"]
        app.search.show(SearchAnswer(app.asked[0], (hit(1),)))
        await settle(pilot)
        assert [query.text for query in app.asked] == ["f", "fox"]
        assert "Session 1" in app.lines()[0]  # better than nothing, until the next is there
        app.search.show(SearchAnswer(app.asked[1], (hit(2), hit(3))))
        await settle(pilot)
        assert "Session 2" in app.lines()[0]
        assert app.state() == "Best first · 2 found"
        assert len(app.asked) == 2


async def test_hits_show_their_words_and_can_be_opened() -> None:
    async with Stage().run_test(size=(160, 40)) as pilot:
        app = await pressed(pilot, "x")
        wide = "中文搜索的结果很长" * 20
        app.search.show(SearchAnswer(app.asked[0], (hit(1), hit(2, wide, "搜索"), hit(70))))
        await settle(pilot)
        assert app.lines()[:3] == [app.lines()[0], "the fox runs", ""]
        assert app.lines()[0].split() == ["Session", "1", "You", "·", "1m"]
        await pressed(pilot, "down")
        assert app.pointed[-1] == hit(2, wide, "搜索")
        app.search.show_around(hit(1), (Entry(Message.of("user", "late", "m1")),))
        view = app.screen.query_one(HitPreview)
        assert "late" not in "".join(view.render_line(y).text for y in range(8))
        await pressed(pilot, "down", "enter")
        assert app.ended == [hit(70)]


async def test_the_preview_shows_the_hit_with_its_first_mark_in_sight() -> None:
    async with Stage().run_test(size=(160, 30)) as pilot:
        app = await pressed(pilot, "x")
        app.search.show(SearchAnswer(app.asked[0], (hit(1),)))
        await settle(pilot)
        long = "line\n" * 400 + "here is the FOX\x1b[2J\n" + "after\n" * 400
        before = Entry(Message.of("assistant", "said before", "m0"))
        app.search.show_around(hit(1), (before, Entry(Message.of("user", long, "m1"), "m0")))
        await settle(pilot)
        view = app.screen.query_one(HitPreview)
        seen = [view.render_line(y).text.strip() for y in range(view.size.height)]
        assert "here is the FOX␛[2J" in seen


async def test_no_hits_and_faults_are_reported_with_advice() -> None:
    async with Stage().run_test(size=(100, 30)) as pilot:
        app = await pressed(pilot, *"x tag:w")
        app.search.show(SearchAnswer(app.asked[0]))
        await settle(pilot)
        app.search.show(SearchAnswer(app.asked[1]))
        await settle(pilot)
        said = "\n".join(app.lines())
        assert "Nothing was found." in said
        assert "The filters exclude the rest" in said
        assert app.asked[-1].tag == "work"
        await pressed(pilot, "z")
        assert app.state() == "No tag is called “wz”."
        app.search.show(SearchAnswer(app.asked[-1], fault="Type a word."))
        await settle(pilot)
        assert "Type a word." in "\n".join(app.lines())


async def test_a_filter_alone_lists_the_newest() -> None:
    async with Stage().run_test(size=(120, 40)) as pilot:
        app = await pressed(pilot)
        app.search.query_one(Input).value = "from:user"
        await settle(pilot)
        assert [(query.text, query.message_role) for query in app.asked] == [("", "user")]
        app.search.show(SearchAnswer(app.asked[0], (replace(hit(1), marks=()),)))
        await settle(pilot)
        assert "the fox runs" in " ".join(app.lines())
        assert app.state() == "Newest first · 1 found"
        app.search.query_one(Input).value = "from:user tag:work"
        await settle(pilot)
        app.search.show(SearchAnswer(app.asked[-1]))
        await settle(pilot)
        assert "No message matches" in " ".join(app.lines())


async def test_the_order_is_changed_a_filter_completed_and_esc_ends() -> None:
    async with Stage().run_test(size=(100, 30)) as pilot:
        app = await pressed(pilot, *"a")
        app.search.show(SearchAnswer(app.asked[0]))
        await pressed(pilot, "ctrl+s")
        assert app.asked[-1].order == "newest"
        app.search.show(SearchAnswer(app.asked[-1]))
        await pressed(pilot, *" ta", "tab", "tab")
        assert app.search.typed == "a tag:work "
        await pressed(pilot, "escape")
        assert app.ended == [None]


async def test_clicks_select_and_open() -> None:
    async with Stage().run_test(size=(100, 30)) as pilot:
        app = await pressed(pilot, *"a")
        app.search.show(SearchAnswer(app.asked[0], (hit(1), hit(2))))
        await settle(pilot)
        await pilot.click(HitList, offset=(5, 4))
        await settle(pilot)
        assert app.pointed[-1] == hit(2)
        await pilot.click(HitList, offset=(5, 4))
        await settle(pilot)
        assert app.ended == [hit(2)]


# In the app


async def found(pilot: Pilot[None], app: TuiChat) -> None:
    await until(pilot, lambda: bool(app.screen.query_one(HitList).hits))
    await settle(pilot)


async def test_a_hit_is_opened_on_its_branch_with_its_words_marked(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await say(pilot, "the purple elephant 大象")
        workspace = app.workspace
        assert workspace is not None
        first = workspace.state.entries[0]
        await workspace.branches.edit(first.message.id, "another branch")
        assert workspace.state.entries[0].message.content == "another branch"
        await workspace.sessions.new("")
        await pilot.press("ctrl+f", *"大 from:user")
        await found(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(workspace.state.entries) and len(app.screen_stack) == 1)
        await settle(pilot)
        assert (
            workspace.state.entries[0] == first
            or workspace.state.entries[0].message == first.message
        )
        transcript = app.query_one(Transcript)
        assert transcript.has_focus
        assert transcript.current is not None
        assert transcript.current.message.id == first.message.id

        block = thought(Protocol.GEMINI, "Maybe a tangerine,\nor two.")
        message = make_message("assistant", "Two.", reasoning=(block,))
        await workspace.store.messages.add(workspace.state.session_id, message, first.message.id)
        await workspace.sessions.new("")
        await pilot.press("ctrl+f", *"tangerine")
        view = app.screen.query_one(HitList)
        await until(pilot, lambda: any(hit.place == "reasoning" for hit in view.hits))
        await settle(pilot)
        assert "Reasoning" in view.render_line(0).text
        preview = app.screen.query_one(HitPreview)
        lines = [preview.render_line(y).text.strip() for y in range(preview.size.height)]
        at = lines.index("Reply · Reasoning")
        assert lines[at + 1 : at + 3] == ["Maybe a tangerine,", "or two."]
        await pilot.press("enter")
        await until(pilot, lambda: bool(workspace.state.entries) and len(app.screen_stack) == 1)
        await settle(pilot)
        shown = [transcript.render_line(y).text for y in range(transcript.size.height)]
        assert any("Maybe a tangerine" in line for line in shown), "it is unfolded"


async def test_a_hit_in_an_attached_file_leads_to_its_message(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        await say(pilot, "one")
        workspace = app.workspace
        assert workspace is not None
        text = "first line\n" * 900 + "the tangerine is here\nlast line"
        files = (MediaBlock("image", "image/png", data="AA==", name="a.png"),
                 MediaBlock("file", "text/plain", text=text, name="report.txt"))  # fmt: skip
        question = make_message("user", "Read it.", parts=files)
        session_id = workspace.state.session_id
        entry = await workspace.store.messages.add(
            session_id, question, workspace.state.entries[-1].message.id
        )
        await workspace.sessions.new("")
        await pilot.press("ctrl+f", *"tangerine")
        view = app.screen.query_one(HitList)
        await until(pilot, lambda: any(hit.place == "attachment" for hit in view.hits))
        await settle(pilot)
        assert "Attachment" in view.render_line(0).text
        preview = app.screen.query_one(HitPreview)
        lines = [preview.render_line(y).text.strip() for y in range(preview.size.height)]
        at = lines.index("the tangerine is here")
        assert lines[at + 1] == "last line"
        await pilot.press("enter")
        await until(pilot, lambda: bool(workspace.state.entries) and len(app.screen_stack) == 1)
        await settle(pilot)
        transcript = app.query_one(Transcript)
        assert transcript.current is not None
        assert transcript.current.message.id == entry.message.id
        assert any("v opens the file" in told.message for told in app.notifications.log)
        hint = app.chat.activity.hint
        assert hint.startswith("The only hit: Esc back to the draft"), hint
        await pilot.press("ctrl+f", *"report.txt")
        await until(pilot, lambda: bool(app.screen.query_one(HitList).hits))
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await settle(pilot)
        shown = [transcript.render_line(y).text for y in range(transcript.size.height)]
        assert any("report.txt" in line for line in shown)


async def test_escape_leads_back_to_the_draft_and_keeps_the_query(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        await say(pilot, "the purple elephant, an elephant")
        await pilot.press("shift+tab", "slash", *"purple", "enter")
        await until(pilot, lambda: app.query_one(FindBar).display)
        await pilot.press("ctrl+f", *"elephant from:user")
        await found(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(Transcript).has_focus)
        await settle(pilot)
        assert not app.query_one(FindBar).display, "it has other words"
        hint = app.chat.activity.hint
        assert hint.startswith("Hit 1 of 4: n N others, Esc back to the draft, Ctrl+F all results")
        await pilot.press("n")
        await until(pilot, lambda: app.chat.activity.hint.startswith("Hit 2 of 4"))
        await pilot.press("escape")
        composer = app.query_one(Composer)
        await until(pilot, lambda: composer.has_focus)
        await settle(pilot)
        assert not app.chat.activity.hint.startswith("Hit")

        composer.text = "/model lorem"
        await pilot.press("enter")
        await until(pilot, lambda: workspace_of(app).state.effective_model == "lorem")
        await pilot.press(*"draft", "ctrl+f", *"zebra", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert composer.has_focus
        assert composer.text == "draft"
        await pilot.press("ctrl+f")
        await settle(pilot)
        assert isinstance(app.screen, SearchScreen)
        assert app.screen.typed == "zebra"
        await pilot.press(*"elephant model:ec", "tab")  # replaces what was searched for last
        assert app.screen.typed == "elephant model:echo ", "it replied once, and is asked no more"
        await found(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

        # What is typed right after the key goes into the query.
        composer.text = ""
        burst(app, *"draft", "ctrl+f", *"pine")
        await leave_dialog(pilot, SearchScreen, "pine")
        burst(app, "ctrl+f", *"and ")
        app.post_message(events.Paste("pasted"))
        await leave_dialog(pilot, SearchScreen, "and pasted")
        assert composer.text == "draft"


async def test_hostile_names_are_displayed_harmlessly(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await say(pilot, f"{EVIL} pine")
        await workspace.session_list.rename(workspace.state.session_id, EVIL)
        await pilot.press("ctrl+f", *"pine")
        await found(pilot, app)
        await shown(pilot, "the search")


async def test_a_filter_without_matches_names_the_configured_key(tmp_path: Path) -> None:
    app = make_app(tmp_path, keys=(("search", "ctrl+k"),))
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, SearchScreen))
        await pilot.press("escape")
        rows = app.query_one(SessionsPane).rows
        app.query_one(SessionsPane).filter.value = "nothing has this"
        await until(pilot, lambda: "Ctrl+K searches the messages." in rows.empty_text)


async def test_searching(album: Album, tmp_path: Path) -> None:
    await filled(tmp_path)
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+f", *"fox")
        await until(pilot, lambda: len(app.screen.query_one(HitList).hits) > 2)
        await pilot.press("down")
        await settle(pilot)
        await album.take(pilot, "found")
