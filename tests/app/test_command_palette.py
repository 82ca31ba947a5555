"""The command palette: what people type finds what they mean."""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Input, OptionList

from tests.support.app import make_app, opened, press, say, settle, until
from tui_chat.ui.command_palette import CommandPalette, match_score
from tui_chat.ui.dialogs.base import HelpDialog

MEANT = json.loads(Path(__file__).with_name("palette_words.json").read_text())
"""The title of each action, and the words that people search for it by."""
WORDS = {words: title for title, searched in MEANT.items() for words in searched}


async def test_the_words_that_people_search_for_put_the_action_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        entries = list(app.action_index.palette_entries())
        first = {
            words: max(entries, key=lambda entry: match_score(entry, words)).title
            for words in WORDS
        }
        assert first == WORDS
        scattered = max(entries, key=lambda entry: match_score(entry, "rgnrt"))
        assert scattered.title.startswith("Regenerate")
        for misspelled, meant in (
            ("tempreture", "Session settings"),
            ("exprot", "Export conversation…"),
        ):
            best = max(entries, key=lambda entry, words=misspelled: match_score(entry, words))
            assert best.title == meant
        for words in ("mouse", "voice", "zen"):
            assert not any(match_score(entry, words) for entry in entries), "not letters of others"
        tools = sorted(entries, key=lambda entry: -match_score(entry, "tools"))
        assert "tool" in tools[0].title
        assert {entry.title for entry in entries if match_score(entry, "config") >= 60} == {
            *("Open the configuration file in $EDITOR", "Session settings", "Switch model")
        }
        assert not [entry.title for entry in entries if entry.title.startswith(("Page ", "Up"))]
        assert not any(entry.title.startswith("Delete character") for entry in entries), "of fields"
        palette = CommandPalette(entries, ())
        found = [choice.label for choice in palette.matching("import")]
        assert found[0] == "Import conversations…"
        assert not [title for title in found if title.startswith("Impersonate")], "scattered"
        assert palette.matching("rgnrt"), "scattered letters alone"


async def test_what_was_used_last_comes_first(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        before = app.theme
        await pilot.press("ctrl+p", *"dark", "enter")
        await until(pilot, lambda: app.theme != before)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await settle(pilot)
        assert "Toggle light" in app.screen.query_one(OptionList).render_line(0).text
        app.screen.query_one(Input).value = "no such thing"
        await settle(pilot)
        assert "No matches" in app.screen.query_one(OptionList).render_line(0).text


async def test_help_is_searched_by_typing(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        app.chat.transcript.focus()
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))

        def shown() -> list[str]:
            return [str(each.render()) for each in app.screen.query(".title") if each.display]

        assert shown()[0] == "Conversation", "the focused pane comes first"
        await pilot.press(*"fork")
        await until(pilot, lambda: "Sessions" not in shown())
        assert shown() == ["Conversation", "Typed at the start of a message"]
        app.screen.query_one(Input).value = "bug report"
        await until(pilot, lambda: shown() == ["Only in the palette"])
        app.screen.query_one(Input).value = "shift+drag"
        await until(pilot, lambda: shown() == ["Mouse"])
        app.screen.query_one(Input).value = "persona"
        await until(pilot, lambda: shown() == ["Typed at the start of a message"])
        await pilot.press(*"zzz")
        await until(pilot, lambda: shown() == [])
        assert app.screen.query_one(".none").display
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        app.chat.composer.focus()
        await pilot.press("question_mark")
        assert app.chat.composer.text == "?"


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
