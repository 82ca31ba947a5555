"""A damaged database: the app offers to save what can be read, and goes on with that."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.app import NOON, make_app, until
from tui_chat.models.message import Message
from tui_chat.store import Store
from tui_chat.ui.dialogs.base import Confirm


async def damaged(folder: Path) -> bytes:
    numbers = iter(range(1000))
    path = folder / "chat.db"
    async with await Store.open(path, now=lambda: NOON, new_id=lambda: f"{next(numbers)}") as store:
        session = await store.sessions.create(title="Ferry")
        await store.messages.add(session.session_id, Message("user", "When does it leave?"), None)
    data = b"\xa5" * 4096 + path.read_bytes()[4096:]
    path.write_bytes(data)
    return data


async def test_readable_data_is_saved_and_opened(tmp_path: Path):
    data = await damaged(tmp_path)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert app.focused is not None
        assert app.focused.id == "no"  # nothing happens by itself
        await pilot.click("#yes")
        await until(pilot, lambda: app.is_workspace_open)
        assert app.workspace is not None
        assert [s.title for s in app.workspace.state.sessions] == ["Ferry"]
        (toast,) = [n.message for n in app.notifications.shown if "Saved" in n.message]
        assert "Saved 1 message in 1 session;" in toast
    (aside,) = tmp_path.glob("chat.db.aside-*")
    assert aside.read_bytes() == data


async def test_the_damaged_database_can_be_left_alone(tmp_path: Path):
    data = await damaged(tmp_path)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: "cannot be opened" in str(getattr(app.screen, "_title", "")))
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running)
    assert [item.name for item in tmp_path.iterdir() if "chat.db" in item.name] == ["chat.db"]
    assert (tmp_path / "chat.db").read_bytes() == data


async def test_an_unreadable_database_is_reported(tmp_path: Path):
    (tmp_path / "chat.db").write_bytes(b"Dear diary,\n" * 5000)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 35)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.click("#yes")
        await until(pilot, lambda: "Nothing in" in str(getattr(app.screen, "_question", "")))
        await asyncio.sleep(0)
    assert (tmp_path / "chat.db").read_bytes() == b"Dear diary,\n" * 5000
