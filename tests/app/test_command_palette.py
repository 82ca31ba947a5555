"""The command palette: what people type finds what they mean."""

from __future__ import annotations

import json
from pathlib import Path

from textual.command import CommandPalette

from tests.support.app import make_app, opened, press, say, until
from tests.support.palette import offered
from tests.support.screen import open_screen
from tui_chat.ui.palette import VerbProvider, match_score

MEANT = json.loads(Path(__file__).with_name("palette_words.json").read_text())
"""The title of each action, and the words that people search for it by."""
WORDS = {words: title for title, searched in MEANT.items() for words in searched}


async def test_the_words_that_people_search_for_put_the_action_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        verbs = offered(app)
        first = {
            words: max(verbs, key=lambda verb: match_score(verb, words)).title for words in WORDS
        }
        assert first == WORDS
        for words in ("mouse", "voice", "zen"):
            assert not any(match_score(verb, words) for verb in verbs), "not letters of others"
        assert {verb.title for verb in verbs if match_score(verb, "config") >= 60} == {
            *("Open the configuration file in $EDITOR", "Session settings", "Switch model")
        }
        provider = VerbProvider(app.screen)
        found = [hit.text async for hit in provider.search("import")]
        assert "Import conversations…" in found
        assert "Impersonate: the model writes your next message as a draft" not in found, (
            "scattered"
        )


async def test_what_is_typed_at_once_with_enter_is_run(tmp_path: Path) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        keys = [("ctrl+p", None), *((key, key) for key in "usage"), ("enter", None)]
        screen.press_at_once(*keys)
        await screen.sees("Usage and cost", "Esc close")


async def test_the_verbs_of_the_focused_pane_come_first(tmp_path: Path) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f2", "ctrl+p")
        await screen.sees("Type what you want to do", "Filter the sessions")
        await screen.press("escape", "f4", "ctrl+p")
        await screen.sees("Previous view")
        await screen.type("copy as c")
        await screen.press("enter")
        await screen.sees("Copied")


async def test_a_verb_about_a_message_runs_on_the_newest(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        app.chat.composer.focus()
        await pilot.press("ctrl+p", *"copy reply", "enter")
        newest = app.workspace.state.entries[-1].message.content
        await until(pilot, lambda: app.clipboard == newest)
        assert app.chat.composer.has_focus


async def test_a_key_that_leads_elsewhere_says_why_it_waits_for_a_dialog(tmp_path: Path):
    async with make_app(tmp_path, keys=(("palette", "F9"),)).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        log = app.notifications.log
        for command in ("/model", "/roles"):
            await pilot.press(*command, "enter")
            await until(pilot, lambda: len(app.screen_stack) == 2 and app.focused is not None)
            for key in ("f9", "f4"):
                log.clear()
                await pilot.press(key)
                await until(pilot, lambda: bool(log))
                assert [notice.message for notice in log] == ["Close this dialog first (Esc)."]
            log.clear()
            await press(pilot, "ctrl+p", "tab", "x")
            assert not log, "keys of the dialog, and keys of nothing"
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        await press(pilot, "f3")
        await press(pilot, "enter")
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
