"""`ask` and `build` compose the same request for the same words, whatever is clicked in the app."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text
from tests.support.terminal_app import TerminalApp

SERVER = Path(__file__).parents[1] / "plugins/mcp/hostile_server.py"
SCREEN_RULES = ("reads you in a terminal", "Answer in Markdown")
TOOLS = f"""
[tools.weather]
description = "The weather."
parameters = '{{"type": "object", "properties": {{"city": {{"type": "string"}}}}}}'

[mcp.local]
command = {json.dumps(sys.executable)}
args = {json.dumps(["-S", "-E", str(SERVER), "--tool", "echo"])}
"""

Call = Callable[..., bytes]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(chat_text("A ", "reply."), models=("m", "other")) as provider:
        yield provider


@pytest.fixture
def home(tmp_path: Path, provider: Provider) -> Path:
    """A configured folder with a role, a preset and a profile."""
    config = provider.config() + 'models = ["m", "other"]\n'
    (tmp_path / "config.toml").write_text(config)
    files = {
        "roles/pirate.json": {"name": "Pirate", "system_prompt": "Arr.", "temperature": 0.25},
        "roles/scholar.json": {"name": "Scholar", "preset": "mine", "model": "other"},
        "profiles/kim.json": {"name": "Kim", "content": "Kim is here."},
        "presets/mine.json": [
            {"role": "system", "content": "MINE for {{user}}"},
            {"type": "user_profile"},
            {"type": "chat_history"},
        ],
        "schema.json": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value))
    (tmp_path / "note.txt").write_text("A note.")
    return tmp_path


@pytest.fixture
def bodies(
    home: Path, provider: Provider, run: Run, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[bytes, bytes]]:
    """Return a function that gives the body that `build` prints, and that which `ask` then sends
    for the same words, with `piped` at the standard input.
    """
    monkeypatch.chdir(home)

    def both(*words: str, piped: bytes = b"") -> tuple[bytes, bytes]:
        folders = ("--data-dir", home, "--config-dir", home)

        def call(command: str) -> str:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
            done = run(*folders, command, *words)
            assert done.code == 0 or "is not JSON" in done.err, (command, words, done.err)
            return done.out

        built = call("build")
        count = len(provider.received)
        call("ask")
        assert len(provider.received) == count + 1, words
        return built.encode(), provider.received[-1].body

    return both


def messages(body: bytes) -> list[tuple[str, Any]]:
    return [(each["role"], each["content"]) for each in json.loads(body)["messages"]]


def test_with_nothing_chosen_the_request_is_the_text_alone(bodies):
    built, sent = bodies("Why", "is", "it?")
    assert built == sent
    assert messages(sent) == [("user", "Why is it?")]
    assert json.loads(sent).keys() <= {"model", "messages", "stream", "stream_options"}


def test_with_nothing_configured_it_goes_to_the_default_endpoint(run: Run, tmp_path: Path):
    folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    body = run(*folders, "build", "Hello", "--protocol", "anthropic").out
    assert json.loads(body)["messages"] == [{"role": "user", "content": "Hello"}]
    assert "system" not in json.loads(body)
    body = run(*folders, "build", "Hello").out
    assert messages(body.encode()) == [("user", "Hello")]
    assert [*tmp_path.iterdir()] == [], "nothing is created"
    assert run(*folders, "ask", "Hello", "-m", "echo").out == "Hello\n"


def test_the_same_words_give_the_same_request(bodies, home: Path, provider: Provider):
    with (home / "config.toml").open("a") as file:
        file.write(TOOLS)
    bodies("first", "--role", "Pirate", "--profile", "kim")  # the session of -c and -s
    wrong: list[str] = []
    [rows] = table("same_words").values()
    for words, piped, part in rows:
        built, sent = bodies(*words, piped=piped.encode())
        said = sent.decode()
        if built != sent:
            wrong.append(f"{words}: build {built.decode()}\n  ask {said}")
        elif part not in said:
            wrong.append(f"{words}: {part!r} is not in {said}")
        if "plain" not in words and any(rule in said for rule in SCREEN_RULES):
            wrong.append(f"{words}: rules for the screen in {said}")
    assert not wrong, "\n".join(wrong)
    assert json.loads(bodies("-c", "Last")[1])["model"] == "m"  # options were for one message


def use_app(home: Path) -> None:
    """Choose a model, a role, a profile, a preset and a default in the app, and send a message."""

    async def run_it() -> None:
        async with open_screen(home) as screen:
            for command in ("/role Pirate", "/model other", "/profile kim", "/preset mine"):
                await screen.type(command)
                await screen.press("enter")
                await screen.rests()
            await screen.type("from the app")
            await screen.press("enter")
            await screen.sees("A reply.")
            await screen.press("ctrl+o")
            await screen.type("other")
            await screen.press("ctrl+d")
            await screen.sees("New sessions use other at local.")

    asyncio.run(run_it())


def send_in_new_session(home: Path, provider: Provider) -> bytes:
    async def run_it() -> bytes:
        async with open_screen(home) as screen:
            await screen.press("ctrl+n")
            await screen.type("new one")
            await screen.press("enter")
            await screen.until(lambda: b"new one" in provider.received[-1].body, "It was not sent")
        return provider.received[-1].body

    return asyncio.run(run_it())


def test_what_is_clicked_in_the_app_changes_neither(bodies, home: Path, provider: Provider):
    before = bodies("Hello")
    use_app(home)
    assert bodies("Hello") == before
    # A session that is named keeps what was chosen for it.
    built, sent = bodies("-s", "Pirate: from the app", "More")
    assert built == sent
    body = json.loads(sent)
    assert (body["model"], body["temperature"]) == ("other", 0.25)
    said = [content for _, content in messages(sent)]
    assert said[:2] == ["Arr.", "MINE for Kim"]
    assert said[-1] == "More"
    # The app goes on with what was chosen last.
    body = send_in_new_session(home, provider)
    assert json.loads(body)["model"] == "other"
    assert b"Arr." in body


def test_the_app_shows_a_session_of_ask_as_it_was_sent(bodies, home: Path, provider: Provider):
    bodies("Hello")

    async def use_app() -> bytes:
        async with open_screen(home) as screen:
            await screen.press("f2")
            await screen.click_on("Hello")
            await screen.sees("A reply.")
            await screen.press("escape")
            await screen.type("More")
            await screen.press("enter")
            await screen.until(lambda: b"More" in provider.received[-1].body, "It was not sent")
        return provider.received[-1].body

    sent = messages(asyncio.run(use_app()))
    assert sent == [("user", "Hello"), ("assistant", "A reply."), ("user", "More")]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a pty")
def test_a_terminal_changes_nothing_of_the_request(bodies, home: Path, provider: Provider):
    built, _ = bodies("Hi")
    with TerminalApp(home, ("ask", "Hi")) as app:
        assert app.wait() == 0
    assert provider.received[-1].body == built
