"""Undo takes the latest change back, and says which."""

from __future__ import annotations

from pathlib import Path

from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text


async def undo_in_turn(screen: Screen, *sentences: str) -> None:
    """Press u for each sentence, the last change first, and see it; then nothing is left."""
    for sentence in (*sentences, "Nothing to undo."):
        await screen.press("u")
        await screen.sees(sentence)


async def test_changes_of_a_message_are_undone_in_reverse(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            await screen.press("shift+tab", "g", "m")
            await screen.sees("Muted your message “hello”")
            await screen.press("p")
            await screen.sees("Pinned your message “hello”, which is no longer muted", "◆ pinned")
            await screen.press("m")
            await screen.sees("Muted your message “hello”")
            await screen.loses("◆ pinned")
            await screen.press("u")
            await screen.sees("Undone: muted your message “hello”.", "◆ pinned")
            await screen.press("u")
            await screen.sees("Undone: muted your message “hello”.")
            await undo_in_turn(screen)


async def test_changes_of_a_session_are_undone_in_reverse(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            await screen.press("f2", "e")
            await screen.sees("Rename session")
            await screen.press("ctrl+u")
            await screen.type("greeting")
            await screen.press("enter")
            await screen.sees("Renamed “hello” to “greeting”.")
            await screen.press("p")
            await screen.sees("Pinned “greeting”.")
            await screen.press("ctrl+p", *"tag this", "enter")
            await screen.sees("Tags (comma-separated)")
            await screen.type("work")
            await screen.press("enter")
            await screen.sees("Tagged “greeting”.", "#work")
            await screen.press("ctrl+p", *"archive or", "enter")
            await screen.sees("Archived “greeting”.")
            await undo_in_turn(
                screen,
                "Undone: archived “greeting”.",
                "Undone: tagged “greeting”.",
                "Undone: pinned “greeting”.",
                "Undone: renamed “hello” to “greeting”.",
            )
            assert "#work" not in screen.text
            assert "greeting" not in screen.lines[0]


async def test_an_edit_of_the_request_is_undone_only_if_there_is_one(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.press("f4", "u")
            await screen.sees("Nothing to undo.")
            await screen.press("g", "j", "d")
            await screen.sees("is not sent. u undoes it.")
            await screen.press("u")
            await screen.sees("Removed the edit by hand of /")
