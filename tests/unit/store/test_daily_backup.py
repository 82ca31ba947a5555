"""One backup a day: it opens, three are kept, and it costs nothing on the same day."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tui_chat.errors import StoreError
from tui_chat.models.message import Message
from tui_chat.store import Store
from tui_chat.store.backup import back_up_daily, daily_backups

DAY = 86_400.0
NOON = 1_800_014_400.0


async def store_with(path: Path, text: str) -> Store:
    numbers = iter(range(100))
    store = await Store.open(path, now=lambda: NOON, new_id=lambda: f"{text}{next(numbers)}")
    session = await store.sessions.create(title=text)
    await store.messages.add(session.session_id, Message.of("user", text), None)
    return store


def texts(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [text for (text,) in connection.execute("SELECT content FROM messages")]


async def test_a_backup_of_an_open_database_is_made_once_a_day(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    async with await store_with(path, "Where to?"):
        made = back_up_daily(path, NOON)
        assert made is not None
        assert texts(made) == ["Where to?"]
        assert made.stat().st_mode & 0o077 == 0
        assert back_up_daily(path, NOON + 60) is None
    async with await Store.open(made, now=lambda: NOON, new_id=lambda: "x") as copy:
        assert [session.title for session in await copy.sessions.list()] == ["Where to?"]


async def test_the_newest_three_are_kept_and_no_other_file_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    other = tmp_path / "chat.db.v20-20260101T000000.bak"
    other.write_bytes(b"made before a migration")
    async with await store_with(path, "a"):
        made = [back_up_daily(path, NOON + day * DAY) for day in range(5)]
    assert daily_backups(path) == made[-3:]
    assert other.exists()
    assert not list(tmp_path.glob("*.partial"))


class Disk(NamedTuple):
    total: int
    used: int
    free: int


async def test_a_full_disk_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chat.db"
    async with await store_with(path, "a"):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(10, 9, 1))
        assert back_up_daily(path, NOON) is None
    assert daily_backups(path) == []


def test_a_damaged_file_replaces_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    path.write_bytes(b"Dear diary,\n" * 500)
    with pytest.raises(StoreError):
        back_up_daily(path, NOON)
    assert daily_backups(path) == []
    assert [item.name for item in tmp_path.iterdir()] == ["chat.db"]
