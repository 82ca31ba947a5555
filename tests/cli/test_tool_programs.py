"""What a tool of `tui-chat ask` gets and answers, in a process of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.program import run_program
from tests.support.server import Provider, chat_calls, chat_text

pytestmark = pytest.mark.slow


def ask_program(home: Path, **environ: str) -> int:
    """Ask for what calls a tool; return the exit code."""
    folders = ("--data-dir", home, "--config-dir", home)
    return run_program(*folders, "ask", "hi", env={**os.environ, **environ}).returncode


def runs(home: Path, name: str = "fmt") -> list[str]:
    """Return what the tool got, run by run."""
    log = home / f"{name}.log"
    return log.read_text().splitlines() if log.exists() else []


def results(provider: Provider) -> list[str]:
    """Return the results of calls that the model received last."""
    messages = provider.bodies[-1]["messages"]
    return [each["content"] for each in messages if each["role"] == "tool"]


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
        assert ask_program(tmp_path, **planted) == 0
        [result] = results(provider)
        given = dict(line.split("=", 1) for line in result.splitlines() if "=" in line)
        assert not set(names) & set(given)
        assert "planted-M" not in result
        assert {"PATH", "HOME", "LC_ALL"} <= set(given)
        assert (given["MODE"], given["D"], given["TOKEN"]) == ("fast", "plain", "[key]")
        assert "1789-kotcol-detnalp" in result, "the program itself has the value"
        config = (tmp_path / "config.toml").read_text().replace("${LOCTOK}", "${MYKEY}")
        (tmp_path / "config.toml").write_text(config)
        assert ask_program(tmp_path, **planted) == 0
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
            code = ask_program(home)
            ran = (sorted(runs(home, "a")), runs(home, "b"))
            told = sorted(results(provider))
        expected = (['{"n": 1}', '{"n": 2}'], ['{"n": 3}'])
        if code or ran != expected or told != ['{"n": 1}', '{"n": 2}', '{"n": 3}']:
            wrong.append(f"{ids}: code {code}, ran {ran}, the model read {told}")
    assert not wrong, wrong
