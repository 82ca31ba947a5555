"""A program that receives a reply for ever, and prints each flush when it is stored.

    child_streams.py DATABASE SEED

The reply is the beginning of `child_text.TEXT`; its reasoning is half as long. Each line on
stdout is a number of characters that the store said it has.
"""

import asyncio
import random
import sys
import time
import uuid
from pathlib import Path

from child_text import TEXT

from tests.support.messages import make_message, thought
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import RequestRecord
from tui_chat.store import Store


async def main(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = await Store.open(path, now=time.time, new_id=lambda: uuid.uuid4().hex, busy_timeout=60)
    session = await store.sessions.create(title=str(seed))
    record = RequestRecord("e", Protocol.GEMINI, "POST", "https://x", "00", {}, b"{}")
    exchange = await store.replies.begin(
        session.session_id,
        parent_id=None,
        user=Message.of("user", "Count."),
        model="m",
        endpoint="e",
        request=record,
    )
    print(exchange.reply.message.id, flush=True)
    length = 0
    while True:
        length = min(length + chance.choice((1, 7, 300, 5000)), len(TEXT))
        block = thought(Protocol.GEMINI, TEXT[: length // 2])
        await store.replies.flush(
            exchange.reply.message.id,
            make_message("assistant", TEXT[:length], reasoning=(block,)),
        )
        print(length, flush=True)
        await asyncio.sleep(chance.random() * 0.004)


asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
