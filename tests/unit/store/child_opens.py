"""A program that waits for a line, opens a store, writes to it, and prints the result.

    child_opens.py DATABASE LIMIT

LIMIT is the size in bytes that no file may pass, 0 for none.
"""

import asyncio
import sys
import time
import uuid
from pathlib import Path

from tui_chat.errors import TuiChatError
from tui_chat.store import Store

if limit := int(sys.argv[2]):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


async def main() -> None:
    try:
        async with await Store.open(
            Path(sys.argv[1]), now=time.time, new_id=lambda: uuid.uuid4().hex
        ) as store:
            for _ in range(20):
                await store.sessions.create(title="x" * 1000)
    except TuiChatError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    else:
        print("fine", flush=True)


sys.stdin.readline()
asyncio.run(main())
