"""The question of `tui-chat ask` about a tool call, on a real terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.program import run_program
from tests.support.server import Provider, chat_calls, chat_text
from tests.support.terminal_app import TerminalApp

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs a pty"),
]
PROMPT = "Run it?"


def tool(home: Path, name: str = "fmt") -> str:
    """Return the configuration of a tool that appends what it gets to a file."""
    log = home / f"{name}.log"
    command = json.dumps(["sh", "-c", f"cat >> '{log}'; echo >> '{log}'; echo done"])
    return f'\n[tools.{name}]\ndescription = "Formats."\ncommand = {command}\n'


def runs(home: Path, name: str = "fmt") -> list[str]:
    """Return what the tool got, run by run."""
    log = home / f"{name}.log"
    return log.read_text().splitlines() if log.exists() else []


def results(provider: Provider) -> list[str]:
    """Return the results of calls that the model received last."""
    messages = provider.bodies[-1]["messages"]
    return [each["content"] for each in messages if each["role"] == "tool"]


def ask(home: Path, provider: Provider, *, size: tuple[int, int] = (100, 30)) -> TerminalApp:
    (home / "config.toml").write_text(provider.config() + tool(home))
    return TerminalApp(home, ("ask", "hi"), size=size)


def test_what_was_typed_before_the_question_answers_nothing(tmp_path: Path):
    with (
        Provider(chat_calls(("fmt", "{}")), chat_text("Ok.")) as provider,
        ask(tmp_path, provider) as app,
    ):
        app.type("y\r")
        app.until(lambda: "fmt" in app.text())
        app.type("y\r")
        app.until(lambda: app.shows(PROMPT))
        app.type("n\r")
        assert app.wait() == 0
    assert results(provider) == ["The user declined this call."]
    assert runs(tmp_path) == []


def test_an_answer_is_to_one_question(tmp_path: Path):
    calls = chat_calls(("fmt", '{"n": 1}'), ("fmt", '{"n": 2}'), ("fmt", '{"n": 3}'))
    with Provider(calls, chat_text("Ok.")) as provider, ask(tmp_path, provider) as app:
        app.until(lambda: app.shows(PROMPT))
        app.type("y\ry\ry\r")
        app.until(lambda: app.text().count(PROMPT) == 2)
        app.type("n\rt\r")
        app.until(lambda: app.text().count(PROMPT) == 3)
        app.type("\r")
        assert app.wait() == 0
    assert runs(tmp_path) == ['{"n": 1}']


def test_all_arguments_are_on_the_screen_or_it_does_not_ask(tmp_path: Path):
    wrong: list[str] = []
    for number, (count, size) in enumerate(
        [
            *((count, (100, 30)) for count in (10, 180, 230, 800, 4000)),
            *((count, (40, 12)) for count in (10, 40, 100)),
        ]
    ):
        home = tmp_path / str(number)
        home.mkdir()
        arguments = json.dumps({"q": "harmless " * count + "DANGEROUS TAIL"})
        with (
            Provider(chat_calls(("fmt", arguments)), chat_text("Ok.")) as provider,
            ask(home, provider, size=size) as app,
        ):
            app.until(lambda app=app: app.shows(PROMPT) or app.process.poll() is not None)
            shown = app.text()
            if PROMPT in shown:
                app.type("y\r")
            code = app.wait()
        flat = re.sub(r"[\r\n]", "", shown)
        if PROMPT in shown:
            if arguments not in flat or code or runs(home) != [arguments]:
                wrong.append(f"{count} at {size}: asked about a part, code {code}: {shown[-300:]}")
        elif code != 8 or f"{len(arguments):,} characters" not in app.text() or runs(home):
            wrong.append(f"{count} at {size}: code {code}: {app.text()[-300:]}")
    assert not wrong, wrong


def test_the_question_shows_what_runs_where_and_with_what_exactly(tmp_path: Path):
    arguments = '{"a":  "two   blanks",\n "b": "\u202egnp", "c": "\u200b", "d": "\x7f\x9b"}'
    with (
        Provider(chat_calls(("fmt", arguments)), chat_text("Ok.")) as provider,
        ask(tmp_path, provider, size=(300, 30)) as app,
    ):
        app.until(lambda: app.shows(PROMPT))
        shown = app.text()
        app.type("y\r")
        assert app.wait() == 0
    wrong = [
        words
        for words in (
            f"cat >> '{tmp_path / 'fmt.log'}'".replace("'", "'\"'\"'"),
            "/sh -c",
            f"folder: {Path.cwd()}",
            '{"a":  "two   blanks",',
            '\r\n   "b": "\\u202egnp", "c": "\\u200b", "d": "\\u007f\\u009b"}',
        )
        if words not in shown
    ]
    assert not wrong, (wrong, shown)
    assert "\u202e" not in shown


def test_always_is_given_to_what_was_seen(tmp_path: Path):
    long = json.dumps({"q": "x" * 9000})
    script = [chat_calls(("fmt", long)), chat_calls(("fmt", '{"n": 1}')), chat_text("Ok.")]
    with Provider(*script) as provider:
        with ask(tmp_path, provider) as app:
            app.type("t\r")
            assert app.wait() == 8
        assert runs(tmp_path) == []
        with ask(tmp_path, provider) as app:
            app.until(lambda: app.shows(PROMPT))
            app.type("t\r")
            assert app.wait() == 0
        assert runs(tmp_path) == ['{"n": 1}']


# --- permissions -------------------------------------------------------------------------


def script(path: Path, word: str) -> None:
    """Make a program that writes a word into a file beside the configuration."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ncat >/dev/null\necho {word} >> "$HOME/ran"\n')
    path.chmod(0o755)


def test_a_permission_is_bound_to_the_program_that_was_seen(tmp_path: Path):
    """Another folder's or a changed program asks again, however the configuration names it."""
    wrong: list[str] = []
    commands = [["./fmt.sh"], ["sh", "./fmt.sh"], ["sh", "tools/fmt.sh"], ["fmt-on-path"]]
    for number, command in enumerate(commands):
        home, here, there = (tmp_path / str(number) / name for name in ("home", "here", "there"))
        home.mkdir(parents=True)
        at = Path(command[-1]) if "/" in command[-1] else Path("bin") / command[-1]
        script(here / at, "first")
        script(there / at, "other")

        def call(folder: Path, *, consent: bool = False, home: Path = home) -> int:
            environ = {"HOME": str(home), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
            with Provider(chat_calls(("fmt", "{}")), chat_text("Ok.")) as provider:
                (home / "config.toml").write_text(
                    f"{provider.config()}\n[tools.fmt]\ncommand = {json.dumps(command)}\n"  # noqa: B023
                )
                if consent:
                    with TerminalApp(home, ("ask", "hi"), environ=environ, cwd=folder) as app:
                        app.until(lambda: app.shows(PROMPT))
                        app.type("t\r")
                        return app.wait()
                return run_program(
                    *("--data-dir", home, "--config-dir", home, "ask", "hi"),
                    cwd=folder,
                    env={**os.environ, **environ},
                    start_new_session=True,
                ).returncode

        codes = [call(here, consent=True), call(here), call(there), call(here)]
        script(here / at, "changed")
        codes.append(call(here))
        ran = (home / "ran").read_text().split()
        if codes != [0, 0, 8, 0, 8] or ran != ["first"] * 3:
            wrong.append(f"{command}: codes {codes}, ran {ran}")
    assert not wrong, wrong


def test_a_tool_gets_few_variables_and_those_of_its_table(tmp_path: Path):
    names = ("MYKEY", "PROXVAR", "MCPKEY", "DOCSTOK", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY")
    planted = {name: f"http://u:planted-{name}@127.0.0.1:9" for name in names}
    planted |= {"LOCTOK": "planted-loctok-9871", "LC_ALL": "C.UTF-8"}
    with Provider(chat_calls(("fmt", "{}")), chat_text("Ok.")) as provider:
        (tmp_path / "config.toml").write_text(
            provider.config()
            + 'key = "env:MYKEY"\n[endpoints.other]\nprotocol = "ollama"\nbase_url = "http://127.0.0.1:9"\n'
            + 'proxy = "env:PROXVAR"\n[tools.fmt]\nconsent = "always"\n'
            + 'command = ["sh", "-c", "env; echo $TOKEN | rev"]\n'
            + 'env = { TOKEN = "${LOCTOK}", MODE = "fast", D = "${UNSET:-plain}" }\n'
        )
        with TerminalApp(tmp_path, ("ask", "hi"), environ=planted) as app:
            assert app.wait() == 0, app.text()
        [result] = results(provider)
        given = dict(line.split("=", 1) for line in result.splitlines() if "=" in line)
        assert not set(names) & set(given)
        assert "planted-M" not in result
        assert {"PATH", "HOME", "LC_ALL"} <= set(given)
        assert (given["MODE"], given["D"], given["TOKEN"]) == ("fast", "plain", "[key]")
        assert "1789-kotcol-detnalp" in result, "the program itself has the value"
        config = (tmp_path / "config.toml").read_text().replace("${LOCTOK}", "${MYKEY}")
        (tmp_path / "config.toml").write_text(config)
        with TerminalApp(tmp_path, ("ask", "hi"), environ=planted) as app:
            assert app.wait() == 0, app.text()
    assert not any("planted" in body for body in map(json.dumps, provider.bodies))


# --- calls without ids of their own ------------------------------------------------------


def test_each_call_of_a_reply_runs_once_and_has_its_own_result(tmp_path: Path):
    wrong: list[str] = []
    for number, ids in enumerate([("", "", ""), ("x", "x", "x"), ("x", "", "x"), ()]):
        home = tmp_path / str(number)
        home.mkdir()
        calls = chat_calls(("a", '{"n": 1}'), ("a", '{"n": 2}'), ("b", '{"n": 3}'), ids=ids)
        with Provider(calls, chat_text("Ok.")) as provider:
            tools = ""
            for name in "ab":
                log = home / f"{name}.log"
                command = json.dumps(["sh", "-c", f"x=$(cat); echo \"$x\" | tee -a '{log}'"])
                tools += f'\n[tools.{name}]\nconsent = "always"\ncommand = {command}\n'
            (home / "config.toml").write_text(provider.config() + tools)
            with TerminalApp(home, ("ask", "hi")) as app:
                code = app.wait()
            ran = (sorted(runs(home, "a")), runs(home, "b"))
            told = sorted(results(provider))
        expected = (['{"n": 1}', '{"n": 2}'], ['{"n": 3}'])
        if code or ran != expected or told != ['{"n": 1}', '{"n": 2}', '{"n": 3}']:
            wrong.append(f"{ids}: code {code}, ran {ran}, the model read {told}")
    assert not wrong, wrong
