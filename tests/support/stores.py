"""Stores on real files, with a controlled clock and ids, and what tests do to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path

import pytest

from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted, Part, ToolCall
from tui_chat.models.request import RequestRecord, StoredExchange
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.store import Store
from tui_chat.store.database import Transaction
from tui_chat.store.sessions import add_variables, remove_session

RICH = Message(
    "assistant",
    "Text with \0, 中文, 😀 and \u2028.",
    tool_call_id="c0",
    tool_calls=(ToolCall("c1", "find", '{"q": "中'), ToolCall("c2", "find", "{}")),
    name="Helper",
    timestamp=12.5,
    pinned=True,
    muted=Muted(reasoning=True, parts=(1,)),
    parts=(Part("image", "image/png", data="aGk="), Part("file", url="https://x", name="中")),
    semantics=MessageSemantics(
        reasoning=(
            ReasoningBlock(Protocol.ANTHROPIC, "Hm.\0", signature="s=="),
            ReasoningBlock(Protocol.OPENAI_RESPONSES, encrypted="e", id="rs_1"),
        ),
        refusal="No.",
    ),
)
"""A message with every field that the store must keep."""


class Clock:
    """A clock that advances a second with each call."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chat.db"


@pytest.fixture
def new_id() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"id-{next(numbers):06}"


Opener = Callable[[], Awaitable[Store]]


@pytest.fixture
async def open_store(path: Path, clock: Clock, new_id: Callable[[], str]) -> AsyncIterator[Opener]:
    opened: list[Store] = []

    async def opener() -> Store:
        store = await Store.open(path, now=clock, new_id=new_id, busy_timeout=0.3)
        opened.append(store)
        return store

    yield opener
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Opener) -> Store:
    return await open_store()


async def remove_forever(store: Store, session_id: str) -> None:
    """Remove a session permanently."""
    await store.database.write(lambda tx: remove_session(tx, session_id))


async def replace_variables(store: Store, session_id: str, variables: Mapping[str, str]) -> None:
    """Replace the macro variables of a session."""

    async def work(tx: Transaction) -> None:
        await tx.run("DELETE FROM variables WHERE session_id = ?", session_id)
        await add_variables(tx, session_id, variables)

    await store.database.write(work)


async def begin(
    store: Store, session_id: str, record: RequestRecord, text: str | None = "Hello?"
) -> StoredExchange:
    """Begin a reply at the end of the active branch, to a new user message if there is a text."""
    branch = await store.branches.load(session_id)
    return await store.replies.begin(
        session_id,
        parent_id=branch[-1].message.id if branch else None,
        user=None if text is None else Message("user", text),
        model="m-1",
        endpoint="home",
        request=record,
    )
