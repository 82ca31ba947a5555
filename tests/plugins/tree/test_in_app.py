"""The tree in the app, as a user walks through it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.plugins.tree.trees import NOON, random_tree
from tests.support.app import asked, make_app, opened, replied, say, settle, until
from tests.support.databases import provide_database
from tests.support.palette import offered
from tests.support.pictures import Album
from tui_chat.models.session import SessionTranscript
from tui_chat.models.text import OriginKind
from tui_chat.plugins.tree.layout import Row
from tui_chat.plugins.tree.screen import TreeScreen
from tui_chat.plugins.tree.tree_list import TreeList
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.palette import match_score
from tui_chat.ui.widgets.find_bar import FindBar
from tui_chat.workspace.workspace import Workspace


def workspace_of(app: TuiChat) -> Workspace:
    assert app.workspace is not None
    return app.workspace


def shown(app: TuiChat) -> list[str]:
    return [entry.message.content for entry in workspace_of(app).state.entries]


def tree_list(app: TuiChat) -> TreeList:
    return app.screen.query_one(TreeList)


def row(app: TuiChat) -> Row:
    current = tree_list(app).row
    assert current is not None
    return current


def text_at(app: TuiChat, line: int) -> str:
    return tree_list(app).draw_line(line, 120).text


async def stored(folder: Path, transcript: SessionTranscript) -> None:
    store = await Store.open(
        provide_database(folder / "chat.db"), now=lambda: NOON, new_id=lambda: "id"
    )
    await store.transcripts.add(transcript)
    await store.settings.set("session", transcript.session.session_id)
    await store.close()


async def at_tree(pilot: Pilot[None], app: TuiChat) -> None:
    app.chat.transcript.focus()
    await pilot.press("b")
    await until(pilot, lambda: isinstance(app.screen, TreeScreen))
    await until(pilot, lambda: bool(tree_list(app).text_of(row(app).first)))
    await settle(pilot)


async def left_tree(pilot: Pilot[None], app: TuiChat) -> None:
    await until(pilot, lambda: not isinstance(app.screen, TreeScreen))
    await settle(pilot)


@asynccontextmanager
async def forked(folder: Path) -> AsyncIterator[tuple[Pilot[None], TuiChat]]:
    """Two exchanges, the second of which was edited: two branches, the tree on the screen."""
    async with make_app(folder, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "first words")
        await say(pilot, "second words")
        workspace = workspace_of(app)
        edited = workspace.state.entries[2].message.id
        await workspace.branches.edit(edited, "other words", send=True)
        await replied(pilot)
        await at_tree(pilot, app)
        yield pilot, app


async def test_the_tree_of_a_session(album: Album, tmp_path: Path) -> None:
    await stored(tmp_path, random_tree(400, 30))
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await workspace_of(app).branches.name_place("m000201", "the long one")
        await pilot.press(*"/tree", "enter")
        await until(pilot, lambda: isinstance(app.screen, TreeScreen))
        await pilot.press("up", "up", "left", "up", "up", "right")
        await album.take(pilot, "tree")


async def test_branches_are_compared_and_shown(tmp_path: Path) -> None:
    async with forked(tmp_path) as (pilot, app):
        assert tree_list(app).row_count == 3
        for size in ((80, 24), (160, 45)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert "2 messages" in text_at(app, 0)
            assert "○ ▸ 2 messages · You: second words" in text_at(app, 1)
            assert "Now" in text_at(app, 2)
        await pilot.press("home", "c")
        await until(pilot, lambda: any("active branch" in n.message for n in app.notifications.log))
        await pilot.press("down", "c")
        await left_tree(pilot, app)
        request = lambda: workspace_of(app).state.request  # noqa: E731
        await until(pilot, lambda: request().diff_base.choice.startswith("branch "))
        assert app.inspector.pane is not None
        assert app.inspector.pane.view_shown == "diff"
        assert shown(app)[2] == "second words"
        await at_tree(pilot, app)
        await pilot.press("home", "down", "enter")
        await left_tree(pilot, app)
        assert shown(app)[2] == "other words"
        transcript = app.query_one(Transcript)
        assert transcript.current is not None
        assert transcript.current.message.content == "other words"


async def test_a_branch_is_named_found_deleted_and_brought_here(tmp_path: Path) -> None:
    async with forked(tmp_path) as (pilot, app):
        workspace = workspace_of(app)
        await pilot.press("home", "down", "right", "down", "e")
        await asked(pilot)
        await pilot.press(*"good answer", "enter")
        await until(pilot, lambda: isinstance(app.screen, TreeScreen))
        await settle(pilot)
        named = row(app).first
        assert "◆ good answer" in text_at(app, tree_list(app).cursor)
        await pilot.press("home", "slash")
        await pilot.press(*"good an")
        await until(pilot, lambda: tree_list(app).place_of_result()[1] == 1)
        await pilot.press("enter")
        await settle(pilot)
        assert row(app).first == named
        assert app.screen.query_one(FindBar).display
        await pilot.press("slash", *"ther wo")  # the words are selected, and replaced
        await settle(pilot)
        app.screen.query_one(Input).value = "other"
        await until(pilot, lambda: tree_list(app).place_of_result()[1] == 2)
        await pilot.press("enter", "n")
        first = row(app).first
        await pilot.press("n")
        assert row(app).first != first
        await pilot.press("p")
        assert row(app).first == first
        await pilot.press("escape")  # ends the search
        await settle(pilot)
        assert tree_list(app).row_count == 4
        await pilot.press("home", "down", "d")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: tree_list(app).row_count == 1)
        assert shown(app)[2] == "other words"
        await pilot.press("u")
        await until(pilot, lambda: tree_list(app).row_count == 4)
        await settle(pilot)

        await pilot.press("slash", *"second")
        await until(pilot, lambda: tree_list(app).place_of_result()[1] == 2)
        await pilot.press("enter", "end", "b")
        await until(pilot, lambda: len(shown(app)) == 5)
        await settle(pilot)
        assert not app.screen.query_one(FindBar).display
        brought = workspace.state.entries[-1]
        assert row(app).first == row(app).last == brought.message.id
        assert "second words" in shown(app)[-1]
        assert brought.model == "echo"
        assert "echo" in text_at(app, tree_list(app).cursor)
        log = app.notifications.log
        await until(pilot, lambda: log[-1].message.startswith("Brought here: the reply “"))
        assert brought.message.about.brought is not None
        await pilot.press("escape")
        await left_tree(pilot, app)
        live = workspace.state.request.live
        assert live is not None
        [origin] = {
            span.origin
            for turn in live.envelope.turns
            for span in turn.text.spans
            if "another branch" in span.origin.label
        }
        assert origin.kind is OriginKind.HISTORY


async def test_a_read_only_app_offers_nothing_that_writes(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "first words")
        await workspace_of(app).replies.regenerate(workspace_of(app).state.entries[-1].message.id)
        await replied(pilot)
        app.chat.context = replace(app.chat.context, read_only="Nothing can be changed here.")
        await at_tree(pilot, app)
        nodes = await workspace_of(app).branches.tree()
        assert "bring" not in str(app.screen.query_one(".tree--keys", Static).render())
        await pilot.press("home", "down", "d", "e", "b", "u")
        await settle(pilot)
        assert isinstance(app.screen, TreeScreen)
        assert await workspace_of(app).branches.tree() == nodes
        await pilot.press("enter")
        await left_tree(pilot, app)


async def test_without_messages_there_is_no_tree_and_a_temporary_session_has_one(
    tmp_path: Path,
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/tree", "enter")
        await until(pilot, lambda: any("no message" in n.message for n in app.notifications.log))
        entries = offered(app)
        for words in ("branch", "tree", "branches", "map", "forks", "history tree", "bookmarks"):
            best = max(entries, key=lambda entry: match_score(entry, words))
            assert best.title.startswith("Show the branches"), words
        await pilot.press(*"/temporary", "escape", "enter")
        await until(pilot, lambda: workspace_of(app).state.is_temporary)
        await settle(pilot)
        await say(pilot, "secret words")
        await workspace_of(app).replies.regenerate(workspace_of(app).state.entries[-1].message.id)
        await replied(pilot)
        await pilot.press(*"/branches secret", "enter")
        await until(pilot, lambda: isinstance(app.screen, TreeScreen))
        await until(pilot, lambda: tree_list(app).place_of_result()[1] == 3)
        await pilot.press("escape", "escape")
        await settle(pilot)
        await pilot.press("escape")
        await left_tree(pilot, app)
