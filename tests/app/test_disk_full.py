"""A full disk: what is written later, and what is said meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.support.app import idle, make_app, opened, replied, say, until
from tests.support.command_line import Run, run
from tests.support.databases import provide_database, write_elsewhere
from tests.support.full_disk import FULL, Disk, disk
from tests.support.screen import open_screen
from tests.support.server import Answer, Provider, chat_text
from tests.support.tables import each_row
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.header_footer import footer_rows
from tui_chat.ui.dialogs.base import Confirm, TextAreaPrompt
from tui_chat.workspace.workspace import Workspace

__all__ = ["disk", "run"]


def refuse(folder: Path, table: str) -> None:
    """Let writing into a table fail, as on a disk that became full just then."""
    with closing(sqlite3.connect(folder / "chat.db", timeout=30)) as connection:
        connection.execute(
            f"CREATE TRIGGER full BEFORE INSERT ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        connection.commit()


def stored(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "chat.db", timeout=30)) as connection:
        return connection.execute("SELECT count(*) FROM sessions").fetchone()[0]


@each_row("table", ["requests", "messages"])
async def test_the_app_keeps_the_text_and_begins_no_session(tmp_path: Path, table: str):
    with Provider(chat_text("A reply.")) as provider:
        provide_database(tmp_path / "chat.db")
        refuse(tmp_path, table)
        async with open_screen(tmp_path, config=provider.config(), waits=('"messages"',)) as screen:
            await screen.type("hello there")
            await screen.press("enter")
            await screen.sees("full")
            assert stored(tmp_path) == 0
            assert provider.received == []
            assert screen.lines_with("hello there")
        assert stored(tmp_path) == 0


@each_row("table", ["requests", "messages"])
def test_ask_begins_no_session(run: Run, tmp_path: Path, table: str):
    folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    assert run(*folders, "ask", "first", "-m", "echo").code == 0
    refuse(tmp_path, table)
    for words in (("Hi",), ("Hi", "--system", "Be brief."), ("Hi", "-m", "upper")):
        done = run(*folders, "ask", "-m", "echo", *words)
        assert done.code == 7, (words, done.err)
    assert stored(tmp_path) == 1


# --- A message that is queued while the disk is full: it says so, and is stored once it can be


STREAMING = Answer((chat_text("Begun ", finish=None), chat_text("ended.")), pause=3600.0)


def queued(folder: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(folder / "chat.db", timeout=30)) as connection:
        sql = "SELECT queue FROM sessions WHERE queue <> ''"
        return connection.execute(sql).fetchall()


async def test_a_queued_message_is_marked_until_it_is_stored(tmp_path: Path):
    with Provider(STREAMING) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Begun")
            await write_elsewhere(
                tmp_path / "chat.db",
                "CREATE TRIGGER full BEFORE UPDATE OF queue ON sessions "
                "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
            )
            await screen.type("the ferry")
            await screen.press("enter")
            await screen.sees("1 queued", "Not saved yet")
            assert queued(tmp_path) == []

            await screen.press("escape")
            await screen.press("ctrl+q")
            await screen.sees("Quit without saving?", "queued message")
            await screen.press("escape")
            await screen.loses("Quit without saving?")
            await write_elsewhere(tmp_path / "chat.db", "DROP TRIGGER full")
            await screen.press("ctrl+r")
            await screen.loses("Not saved yet")
            await screen.sees("1 queued")
            [(stored,)] = queued(tmp_path)
            assert "the ferry" in stored


async def test_a_message_that_waits_to_be_stored_does_not_undo_a_later_one(tmp_path: Path):
    with Provider(STREAMING) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Begun")
            await write_elsewhere(
                tmp_path / "chat.db",
                "CREATE TRIGGER full BEFORE UPDATE OF queue ON sessions "
                "WHEN new.queue NOT LIKE '%the boat%' "
                "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
            )
            await screen.type("the ferry")
            await screen.press("enter")
            await screen.sees("1 queued", "Not saved yet")
            await screen.type("the boat")
            await screen.press("enter")
            await screen.sees("2 queued")
            await screen.until(lambda: bool(queued(tmp_path)), "the queue is not stored")
            await write_elsewhere(tmp_path / "chat.db", "DROP TRIGGER full")
            await screen.loses("Not saved yet")
            await screen.type("the raft")
            await screen.press("enter")
            await screen.sees("3 queued")
            await screen.until(lambda: "the raft" in queued(tmp_path)[0][0], "it is not stored")
            [(stored,)] = queued(tmp_path)
            assert "the ferry" in stored
            assert "the boat" in stored


# --- What the screen says and asks while the database cannot be written to ----------------


def workspace_of(app: TuiChat) -> Workspace:
    return app.workspace


def kept_drafts(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "chat.db")) as connection:
        return {
            text
            for (text,) in connection.execute(
                "SELECT draft FROM sessions UNION SELECT value FROM settings WHERE key = 'draft'"
            )
        }


def make_app_with_full_disk(folder: Path, disk: Disk) -> TuiChat:
    """Return an app whose disk is full from the moment at which its request arrives."""

    def fill(_: object) -> None:
        disk.fault = FULL

    return make_app(folder, model="lorem:400:60", on_request=fill)


async def fill_disk_during_reply(pilot: Pilot[None], app: TuiChat) -> None:
    app.query_one(Composer).text = "go"
    await pilot.press("enter")
    await until(
        pilot,
        lambda: (
            bool(workspace_of(app).state.entries)
            and bool(workspace_of(app).state.entries[-1].unsaved)
        ),
    )


async def test_the_reply_and_the_status_line_say_that_it_is_unsaved(
    tmp_path: Path, disk: Disk
) -> None:
    app = make_app_with_full_disk(tmp_path, disk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await fill_disk_during_reply(pilot, app)
        entry = workspace_of(app).state.entries[-1]
        foot = " ".join(line.text for line in footer_rows(entry, (), "", 100))
        assert "Not saved, r saves it again: The disk of the database" in foot
        await until(pilot, lambda: "Not saved yet" in str(app.chat.activity.render()))
        disk.fault = None
        await pilot.press("ctrl+r")
        await until(pilot, lambda: not workspace_of(app).state.entries[-1].unsaved)
        assert len(workspace_of(app).state.entries) == 2, "it was saved, and not generated again"
        await until(pilot, lambda: "Not saved yet" not in str(app.chat.activity.render()))


async def test_quitting_asks_while_something_is_unsaved(tmp_path: Path, disk: Disk) -> None:
    app = make_app_with_full_disk(tmp_path, disk)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await fill_disk_during_reply(pilot, app)
        await until(pilot, lambda: bool(workspace_of(app).state.unsaved))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("n")
        await until(pilot, lambda: not isinstance(app.screen, Confirm))
        assert app.is_running
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: not app.is_running)
    assert app.lifecycle.unsaved.endswith("chat.db is full.")


async def test_text_that_could_not_be_stored_returns_before_later_text(
    tmp_path: Path, disk: Disk
) -> None:
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        composer = app.query_one(Composer)
        disk.fault, disk.before = FULL, partial(asyncio.sleep, 0.2)
        composer.text = "precious"
        await pilot.press("enter")
        await until(pilot, lambda: composer.text == "")
        await pilot.press(*"more")
        await until(pilot, lambda: "precious" in composer.text)
        assert composer.text == "precious\nmore"
        disk.fault = None
        await until(pilot, lambda: "precious\nmore" in kept_drafts(tmp_path))


async def test_a_draft_is_stored_while_typing_continues(tmp_path: Path, disk: Disk) -> None:
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        clock = asyncio.get_running_loop().time
        began, typed = clock(), 0
        while clock() - began < 1.5:
            await pilot.press("x")
            typed += 1
            await idle(pilot)
        kept = max(map(len, kept_drafts(tmp_path)))
        assert typed / 3 < kept <= typed, "it is not written only once the typing pauses"


async def test_text_typed_while_a_message_is_stored_stays_a_draft(
    tmp_path: Path, disk: Disk
) -> None:
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        composer = app.query_one(Composer)
        disk.before = partial(asyncio.sleep, 0.1)
        composer.text = "first"
        await pilot.press("enter")
        await until(pilot, lambda: composer.text == "")
        await pilot.press(*"second")
        await replied(pilot)
        disk.before = None
        assert composer.text == "second"
        await until(pilot, lambda: kept_drafts(tmp_path) - {""} == {"second"})


async def test_an_unstored_edit_is_offered_again(tmp_path: Path, disk: Disk) -> None:
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        disk.fault = FULL
        app.chat.transcript.go_to(0)
        app.conversation.action_edit()
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        app.screen.query_one(TextArea).text = "much better"
        first = app.screen
        await pilot.press("ctrl+s")
        await until(
            pilot, lambda: isinstance(app.screen, TextAreaPrompt) and app.screen is not first
        )
        await idle(pilot)
        assert app.screen.query_one(TextArea).text == "much better"
        disk.fault = None
        await pilot.press("ctrl+s")
        await until(
            pilot, lambda: workspace_of(app).state.entries[0].message.content == "much better"
        )
