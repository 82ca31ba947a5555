"""The row of keys below the panes, and the list of all keys of a pane."""

from __future__ import annotations

import re
from pathlib import Path

from tests.app.test_keys import PANES, go_to
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text

PANEL = "Ctrl+P finds everything else."
KEYS_THAT_CLOSE = {
    "conversation": ["escape"],
    "sessions": ["question_mark"],
    "preset": ["j"],
    "inspector": ["f1"],
}


def row_of_keys(screen: Screen) -> str:
    return screen.lines[-1]


async def test_the_row_names_no_key_that_means_another_thing_while_suggestions_are_open(
    tmp_path: Path,
) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.type("/mut")
        await screen.sees("/mute-tool-results", "Enter choose")
        assert "Shift+Tab" not in row_of_keys(screen)
        await screen.press("escape")
        await screen.sees("Enter send", "Shift+Tab conversation")


async def test_the_panel_of_keys_has_every_key_of_the_pane_and_closes_with_any(
    tmp_path: Path,
) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(160, 200)) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            for pane in PANES:
                await go_to(screen, pane)
                bound = {
                    key
                    for key, active in screen.app.active_bindings.items()
                    if active.enabled and len(key) == 1 and active.node is not screen.app
                }
                await screen.press("question_mark")
                await screen.sees(PANEL)
                own = screen.text[screen.text.index("───", 2_000) :]
                listed = set(re.findall(r"(?<![\w+])(\w)(?= )", own))
                assert len(bound) > 5, pane
                assert bound <= listed, (pane, sorted(bound - listed))
                await screen.press(*KEYS_THAT_CLOSE[pane])
                await screen.loses(PANEL)


async def test_a_key_in_the_panel_of_keys_does_what_it_does(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(80, 24)) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            await screen.press("f1")
            await screen.sees(PANEL, "Send")
            await screen.press("f2")
            await screen.loses(PANEL)
            await screen.sees("Sessions")


async def test_the_row_has_the_keys_of_the_session_filter(tmp_path: Path) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f2", "slash")
        await screen.sees("words, #tag")
        for words in ("Enter open", "↓", "list", "Esc show all"):
            await screen.until(lambda w=words: w in row_of_keys(screen), f"no {words!r}")
        await screen.type("zz")
        await screen.press("escape")
        await screen.loses("zz")
        await screen.sees("/ filter")


async def test_the_row_follows_the_focus_and_a_click_on_it_presses_the_key(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.click_on("Enter send  Ctrl+J")
            await screen.sees("Good morning.")
            await screen.click_on("Shift+Tab conversation")
            await screen.sees("e edit")
