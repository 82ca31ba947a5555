"""A program that streams replies until it is killed, once for each line on its stdin.

    python -m tests.e2e.streaming_child DATABASE

Everything is imported once; each life is a fork. A life says on stdout what it did and what
the store answered, a line each:

    pid NUMBER                      it lives
    begun REPLY                     question and reply are stored
    shown TIME REPLY LENGTH         so much of the reply is on the screen
    writing TIME                    a write is on its way
    written TIME REPLY LENGTH CRC   the store said that so much is on the disk
    ended REPLY LENGTH CRC          the store said that the reply is whole

Between lives the parent says `over`. TIME is `own_time`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import time
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.sending import begin_and_send
from tests.support.terminal_app import own_time
from tests.support.vendors import ENDPOINTS
from tui_chat.cli.app import new_id
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.session import Beginning, Begun, StoredEnd
from tui_chat.offline.provider import OfflineTransport
from tui_chat.providers.client import HttpClient
from tui_chat.send import PartialReply, SendProgress
from tui_chat.store import Store
from tui_chat.store.replies import ReplyStore

ENDPOINT = next(e for e in ENDPOINTS if e.name == "loopback")


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def asking(model: str) -> Composed:
    return compose(Inputs(ENDPOINT, Preset("p"), draft="go", settings=SessionSettings(model=model)))


LONG, SHORT = asking("lorem:400:20000"), asking("lorem:2000:120")


class ReportingReplies:
    """The replies of a store, saying when it writes and what it answered."""

    def __init__(self, replies: ReplyStore) -> None:
        self._replies = replies

    async def begin_all(self, beginning: Beginning) -> Begun:
        begun = await self._replies.begin_all(beginning)
        say("begun", begun.exchanges[0].reply.message.id)
        return begun

    async def flush(self, entry_id: str, message: Message) -> None:
        say("writing", own_time(os.getpid()))
        await self._replies.flush(entry_id, message)
        self._written(entry_id, message)

    async def end(self, entry_id: str, *, message: Message, **rest: Any) -> StoredEnd:
        say("writing", own_time(os.getpid()))
        stored = await self._replies.end(entry_id, message=message, **rest)
        self._written(entry_id, message)
        say("ended", entry_id, *measured(message.content))
        return stored

    def _written(self, entry_id: str, message: Message) -> None:
        say("written", own_time(os.getpid()), entry_id, *measured(message.content))


def measured(text: str) -> tuple[int, int]:
    return len(text), zlib.crc32(text.encode())


def hear(progress: SendProgress) -> None:
    match progress:
        case PartialReply():
            say("shown", own_time(os.getpid()), progress.entry_id, len(progress.reply.text))
        case _:
            pass


async def live(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = await Store.open(path, now=time.time, new_id=new_id)
    session = await store.sessions.create(title=str(seed))
    client = HttpClient({"loopback.invalid": OfflineTransport})
    parent: str | None = None
    ends_first = seed % 3 == 2  # it is killed after the end of its first reply
    while True:
        entry = await begin_and_send(
            SHORT if ends_first and parent is None else chance.choice((LONG, SHORT)),
            session_id=session.session_id,
            parent_id=parent,
            user=Message.of("user", "go"),
            store=SimpleNamespace(replies=ReportingReplies(store.replies)),  # type: ignore[arg-type]
            client=client,
            emit=hear,
        )
        parent = entry.message.id


def main(path: Path) -> None:
    gc.freeze()  # a fork that looks through what was loaded copies it, two hundred times
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            say("pid", os.getpid())
            asyncio.run(live(path, int(line)))
        os.waitpid(pid, 0)
        say("over")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
