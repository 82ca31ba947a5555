"""A first message that cannot be stored whole leaves no session without messages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.command_line import Run, run
from tests.support.databases import provide_database
from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row

__all__ = ["run"]


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
