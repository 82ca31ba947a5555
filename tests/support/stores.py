"""Stores on real files, with a controlled clock and ids, and what tests do to them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from tests.support.messages import make_message, thought
from tui_chat.models.blocks import CallBlock, Extras, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted, References, Source, with_content
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript, StoredExchange
from tui_chat.store import Ending, Store

RICH = make_message(
    "assistant",
    "Text with \0, 中文, 😀 and \u2028.",
    tool_calls=(CallBlock("c1", "find", '{"q": "中'), CallBlock("c2", "find", "{}")),
    name="Helper",
    timestamp=12.5,
    pinned=True,
    muted=Muted(blocks=(0, 1, 4)),
    parts=(
        MediaBlock("image", "image/png", data="aGk="),
        MediaBlock("file", url="https://x", name="中"),
    ),
    reasoning=(
        thought(Protocol.ANTHROPIC, "Hm.\0", signature="s=="),
        thought(Protocol.OPENAI_RESPONSES, encrypted="e", id="rs_1"),
    ),
    refusal="No.",
    extras=Extras(Protocol.GEMINI, keys={"n": [1, 1.5, None, "中"]}),
    references=References((Source("A", "https://a.example/"),)),
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


class Opener(typing.Protocol):
    """Opens a store, by default at `path`."""

    def __call__(self, at: Path | None = None) -> Awaitable[Store]: ...


@pytest.fixture
async def open_store(path: Path, clock: Clock, new_id: Callable[[], str]) -> AsyncIterator[Opener]:
    opened: list[Store] = []

    async def opener(at: Path | None = None) -> Store:
        store = await Store.open(at or path, now=clock, new_id=new_id, busy_timeout=0.3)
        opened.append(store)
        return store

    yield opener
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Opener) -> Store:
    return await open_store()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 0.75 MB; an empty database takes 0.5 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = shutil.which("mount") and os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=768k", "tmpfs", str(folder)], capture_output=True
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def remove_forever(store: Store, session_id: str) -> None:
    """Remove a session permanently, with all else that is in the trash."""
    await store.sessions.delete([session_id])
    await store.sessions.purge_trash(-1e12)


async def give_variables(store: Store, session_id: str, variables: Mapping[str, str]) -> None:
    """Give a session macro variables, as an import of it does; those it has stay."""
    session = await store.sessions.get(session_id)
    assert session is not None
    given = SessionTranscript(session, (), variables=tuple(variables.items()))
    await store.transcripts.add(given)


def record(body: bytes | None = b'{"model":"m"}', **recipe: object) -> RequestRecord:
    """A request to an endpoint `home`."""
    return RequestRecord(
        endpoint="home",
        protocol=Protocol.ANTHROPIC,
        method="POST",
        url="https://api.example/v1/messages",
        sha256=hashlib.sha256(body or b"").hexdigest(),
        recipe=recipe,
        body=body,
    )


async def begin(
    store: Store,
    session_id: str,
    text: str | None = "Hello?",
    *,
    below: str | None = "",
    request: RequestRecord | None = None,
) -> StoredExchange:
    """Begin a reply to a new user message, or to none if there is no text, below a message or, by
    default, at the end of the active branch.
    """
    if below == "":
        branch = await store.branches.load(session_id)
        below = branch[-1].message.id if branch else None
    return await store.replies.begin(
        session_id,
        parent_id=below,
        user=None if text is None else Message.of("user", text),
        model="m-1",
        endpoint="home",
        request=request or record(),
    )


async def answer(
    store: Store,
    session_id: str,
    content: str = "",
    status: Ending = "complete",
    *,
    text: str | None = None,
    below: str | None = "",
    request: RequestRecord | None = None,
    **ending: typing.Any,
) -> Entry:
    """Begin a reply and end it."""
    exchange = await begin(store, session_id, text, below=below, request=request)
    message = with_content(exchange.reply.message, content)
    return (await store.replies.end(message.id, message=message, status=status, **ending)).entry


async def plant(store: Store, lines: str) -> Session:
    """Create a session from lines `parent>child`; a message's id is its letter, and its text."""
    session = await store.sessions.create(title="tree")
    for line in lines.split():
        parent, _, child = line.rpartition(">")
        message = Message.of("user", child, id=child)
        await store.messages.add(session.session_id, message, parent or None)
    return session


async def shown(store: Store, session: Session | str) -> str:
    """The active branch: a text for each message, with its place if it has siblings."""
    session_id = session if isinstance(session, str) else session.session_id
    return " ".join(
        e.message.content + (f"{e.sibling + 1}/{e.siblings}" if e.siblings > 1 else "")
        for e in await store.branches.load(session_id)
    )
