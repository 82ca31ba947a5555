"""Undo of an edit of the request by hand."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text


async def test_an_edit_of_the_request_is_undone_only_if_there_is_one(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.press("f4", "u")
            await screen.sees("Nothing to undo.")
            await screen.press("g", "j", "d")
            await screen.sees("is not sent. u undoes it.")
            await screen.press("u")
            await screen.sees("Removed the edit by hand of /")
