"""A program that sends a message and prints how much of the reply it has shown, until killed."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from tui_chat.cli.app import open_desk
from tui_chat.config import Config
from tui_chat.desk import Change, ReplyGrew


async def main(folder: Path) -> None:
    def hear(change: Change) -> None:
        if isinstance(change, ReplyGrew):
            print(time.monotonic(), len(change.grown.reply.content), flush=True)

    config = Config(model="lorem:400:20000", data_dir=folder, config_dir=folder)
    desk = await open_desk(config, hear)
    await desk.start()
    await desk.submit("go on and on")
    await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1])))
