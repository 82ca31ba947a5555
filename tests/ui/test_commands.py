"""Commands: what is one, and what they do in the app."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.support.app import make_app, opened, replied, say, settle, told, until
from tui_chat.config.file import TEMPLATE
from tui_chat.models.endpoint import Protocol
from tui_chat.offline.http_messages import HttpRequest
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.command_suggestions import command_error, suggest
from tui_chat.ui.areas.chat.completion import CompletionQuery
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.slash_commands import (
    BY_NAME,
    COMMANDS,
    CommandCall,
    UnknownCommand,
    message_text,
    parse_command,
)
from tui_chat.ui.themes import DARK, LIGHT, sorted_theme_names
from tui_chat.ui.widgets.find_bar import FindBar


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/help", ("help", "")),
        ("/MODEL  gpt-5 ", ("model", "gpt-5")),
        ("/rename two\nlines", ("rename", "two\nlines")),
        ("/nothing here", "nothing"),
        ("/git:commit", ("snippet", "git:commit")),
        ("/My_git:do/it/ two\nlines ", ("snippet", "My_git:do/it/ two\nlines")),
    ],
)
def test_commands_are_distinguished_from_messages(text: str, meant: object):
    line = parse_command(text)
    found = (line.command.name, line.argument) if isinstance(line, CommandCall) else None
    assert (found or (line.name if isinstance(line, UnknownCommand) else None)) == meant
    assert message_text(text) == ""


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("//help", "/help"),
        ("// comment", "/ comment"),
        ("/etc/hosts is a file", "/etc/hosts is a file"),
        ("/ alone", "/ alone"),
        ("/todo: buy milk", "/todo: buy milk"),
        ("/http://localhost", "/http://localhost"),
        ("//git:commit", "/git:commit"),
        ("say /help", "say /help"),
        ("", ""),
    ],
)
def test_text_that_is_not_a_command_is_a_message(text: str, sent: str):
    assert parse_command(text) == sent
    assert message_text(text) == sent


def test_every_command_is_parsed():
    for command in COMMANDS:
        assert command.run or command.argument
        assert parse_command(f"/{command.name}") == CommandCall(command, "")


async def test_a_command_is_run_and_never_sent(tmp_path: Path):
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
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
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
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
        assert shown is not None
        assert shown.envelope.turns[-1].text.plain == "/nonsense"
        await pilot.press("enter")
        await replied(pilot)
        assert [r.body for r in received] == [shown.payload.body]


async def test_settings_are_set_shown_and_reset_by_command(tmp_path: Path):
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        workspace = app.workspace
        assert workspace is not None

        async def enter(command: str) -> None:
            app.query_one(Composer).text = command
            await settle(pilot)
            await pilot.press("escape", "enter")
            await settle(pilot)

        await enter("/set temperature 0.7")
        await until(pilot, lambda: workspace.state.settings.temperature == 0.7)
        await until(
            pilot,
            lambda: (
                "temperature: 0.7, set by the session. Sent as 0.7 at /temperature." in told(app)
            ),
        )
        shown = app.query_one(Inspector).composed
        assert shown is not None
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


async def test_names_and_words_of_settings_are_completed(tmp_path: Path):
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        composer = app.query_one(Composer)
        await pilot.press(*"/set eff")
        await until(pilot, lambda: composer.suggestions.is_open)
        await pilot.press("tab")
        await until(pilot, lambda: composer.text == "/set effort ")
        await pilot.press(*"hi")
        await until(pilot, lambda: len(composer.suggestions.options) == 2)
        await pilot.press("enter")
        await until(pilot, lambda: workspace.state.settings.effort == "high")
        assert composer.text == ""


async def test_suggestions_leave_the_conversation_its_width(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        pane = app.chat.pane
        before = pane.transcript.size.width
        await pilot.press("/")
        await until(pilot, lambda: pane.composer.suggestions.is_open)
        await settle(pilot)
        assert pane.transcript.size.width == before


async def test_commands_act_on_the_last_message(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        for text in ("one", "two"):
            await say(pilot, text)
        first = app.workspace.state.session_id
        app.chat.pane.transcript.focus()
        await pilot.press("home")
        app.chat.pane.composer.focus()
        await pilot.press(*"/copy", "enter")
        await until(pilot, lambda: app.clipboard == "two")
        await pilot.press(*"/copy-code", "enter")
        await until(pilot, lambda: "no code block" in told(app))
        await pilot.press(*"/delete", "enter")
        await until(pilot, lambda: len(app.workspace.state.entries) == 3)
        await pilot.press(*"/fork Another way", "enter")
        await until(pilot, lambda: app.workspace.state.session_id != first)
        assert [entry.message.content for entry in app.workspace.state.entries][:2] == [
            "one",
            "one",
        ]
        session = app.workspace.state.session
        assert session is not None
        assert (session.title, session.fork_of) == ("Another way", "one")


@pytest.mark.parametrize(
    ("typed", "argument"),
    [
        ("/temperature 0.3", "temperature 0.3"),
        ("/effort", "effort"),
        ("/top-p 1", "top_p 1"),
        ("/seed inherit", "seed inherit"),
    ],
)
def test_a_setting_typed_as_a_command_is_set(typed: str, argument: str):
    line = parse_command(typed)
    assert isinstance(line, CommandCall)
    assert line == CommandCall(BY_NAME["set"], argument)
    assert command_error(line) is None


def test_a_wrong_value_of_a_setting_typed_as_a_command_is_an_error():
    line = parse_command("/temperature hot")
    assert isinstance(line, CommandCall)
    error = command_error(line)
    assert error is not None
    assert "temperature" in str(error)


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
        app.chat.pane.composer.focus()
        await pilot.press(*"/find the hay", "enter")
        await until(pilot, lambda: bar.query_one(Input).value == "the hay")
        await until(pilot, lambda: str(found.content).startswith("1 of 2"))


async def test_dark_and_light_are_what_they_say(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        for name, theme in (("light", LIGHT), ("light", LIGHT), ("dark", DARK), ("dark", DARK)):
            await pilot.press(*f"/{name}", "enter")
            await until(pilot, lambda: app.chat.pane.composer.text == "")
            await until(pilot, lambda theme=theme: app.theme == theme)


def test_our_themes_are_offered_first():
    names = ("ansi-light", "tui-chat-light", "nord", "tui-chat-colourblind-light", DARK)
    assert sorted_theme_names(names) == [
        DARK,
        LIGHT,
        "tui-chat-colourblind-light",
        "ansi-light",
        "nord",
    ]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/regnerate", "Did you mean /regenerate?"),
        ("/retrry", "Did you mean /regenerate?"),
        ("/setting", "/set"),
        ("/delte", "/delete"),
        ("/temperatur 1", "Did you mean /temperature or"),
        ("/presence-penalti 1", "/presence-penalty"),
        ("/temporary9", "/temporary"),
        ("/qqqq", "Type / to list the commands."),
    ],
)
def test_an_unknown_command_names_the_nearest(typed: str, meant: str):
    line = parse_command(typed)
    assert isinstance(line, UnknownCommand)
    error = command_error(line)
    assert error is not None
    assert meant in error.advice
    assert "begin with //" in error.advice


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
        assert isinstance(app, TuiChat)
        app.notifications.clear()
        await pilot.press(*"/config", "enter")
        # The file is also watched, and what was changed before may be told meanwhile.
        await until(
            pilot, lambda: any(notice in shown.message for shown in app.notifications.shown)
        )

    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await edit(pilot, "", "config.toml has no faults, and is in use.")
        text = (tmp_path / "config.toml").read_text()
        assert text == TEMPLATE
        await edit(pilot, "thema = 1\n", "thema")
        assert (tmp_path / "config.toml").read_text() == text + "thema = 1\n"
        (tmp_path / "config.toml").write_text("")
        await edit(pilot, 'theme = "nosuch"\n', "no theme “nosuch”")


def test_names_of_settings_are_suggested_as_commands():
    def texts(typed: str) -> list[str]:
        return [each.text for each in suggest(CompletionQuery("command", typed, 0), None, ())]

    assert "/temperature " in texts("temp")
    assert texts("stop").count("/stop") == 1, "the command, not the setting of that name"
    assert "/temperature " not in texts("t")
