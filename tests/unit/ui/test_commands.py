"""Commands of the app, and the arguments of `/export`."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.ui.chat.command_suggestions import command_error
from tui_chat.ui.commands import (
    BY_NAME,
    COMMANDS,
    CommandCall,
    UnknownCommand,
    message_text,
    parse_command,
)
from tui_chat.ui.dialogs.export import format_and_path
from tui_chat.ui.themes import DARK, LIGHT, sorted_theme_names


@each_row(
    ("text", "meant"),
    [
        ("/help", ("help", "")),
        ("/MODEL  gpt-5 ", ("model", "gpt-5")),
        ("/rename two\nlines", ("rename", "two\nlines")),
        ("/nothing here", "nothing"),
    ],
)
def test_commands_are_distinguished_from_messages(text: str, meant: object):
    line = parse_command(text)
    found = (line.command.names[0], line.argument) if isinstance(line, CommandCall) else None
    assert (found or (line.name if isinstance(line, UnknownCommand) else None)) == meant
    assert message_text(text) == ""


@each_row(
    ("text", "sent"),
    [
        ("//help", "/help"),
        ("// comment", "/ comment"),
        ("/etc/hosts is a file", "/etc/hosts is a file"),
        ("/ alone", "/ alone"),
        ("/todo: buy milk", "/todo: buy milk"),
        ("/http://localhost", "/http://localhost"),
        ("say /help", "say /help"),
        ("", ""),
    ],
)
def test_text_that_is_not_a_command_is_a_message(text: str, sent: str):
    assert parse_command(text) == sent
    assert message_text(text) == sent


def test_every_command_is_parsed():
    for command in COMMANDS:
        for name in command.names:
            line = parse_command(f"/{name}")
            assert isinstance(line, CommandCall)
            assert name in line.command.names


@each_row(
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


def test_our_themes_are_offered_first():
    names = ("ansi-light", "tui-chat-light", "nord", "tui-chat-colourblind-light", DARK)
    assert sorted_theme_names(names) == [
        DARK,
        LIGHT,
        "tui-chat-colourblind-light",
        "ansi-light",
        "nord",
    ]


@each_row(
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


# --- What is typed to export --------------------------------------------------------------


@each_row(
    ("argument", "kind", "path"),
    [
        ("talk.md", "markdown", "talk.md"),
        ("markdown a b.txt", "markdown", "a b.txt"),
        ("talk", "json", "talk"),
        ("'my talk.jsonl'", "jsonl", "'my talk.jsonl'"),
        ("JSONL x", "jsonl", "x"),
        ("markdown", "markdown", ""),
    ],
)
def test_format_and_path(argument: str, kind: str, path: str):
    assert format_and_path(argument) == (kind, path)
