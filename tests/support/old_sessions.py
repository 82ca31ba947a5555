"""A database with sessions of many kinds and ages."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import NOON
from tui_chat.models.message import Message
from tui_chat.store import Store

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


async def filled(folder: Path) -> None:
    """Make the sessions, as if they had been talked in long ago."""
    now = NOON
    numbers = iter(range(1000))
    store = await Store.open(
        folder / "chat.db", now=lambda: now, new_id=lambda: f"made{next(numbers):04}"
    )
    for title, tags, days, kind in reversed(SESSIONS):
        now = NOON - days * DAY
        session = await store.sessions.create(
            title=title, model="mirror", endpoint="loopback", tags=tags
        )
        said = f"Tell me about {title}: the quick brown fox, and 全文搜索 too."
        asked = await store.messages.add(session.session_id, Message.of("user", said), None)
        reply = Message.of("assistant", "Sure.\n\nThe **fox** is quick, and there is more to say.")
        await store.messages.add(session.session_id, reply, asked.message.id)
        if kind:
            await store.sessions.update(session.session_id, **{kind: True})  # type: ignore[typeddict-item]
    await store.close()
