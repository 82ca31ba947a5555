"""The search screen: what it asks, what it shows, and where it leads."""

from __future__ import annotations

from pathlib import Path

from textual import events
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

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
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.search.screen import SearchScreen
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.ui.widgets.find_bar import FindBar


def search_screen(app: TuiChat) -> SearchScreen:
    assert isinstance(app.screen, SearchScreen)
    return app.screen


def hits(app: TuiChat) -> list[str]:
    """The lines of the hits."""
    options = app.screen.query_one(OptionList)
    return [str(option.prompt) for option in options.options]


def preview(app: TuiChat) -> str:
    return str(app.screen.query_one("#search-preview", Static).render())


def state(app: TuiChat) -> str:
    return str(app.screen.query_one("#search-state", Static).render())


def nothing(app: TuiChat) -> str:
    return str(app.screen.query_one("#search-nothing", Static).render())


async def found(pilot: Pilot[None], app: TuiChat) -> None:
    await until(pilot, lambda: bool(search_screen(app).hits))
    await settle(pilot)


async def test_what_is_found_and_what_is_not(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        long = "line\n" * 400 + "here is the FOX\x1b[2J\n" + "after\n" * 400
        await say(pilot, long)
        await workspace_of(app).sessions.new("")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: isinstance(app.screen, SearchScreen))
        await until(pilot, lambda: bool(app.screen.query("#search-nothing")))
        await until(pilot, lambda: "Type words of a message" in nothing(app))
        await pilot.press(*"fox")
        await until(pilot, lambda: state(app).startswith("Best first · "))
        assert hits(app)[0].splitlines()[0].endswith((" · You · now", " · Reply · now"))
        await until(pilot, lambda: "here is the FOX␛[2J" in preview(app).splitlines())
        await pilot.press(*" tag:w")
        await until(pilot, lambda: state(app) == "No tag is called “w”.")
        await pilot.press("ctrl+u", *"from:user")
        await until(pilot, lambda: state(app) == "Newest first · 1 found")
        await pilot.press(*" zebra")
        await until(pilot, lambda: "Nothing was found." in nothing(app))
        assert "The filters exclude the rest" in nothing(app)
        await pilot.press("ctrl+u", *"after")
        await found(pilot, app)
        await pilot.click(OptionList, offset=(5, 1))
        await until(pilot, lambda: bool(workspace_of(app).state.entries))


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
        await until(pilot, lambda: any("Reasoning" in line for line in hits(app)))
        await until(pilot, lambda: "Reply · Reasoning" in preview(app).splitlines())
        lines = preview(app).splitlines()
        at = lines.index("Reply · Reasoning")
        assert lines[at + 1 : at + 3] == ["Maybe a tangerine,", "or two."]
        await pilot.press("enter")
        await until(pilot, lambda: bool(workspace.state.entries) and len(app.screen_stack) == 1)
        await settle(pilot)
        shown = [transcript.render_line(y).text for y in range(transcript.size.height)]
        assert any("Reasoning" in line for line in shown)


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
        await until(pilot, lambda: any("Attachment" in line for line in hits(app)))
        await until(pilot, lambda: "the tangerine is here" in preview(app).splitlines())
        lines = preview(app).splitlines()
        at = lines.index("the tangerine is here")
        assert lines[at + 1] == "last line"
        await pilot.press("enter")
        await until(pilot, lambda: bool(workspace.state.entries) and len(app.screen_stack) == 1)
        await settle(pilot)
        transcript = app.query_one(Transcript)
        assert transcript.current is not None
        assert transcript.current.message.id == entry.message.id
        assert any("o opens the file" in told.message for told in app.notifications.log)
        await pilot.press("ctrl+f", *"report.txt")
        await found(pilot, app)
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
        await pilot.press("n", "escape")
        assert app.query_one(Transcript).has_focus, "the search has ended, and no more"
        await pilot.press("escape")
        composer = app.query_one(Composer)
        await until(pilot, lambda: composer.has_focus)

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
        await pilot.press(*"elephant model:ec")  # replaces what was searched for last
        assert app.screen.typed == "elephant model:ec", "it replied once, and is asked no more"
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
        await until(pilot, lambda: "Ctrl+K searches messages." in rows.empty_text)


async def test_searching(album: Album, tmp_path: Path) -> None:
    await filled(tmp_path)
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await pilot.press("ctrl+f", *"fox")
        await until(pilot, lambda: len(search_screen(app).hits) > 2)
        await pilot.press("down")
        await settle(pilot)
        await album.take(pilot, "found")
