"""A program that uses a database without permission, and prints each result.

    child_nobody.py DATABASE

As root it becomes nobody first, once all is imported.
"""

import asyncio
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from tui_chat import hooks
from tui_chat.errors import TuiChatError
from tui_chat.store import Store
from tui_chat.store.access import status


async def write(path: Path) -> None:
    async with await Store.open(
        path, now=time.time, new_id=lambda: uuid.uuid4().hex, busy_timeout=0.1
    ) as store:
        await store.sessions.create(title="new")


WAYS: dict[str, Callable[[Path], object]] = {
    "write": lambda path: asyncio.run(write(path)),
    "status": status,
}
if any(command.name == "db" for _, command in hooks.parts("commands")):
    check, backup, vacuum = (
        hooks.load(f"tui_chat.plugins.maintenance.{path}")
        for path in ("check:check", "upkeep:backup", "upkeep:vacuum")
    )
    WAYS["check"] = lambda path: check(path, lambda _: None)
    WAYS["backup"] = lambda path: backup(path, None, now=1.0)
    WAYS["vacuum"] = vacuum


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # what is imported late is imported now
        for way in WAYS.values():
            way(Path(folder) / "chat.db")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    for name, way in WAYS.items():
        try:
            way(path)
        except TuiChatError as error:
            print(f"{name}: {error} | {error.advice}")
        else:
            print(f"{name}: fine")


main(Path(sys.argv[1]))
