"""The number of messages of a session is the same on the screen and on the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.support.program import run_program
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text


async def listed(folder: Path, *words: str) -> str:
    folders = ("--data-dir", str(folder), "--config-dir", str(folder))
    done = await asyncio.to_thread(run_program, *folders, "sessions", *words, check=True)
    return done.stdout


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def test_versions_are_not_counted_as_messages(tmp_path: Path):
    with Provider(chat_text("A reply."), chat_text("Another."), chat_text("More.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "hello")
            await screen.has_messages(2)
            await screen.sees("A reply.")
            await screen.loses("Esc stop")
            await screen.press("ctrl+r")
            await screen.sees("Another.", "2/2")
            await send(screen, "go on")
            await screen.has_messages(4)
            await screen.sees("More.")
            [session] = json.loads(await listed(tmp_path, "list", "--json"))
            assert session["message_count"] == 4
            words = (await listed(tmp_path, "list")).splitlines()
            columns = words[0].split()
            assert words[1].split()[columns.index("MESSAGES")] == "4"
            shown = json.loads(await listed(tmp_path, "show", "hello", "--json"))
            assert len(shown["messages"]) == 4
