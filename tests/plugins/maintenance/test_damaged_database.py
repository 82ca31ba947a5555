"""A damaged database: the app offers to restore the newest backup, and goes on with that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.app import NOON, make_app, until
from tui_chat.models.message import Message
from tui_chat.store import Store
from tui_chat.store.backup import back_up_daily
from tui_chat.ui.dialogs.base import Confirm


def texts(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [text for (text,) in connection.execute("SELECT content FROM messages")]


async def damaged(folder: Path) -> None:
    """Make a database with a backup, and damage it."""
    numbers = iter(range(1000))
    path = folder / "chat.db"
    async with await Store.open(path, now=lambda: NOON, new_id=lambda: f"{next(numbers)}") as store:
        session = await store.sessions.create(title="Ferry")
        await store.messages.add(
            session.session_id, Message.of("user", "When does it leave?"), None
        )
        assert back_up_daily(path, NOON) is not None
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE sessions SET tags = '[\"work'")
        connection.commit()


async def test_the_newest_backup_is_restored_and_opened(tmp_path: Path):
    await damaged(tmp_path)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await until(pilot, lambda: app.focused is not None)
        assert app.focused.id == "no"  # nothing happens by itself
        await pilot.click("#yes")
        await until(pilot, lambda: app.is_workspace_open)
        assert app.workspace is not None
        assert [s.title for s in app.workspace.state.sessions] == ["Ferry"]
        (toast,) = [n.message for n in app.notifications.shown if "Restored" in n.message]
        assert "chat.db.daily-" in toast
    assert texts(tmp_path / "chat.db") == ["When does it leave?"]


async def test_the_damaged_database_can_be_left_alone(tmp_path: Path):
    await damaged(tmp_path)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: "cannot be opened" in str(getattr(app.screen, "_title", "")))
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running)
    names = sorted(item.name for item in tmp_path.iterdir() if "chat.db" in item.name)
    assert names[0] == "chat.db"
    assert [name[:14] for name in names[1:]] == ["chat.db.daily-"]
    assert texts(tmp_path / "chat.db") == ["When does it leave?"]


async def test_an_unreadable_database_is_reported(tmp_path: Path):
    (tmp_path / "chat.db").write_bytes(b"Dear diary,\n" * 5000)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.click("#yes")
        await until(pilot, lambda: "cannot be opened" in str(getattr(app.screen, "_title", "")))
    assert (tmp_path / "chat.db").read_bytes() == b"Dear diary,\n" * 5000
