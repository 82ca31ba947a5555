"""A program that waits for a line, then adds messages to a session, each with a commit.

    child_writes.py DATABASE COUNT

Says `ready` once it has a session, and at the end its id; or the error that stopped it.
"""

import asyncio
import sys
import time
import uuid
from pathlib import Path

from tui_chat.errors import TuiChatError
from tui_chat.models.message import Message
from tui_chat.store import Store


async def main(path: Path, count: int) -> None:
    try:
        async with await Store.open(path, now=time.time, new_id=lambda: uuid.uuid4().hex) as store:
            session = await store.sessions.create()
            print("ready", flush=True)
            sys.stdin.readline()
            parent = None
            for number in range(count):
                message = Message.of("user", f"{session.session_id} {number}")
                parent = (await store.messages.add(session.session_id, message, parent)).message.id
    except TuiChatError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    else:
        print(session.session_id, flush=True)


asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
