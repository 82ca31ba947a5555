"""Notifications hide no keys, and all of them can be read."""

from __future__ import annotations

from pathlib import Path

from textual import events

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row

KEYS = ("F1", "Ctrl+P", "F2", "F3", "F4")
LONG = "cook-" * 60


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def test_what_is_said_of_a_new_session_stays(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(120, 35)) as screen:
            await send(screen, "hello")
            await screen.sees("A reply.")
            await send(screen, "/role Assistant")
            await screen.sees("New session", "Started a new session")
            await screen.rests()
            await screen.sees("Started a new session")


@each_row("size, command", [
    ((160, 45), "/role sailor"), ((120, 35), "/role sailor"), ((120, 35), f"/role {LONG}"),
    ((80, 24), "/role sailor"), ((80, 24), f"/role {LONG}"),
])  # fmt: skip
async def test_a_message_hides_no_keys_and_all_of_it_can_be_read(
    size: tuple[int, int], command: str, tmp_path: Path
):
    async with open_screen(tmp_path, size=size, waits=("Enter", "F1")) as screen:
        keys = [key for key in KEYS if key in screen.lines[-1]]
        assert keys[0] == "F1"
        screen.app.post_message(events.Paste(command))
        await screen.sees("/role")
        await screen.press("enter")
        await screen.sees("There is no role")
        assert [key for key in KEYS if key in screen.lines[-1]] == keys
        await screen.press("ctrl+p")
        await screen.type("notifications")
        await screen.press("enter")
        await screen.sees("Available: Assistant.")
