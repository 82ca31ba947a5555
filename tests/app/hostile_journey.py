"""A journey with the plugin `raises`, in an interpreter of its own: the actions of plugins are
bound when the app is imported. Run by `test_hostile_plugin`; the argument is the folder.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.server import Provider, chat_text
from tui_chat import hooks

if TYPE_CHECKING:
    from tests.support.screen import Screen


async def is_told(screen: Screen, *words: str) -> None:
    """Wait until the newest notification has these words, however its lines are broken."""

    def is_there() -> bool:
        told = screen.app.notifications.log  # pyright: ignore
        return bool(told) and all(each in told[-1].message for each in words)

    await screen.until(is_there, f"{words!r} was never told")


async def main(folder: Path) -> None:
    hooks.enable(["raises"])  # as the program does before it imports the app
    from tests.support.screen import open_screen

    with Provider(chat_text("A fault in ", "Markdown.")) as provider:
        config = f'editing_mode = "hostile"\n{provider.config()}\n[plugins]\nenabled = ["raises"]\n'
        async with open_screen(folder, config=config, waits=()) as screen:
            await screen.until(
                lambda: screen.app.is_workspace_open,  # pyright: ignore
                "The workspace never opened",
            )
            await screen.type("hello")
            await screen.sees("hello")
            await screen.press("enter")
            await screen.sees("A fault in Markdown.")
            for command, words in (
                ("/hostile", "The action hostile of plugin raises failed: ValueError: no action"),
                ("/hostile-value", "The action hostile-value of plugin raises failed"),
            ):
                await screen.type(command)
                await screen.press("space", "enter")
                await is_told(screen, words)
            await screen.type("/hostile-dialog")
            await screen.press("space", "enter")
            await screen.sees("a faulty button")
            await screen.press("enter")
            await screen.loses("a faulty button")
            await is_told(screen, "The code of plugin raises failed: ValueError: no dialog")
            await screen.press("f4")
            inspector = screen.app.inspector.pane
            for name, words in (
                ("init", "no init"),
                ("shows", "no show"),
                ("builds", "no build"),
                ("rows", "no use"),
                ("handles", ""),
                ("loads", "no load"),
                ("nothing", "it is no RowsView"),
                ("css", "TokenError"),
            ):
                inspector.action_view(name)
                if words:
                    await is_told(screen, f"The view {name} of plugin raises failed", words)
                inspector.action_view("context")
                inspector.action_view("stays")
                await screen.sees("this one stays")
            inspector.action_view("acts")
            await screen.press("x")
            await is_told(
                screen, "The view acts of plugin raises failed: ValueError: no view action"
            )
            inspector.action_view("stays")
            await screen.sees("this one stays")
            await screen.press("escape", "f4", "f4")
    log = (folder / "crash.log").read_text()
    for words in ("The view builds of plugin raises failed: ValueError: no build", "raising_parts"):
        assert words in log, words


asyncio.run(main(Path(sys.argv[1])))
