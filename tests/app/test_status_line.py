"""The line at the bottom: its messages leave with their session, and hide no keys."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from textual import events

from tests.support.screen import Screen, open_screen
from tests.support.server import Answer, Provider, chat_text
from tests.support.tables import each_row

KEYS = ("F1", "Ctrl+P", "F2", "F3", "F4")
LONG = "cook-" * 60


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def test_an_error_leaves_with_its_session_and_does_not_return(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(120, 35)) as screen:
            await send(screen, "hello")
            await screen.sees("A reply.")
            await send(screen, "/role nobody")
            await screen.sees("✗ There is no role “nobody”.")
            await screen.press("ctrl+n")
            await screen.sees("New session")
            await screen.loses("nobody", seconds=3)

            await send(screen, "/role nothing")
            await screen.sees("✗ There is no role “nothing”.")
            await screen.press("ctrl+c")  # a message that replaces the error for its time
            await screen.sees("Ctrl+Q quits", "1 more")
            await screen.press("f2", "down", "enter")
            await screen.sees("A reply.")
            await screen.loses("Ctrl+Q quits; the draft", seconds=3)
            assert "1 more" not in screen.text
            assert "nothing" not in screen.text


async def test_what_is_said_of_a_new_session_stays(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(120, 35)) as screen:
            await send(screen, "hello")
            await screen.sees("A reply.")
            await send(screen, "/role Assistant")
            await screen.sees("New session", "Started a new session")
            await screen.rests()
            await screen.sees("Started a new session")


async def test_a_refusal_leaves_when_it_is_true_no_more(tmp_path: Path):
    gate = threading.Event()

    def reply() -> Iterator[str]:
        yield chat_text("A slow ", finish=None)
        gate.wait(20)
        yield chat_text("reply.")

    with Provider(Answer(reply())) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(120, 35)) as screen:
            for command, why in (("/compact", "✗ There is no message"), ("/fork", "no message")):
                await send(screen, command)
                await screen.sees(why)
            await send(screen, "hello")
            await screen.sees("A slow")
            await screen.loses("There is no message", seconds=2)
            await screen.press("shift+tab", "e")
            await screen.sees("This reply is still arriving; Esc stops it.")
            await screen.press("ctrl+r")
            await screen.sees("✗ A reply is still arriving.")
            gate.set()
            await screen.sees("A slow reply.")
            await screen.loses("still arriving", seconds=2)


async def test_what_is_said_of_a_view_leaves_with_it(tmp_path: Path):
    async with open_screen(tmp_path, waits=("Enter", "Payload")) as screen:
        await screen.press("f4")
        await screen.click_on("Payload")
        await screen.sees("Payload is shown already.")
        await screen.press("right")
        await screen.loses("shown already", seconds=2)


@each_row("size, command", [
    ((160, 45), "/role sailor"), ((120, 35), "/role sailor"), ((120, 35), f"/role {LONG}"),
    ((80, 24), "/role sailor"), ((80, 24), f"/role {LONG}"),
])  # fmt: skip
async def test_a_message_hides_no_keys_and_all_of_it_can_be_read(
    size: tuple[int, int], command: str, tmp_path: Path
):
    async with open_screen(tmp_path, size=size, waits=("Enter", "F1")) as screen:
        keys = [key for key in KEYS if key in screen.lines[-1]]
        assert keys[:2] == ["F1", "Ctrl+P"]
        screen.app.post_message(events.Paste(command))
        await screen.sees("/role")
        await screen.press("enter")
        await screen.sees("✗ There is no role")
        assert [key for key in KEYS if key in screen.lines[-1]] == keys
        if command.endswith(LONG):
            await screen.sees("…", "Ctrl+P notifications has all of it")
        await screen.press("ctrl+p")
        await screen.type("notifications")
        await screen.press("enter")
        await screen.sees("Available: Assistant.")
