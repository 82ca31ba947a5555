"""A filled database, and `tui-chat db` for it."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.request import RequestRecord
from tui_chat.store import Store

OTHER_PROGRAM = Path(__file__).parents[1] / "unit" / "store" / "child_locks.py"


class Database:
    """A filled database, and `tui-chat db` for it."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.path = folder / "chat.db"
        self._run = run
        asyncio.run(self.add("one"))

    def __call__(self, *words: object) -> Done:
        return self._run("--data-dir", self.path.parent, "db", *words)

    async def add(self, *titles: str) -> None:
        numbers = itertools.count()
        async with await Store.open(
            self.path, now=lambda: 1.7e9, new_id=lambda: f"{titles[0]}{next(numbers):03}"
        ) as store:
            for title in titles:
                session = await store.sessions.create(title=title)
                first = await store.messages.add(session.session_id, Message("user", "hi"), None)
                exchange = await store.replies.begin(
                    session.session_id, parent_id=first.message.id, user=None, model="m",
                    endpoint="e", request=RequestRecord(
                        "e", Protocol.GEMINI, "POST", "https://x",
                        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                        {}, b"{}",
                    ),
                )  # fmt: skip
                await store.replies.finish(
                    exchange.reply.message.id,
                    message=Message("assistant", "ho"),
                    status="complete",
                )

    def titles(self, path: Path | None = None) -> list[str]:
        with closing(sqlite3.connect(path or self.path)) as connection:
            return [t for (t,) in connection.execute("SELECT title FROM sessions ORDER BY seq")]

    def spoil(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    def beside(self) -> list[str]:
        return sorted(item.name for item in self.path.parent.iterdir() if item != self.path)


@pytest.fixture
def db(tmp_path: Path, run: Run) -> Database:
    return Database(tmp_path, run)


@pytest.fixture
def held(db: Database) -> Iterator[subprocess.Popen[str]]:
    """Another program that has the database open."""
    other = subprocess.Popen(
        [sys.executable, str(OTHER_PROGRAM), str(db.path), "synchronous = FULL", "BEGIN"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdout.readline() == "held\n"
    yield other
    other.communicate()
