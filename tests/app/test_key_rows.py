"""The row of keys below the panes, and the list of all keys of a pane."""

from __future__ import annotations

import re
from pathlib import Path

from tests.app.test_keys import PANES, go_to
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text


def row_above_footer(screen: Screen) -> str:
    return screen.lines[-2]


async def test_the_row_names_no_key_that_means_another_thing_while_suggestions_are_open(
    tmp_path: Path,
) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.type("/mut")
        await screen.sees("/mute-part", "Enter choose")
        assert "earlier message" not in row_above_footer(screen)
        await screen.press("escape")
        await screen.sees("Enter send", "↑ earlier message")


async def test_the_list_of_keys_has_every_key_of_the_pane_and_can_be_searched(
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
                await screen.sees("Type to search keys")
                own = screen.text.partition("Everywhere")[0]
                listed = set(re.findall(r"(?<![\w+])(\w)(?=,| {2,})", own))
                assert len(bound) > 5, pane
                assert bound <= listed, (pane, sorted(bound - listed))
                await screen.type("fork")
                await screen.loses("Everywhere")
                await screen.sees("Fork session from here")
                await screen.press("escape")
                await screen.loses("Type to search keys")


async def test_the_row_has_the_keys_of_the_session_filter(tmp_path: Path) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f2", "slash")
        await screen.sees("words, #tag")
        for words in ("Enter open", "↓", "list", "Esc show all"):
            await screen.until(lambda w=words: w in row_above_footer(screen), f"no {words!r}")
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
