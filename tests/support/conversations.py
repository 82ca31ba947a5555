"""Conversations that are in the database before the app starts, which opens the last one."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tests.support.app import NOON, make_app, opened
from tests.support.screen import Screen
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.store import Store

PHONE = (80, 24)
DAY = 86_400.0


async def store_conversation(
    folder: Path,
    *said: Message | Entry,
    title: str = "A talk",
    endpoint: str = "loopback",
    model: str = "mirror",
) -> None:
    """Store messages, each after the one before it, and make their session the last one. Those
    with equal `parent_id` are versions.
    """
    entries: list[Entry] = []
    for number, each in enumerate(said):
        entry = each if isinstance(each, Entry) else Entry(each)
        message = replace(entry.message, id=entry.message.id or f"m{number}", timestamp=1.75e9)
        parent = entry.parent_id or (entries[-1].message.id if entries else None)
        writer = entry.model or ("model-x" if message.role == "assistant" else "")
        entries.append(replace(entry, message=message, parent_id=parent, model=writer))
    session = Session("talk", title, model=model, endpoint=endpoint)
    async with await Store.open(
        folder / "chat.db", now=time.time, new_id=lambda: "unused"
    ) as store:
        await store.transcripts.add(SessionTranscript(session, tuple(entries)))
        await store.settings.set("session", session.session_id)


async def store_sessions(folder: Path, *sessions: Session) -> None:
    """Store sessions with a question and a reply each. One whose `updated` is a number of days was
    talked in so long before noon of the clock of `make_app`.
    """
    async with await Store.open(
        folder / "chat.db", now=lambda: NOON, new_id=lambda: "unused"
    ) as store:
        for number, each in enumerate(sessions):
            session = replace(
                each,
                session_id=each.session_id or f"s{number}",
                endpoint="loopback",
                updated=NOON - each.updated * DAY,
            )
            name = session.session_id
            asked = Entry(Message.of("user", f"About {session.title}?", f"{name}-q"))
            reply = Entry(Message.of("assistant", "So it is.", f"{name}-a"), f"{name}-q", model="m")
            await store.transcripts.add(SessionTranscript(session, (asked, reply)))


@asynccontextmanager
async def open_conversation(
    folder: Path, *said: Message | Entry, size: tuple[int, int] = PHONE, model: str = "mirror"
) -> AsyncGenerator[Screen]:
    """The app with a stored conversation on its screen, the transcript under the keys."""
    await store_conversation(folder, *said)
    app = make_app(folder, model=model)
    async with app.run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        yield Screen(pilot)
