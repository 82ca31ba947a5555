"""Typed commands and the command palette."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support.app import (
    make_app,
    opened,
    press,
    replied,
    say,
    settle,
    told,
    until,
    workspace_of,
)
from tests.support.palette import offered
from tests.support.screen import open_screen
from tests.support.vendors import HttpRequest
from tui_chat.config.file import TEMPLATE
from tui_chat.models.endpoint import Protocol
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.palette import VerbProvider, match_score
from tui_chat.ui.themes import DARK, LIGHT
from tui_chat.ui.widgets.find_bar import FindBar


async def test_a_command_is_run_and_never_sent(tmp_path: Path):
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await pilot.press(*"/mod")
        await until(pilot, lambda: app.query_one(Composer).suggestions.is_open)
        await pilot.press("tab")
        await until(pilot, lambda: app.query_one(Composer).text == "/model ")
        await pilot.press(*"thinker")
        await until(
            pilot, lambda: len(app.query_one(Composer).suggestions.options) == len(Protocol)
        )
        await pilot.press("down", "enter")
        await until(pilot, lambda: workspace.state.model == "thinker")
        assert workspace.state.endpoint.name == "loopback-responses"
        assert app.query_one(Composer).text == ""
        app.query_one(Composer).text = "/preset plain"
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(Composer).text == "")
        assert received == []


async def test_an_unknown_command_is_reported_and_kept(tmp_path: Path):
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(120, 35)
    ) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "/nonsense"
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.notifications.shown))
        assert "no command /nonsense" in str([n.message for n in app.notifications.shown])
        assert app.query_one(Composer).text == "/nonsense"
        app.query_one(Composer).text = "/quit smoking"
        await pilot.press("enter")
        await until(pilot, lambda: "/quit takes no arguments" in str(list(app.notifications.shown)))
        assert app.query_one(Composer).text == "/quit smoking"
        app.query_one(Composer).text = "/export markdown"
        await pilot.press("enter")
        await until(
            pilot,
            lambda: "There is no message in this session yet" in str(list(app.notifications.shown)),
        )
        app.query_one(Composer).text = "//nonsense"
        await settle(pilot)
        shown = app.query_one(Inspector).composed
        assert shown.envelope.turns[-1].text.plain == "/nonsense"
        await pilot.press("enter")
        await replied(pilot)
        assert [r.body for r in received] == [shown.payload.body]


async def test_settings_are_set_shown_and_reset_by_command(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)

        async def enter(command: str) -> None:
            app.query_one(Composer).text = command
            await settle(pilot)
            await press(pilot, "escape", "enter")

        await enter("/set temperature 0.7")
        await until(pilot, lambda: workspace.state.settings.temperature == 0.7)
        await until(
            pilot,
            lambda: (
                "temperature: 0.7, set by the session; sent as 0.7 at /temperature." in told(app)
            ),
        )
        shown = app.query_one(Inspector).composed
        assert b'"temperature":0.7' in shown.payload.body, "the live request follows"
        app.notifications.clear()
        await enter("/set temperature")
        await until(pilot, lambda: "temperature: 0.7, set by the session" in told(app))
        app.notifications.clear()
        await enter("/set temperature default")
        await until(pilot, lambda: workspace.state.settings.temperature is None)
        await until(pilot, lambda: "temperature is not set" in told(app))
        app.notifications.clear()
        await enter("/set effort huge")
        await until(pilot, lambda: "effort must be one of none, minimal" in told(app))
        assert app.query_one(Composer).text == "/set effort huge", "it can be corrected"
        app.notifications.clear()
        await enter("/set char_name")
        await until(pilot, lambda: "it is Assistant (role Assistant)" in told(app))
        await enter("/set seed=7")
        await until(pilot, lambda: workspace.state.settings.seed == 7)
        await enter("/set seed=inherit")
        await until(pilot, lambda: workspace.state.settings.seed is None)
        await enter("/set model lorem")
        await until(pilot, lambda: workspace.state.model == "lorem")


async def test_commands_act_on_the_last_message(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        for text in ("one", "two"):
            await say(pilot, text)
        first = app.workspace.state.session_id
        app.chat.transcript.focus()
        await pilot.press("home")
        app.chat.composer.focus()
        await pilot.press(*"/copy", "enter")
        await until(pilot, lambda: app.clipboard == "two")
        await pilot.press(*"/copy-code", "enter")
        await until(pilot, lambda: "no code block" in told(app))
        await pilot.press(*"/delete", "enter")
        await until(pilot, lambda: len(app.workspace.state.entries) == 3)
        await pilot.press(*"/fork Another way", "enter")
        await until(pilot, lambda: app.workspace.state.session_id != first)
        await until(pilot, lambda: bool(app.workspace.state.entries))
        assert [entry.message.content for entry in app.workspace.state.entries][:2] == [
            "one",
            "one",
        ]
        session = app.workspace.state.session
        assert (session.title, session.fork_of) == ("Another way", "one")


async def test_words_are_found_in_the_conversation_from_the_composer(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "a needle in the hay")
        await pilot.press(*"/find needle", "enter")
        await until(pilot, lambda: bool(app.query(FindBar)))
        bar = app.query_one(FindBar)
        found = bar.query_one(".find--count", Static)
        await until(pilot, lambda: str(found.content).startswith("1 of 2"))
        await pilot.press("escape")
        await until(pilot, lambda: not bar.display)
        app.chat.composer.focus()
        await pilot.press(*"/find the hay", "enter")
        await until(pilot, lambda: bar.query_one(Input).value == "the hay")
        await until(pilot, lambda: str(found.content).startswith("1 of 2"))


async def test_dark_and_light_are_what_they_say(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        for name, theme in (("light", LIGHT), ("light", LIGHT), ("dark", DARK), ("dark", DARK)):
            await pilot.press(*f"/theme {name}", "escape", "enter")
            await until(pilot, lambda: app.chat.composer.text == "")
            await until(pilot, lambda theme=theme: app.theme == theme)


async def test_the_configuration_file_is_edited_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "editor.py"
    script.write_text("import sys\nopen(sys.argv[2], 'a').write(sys.argv[1])\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(TuiChat, "suspend", lambda _: nullcontext())

    async def edit(pilot: Pilot[None], added: str, notice: str) -> None:
        monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script), added]))
        app = pilot.app
        app.notifications.clear()
        await pilot.press(*"/config", "enter")
        # The file is also watched, and what was changed before may be told meanwhile.
        await until(
            pilot, lambda: any(notice in shown.message for shown in app.notifications.shown)
        )

    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await edit(pilot, "", "config.toml is valid and in use.")
        text = (tmp_path / "config.toml").read_text()
        assert text == TEMPLATE
        await edit(pilot, "thema = 1\n", "thema")
        assert (tmp_path / "config.toml").read_text() == text + "thema = 1\n"
        (tmp_path / "config.toml").write_text("")
        await edit(pilot, 'theme = "nosuch"\n', "no theme “nosuch”")


# --- The command palette: what people type finds what they mean ---------------------------


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
