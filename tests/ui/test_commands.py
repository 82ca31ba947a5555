"""Commands: what is one, and what they do in the app."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.app_under_test import make_app, opened, replied, say, settle, until
from tui_chat.offline import HttpRequest
from tui_chat.ui.chat import Composer
from tui_chat.ui.commands import COMMANDS, CommandCall, UnknownCommand, message_text, parse_command
from tui_chat.ui.inspector import Inspector

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/help", ("help", "")),
        ("/MODEL  gpt-5 ", ("model", "gpt-5")),
        ("/rename two\nlines", ("rename", "two\nlines")),
        ("/nothing here", "nothing"),
    ],
)
def test_commands_are_told_from_messages(text: str, meant: object):
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
        ("say /help", "say /help"),
        ("", ""),
    ],
)
def test_messages_are_sent(text: str, sent: str):
    assert parse_command(text) == sent
    assert message_text(text) == sent


def test_every_command_can_be_given():
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
        await until(pilot, lambda: len(app.query_one(Composer).suggestions.options) == 4)
        await pilot.press("down", "enter")
        await until(pilot, lambda: workspace.state.model == "thinker")
        assert workspace.state.endpoint.name == "loopback-responses"
        assert app.query_one(Composer).text == ""
        app.query_one(Composer).text = "/preset plain"
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(Composer).text == "")
        assert received == []


async def test_what_is_no_command_is_told_and_stays(tmp_path: Path):
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        app.query_one(Composer).text = "/nonsense"
        await pilot.press("enter")
        await until(pilot, lambda: bool(app._notifications))
        assert "no command /nonsense" in str([n.message for n in app._notifications])
        assert app.query_one(Composer).text == "/nonsense"
        app.query_one(Composer).text = "/quit smoking"
        await pilot.press("enter")
        await until(pilot, lambda: "/quit takes no arguments" in str(list(app._notifications)))
        assert app.query_one(Composer).text == "/quit smoking"
        app.query_one(Composer).text = "/export markdown"
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing has been said" in str(list(app._notifications)))
        app.query_one(Composer).text = "//nonsense"
        await settle(pilot)
        shown = app.query_one(Inspector).composed
        assert shown is not None
        assert shown.envelope.turns[-1].text.plain == "/nonsense"
        await pilot.press("enter")
        await replied(pilot)
        assert [r.body for r in received] == [shown.payload.body]


async def test_the_session_is_renamed_by_command(tmp_path: Path):
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        app.query_one(Composer).text = "/rename A fine title"
        await pilot.press("enter")
        workspace = app.workspace
        assert workspace is not None
        await until(
            pilot,
            lambda: (
                workspace.state.session is not None and workspace.state.session.title != "hello"
            ),
        )
        assert workspace.state.session is not None
        assert workspace.state.session.title == "A fine title"
