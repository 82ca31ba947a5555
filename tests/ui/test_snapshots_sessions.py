"""Pictures of the sidebar with many kinds of sessions, and of searching them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.ui.app_under_test import NOON, make_app, opened, settle, until
from tui_chat.model.message import Message
from tui_chat.model.session import SessionSummary
from tui_chat.store import Store
from tui_chat.ui.search.hits import HitList

DAY = 86_400.0
SESSIONS: tuple[tuple[str, tuple[str, ...], float, str], ...] = (
    ("Kubernetes ingress notes", ("work", "k8s"), 0.01, ""),
    ("中文会话：搜索与排序", ("中文",), 0.2, ""),
    ("Dinner ideas", ("home",), 1.1, "pinned"),
    ("Refactoring the parser into pieces", ("work",), 2, "unread"),
    ("A story about foxes", (), 4, ""),
    ("Tax questions", ("home", "money"), 12, ""),
    ("Old draft", (), 400, "archived"),
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    os.environ.pop("TZ", None)
    time.tzset()


async def filled(folder: Path) -> None:
    """Make the sessions, as if they had been talked in long ago."""
    now = NOON
    numbers = iter(range(1000))
    store = await Store.open(
        folder / "chat.db", now=lambda: now, new_id=lambda: f"made{next(numbers):04}"
    )
    for title, tags, days, kind in reversed(SESSIONS):
        now = NOON - days * DAY
        session = await store.create_session(
            title=title, model="mirror", endpoint="loopback", tags=tags
        )
        said = f"Tell me about {title}: the quick brown fox, and 全文搜索 too."
        asked = await store.add_message(session.session_id, Message("user", said), None)
        reply = Message("assistant", "Sure.\n\nThe **fox** is quick, and there is more to say.")
        await store.add_message(session.session_id, reply, asked.message.id)
        if kind:
            await store.update_session(session.session_id, **{kind: True})  # type: ignore[typeddict-item]
    await store.close()


async def shown(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await pilot.press("f2", "shift+down")
    desk = app.desk
    assert desk is not None
    sessions: list[SessionSummary] = list(desk.sessions)
    sessions[4] = sessions[4]._replace(role_name="Editor", status="failed")
    app._sessions.show(sessions, sessions[1].session_id, NOON, {sessions[0].session_id})
    await settle(pilot)


async def searched(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await pilot.press("ctrl+f", *"fox")
    await until(pilot, lambda: len(app.screen.query_one(HitList).hits) > 2)
    app.screen.query_one(Input).cursor_blink = False
    await pilot.press("down")
    await settle(pilot)


async def asked(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await pilot.press("ctrl+f", *"role:nobody")
    app.screen.query_one(Input).cursor_blink = False
    await settle(pilot)


WIDE, MEDIUM, NARROW = (160, 45), (120, 35), (80, 24)
DARK, LIGHT = "tui-chat-dark", "tui-chat-light"
LOOKS = [(WIDE, DARK), (MEDIUM, LIGHT), (NARROW, DARK)]


@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=str)
def test_sessions(size: tuple[int, int], theme: str, tmp_path: Path, snap_compare):
    asyncio.run(filled(tmp_path))
    app = make_app(tmp_path, theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=shown)


@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=str)
def test_searching(size: tuple[int, int], theme: str, tmp_path: Path, snap_compare):
    asyncio.run(filled(tmp_path))
    app = make_app(tmp_path, theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=searched)


def test_what_can_be_searched(tmp_path: Path, snap_compare):
    asyncio.run(filled(tmp_path))
    app = make_app(tmp_path)
    assert snap_compare(app, terminal_size=NARROW, run_before=asked)
