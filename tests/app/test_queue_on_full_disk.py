"""A message that is queued while the disk is full: it says so, and is stored once it can be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.databases import write_elsewhere
from tests.support.screen import open_screen
from tests.support.server import Answer, Provider, chat_text

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
