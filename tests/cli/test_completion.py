"""Completion of the command line, answered for every shell and tried in real ones."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tests.support.tables import each_row
from tests.support.terminal_app import TerminalApp
from tui_chat.cli.completion import SHELLS, VARIABLE

Complete = Callable[..., list[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder, name, text in [
        ("presets", "mine", "[]"),
        ("profiles", "kim", '{"name": "Kim"}'),
        ("roles", "r", '{"name": "Poet at large", "model": "echo"}'),
    ]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.json").write_text(text)
    return tmp_path


@pytest.fixture
def complete(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Return a function that completes the last of some words in a shell."""

    def call(*words: str, shell: str = "bash") -> list[str]:
        folders = ("--config-dir", str(home), "--data-dir", str(home))
        line = ["tui-chat", *folders, *words]
        monkeypatch.setenv(VARIABLE, f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", "\n".join(line))
        monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        done = run()
        monkeypatch.delenv(VARIABLE)
        assert (done.code, done.err) == (0, "")
        return [line for line in done.out.splitlines() if line]

    return call


@pytest.fixture
def filled(home: Path, run: Run) -> Run:
    """Return a function that runs a command in a home with sessions."""

    def call(*words: object) -> Done:
        return run("--config-dir", home, "--data-dir", home, *words)

    for text in ("About foxes", "Of \x1b[31mred\x07"):
        assert call("ask", text, "--model", "echo").code == 0
    return call


def test_commands_options_and_names(complete: Complete):
    assert "plain,build" in complete("bui")
    assert "plain,--preset" in complete("ask", "--pre")
    assert complete("ask", "--preset", "mi") == ["plain,mine"]
    assert complete("ask", "--profile", "k") == ["plain,kim"]
    assert complete("ask", "--endpoint", "anth") == ["plain,anthropic"]
    [found, *_] = complete("ask", "--model", "claude-haiku")
    assert found.startswith("plain,claude-haiku-")
    assert complete("ask", "--endpoint", "google", "--model", "cl") == []
    assert "plain,temperature=" in complete("ask", "--set", "temp")
    assert "plain,effort=high" in complete("ask", "--set", "effort=")
    assert complete("build", "--preset", "mi") == ["file,mi", "plain,mine"]
    assert complete("completion", "f") == ["plain,fish"]


def test_sessions_and_roles_of_the_database(complete: Complete, filled: Run):
    kind, name, title = complete("ask", "-s", "fox", shell="zsh")
    assert (kind, len(name), title) == ("plain", 32, "About foxes")
    assert [each.partition(",")[2] for each in complete("ask", "--role", "Po")] == ["Poet at large"]
    for shell in SHELLS:
        said = "\n".join(complete("export", "", shell=shell))
        assert "\x1b" not in said
        assert "\x07" not in said
    assert "␛[31mred␇" in "\n".join(complete("export", "", shell="zsh"))


def test_a_home_without_a_database_or_with_a_broken_config_gives_no_names(complete: Complete, home):
    assert complete("ask", "-s", "") == []
    assert not (home / "chat.db").exists()
    (home / "config.toml").write_text("[[")
    assert complete("ask", "--model", "") == []
    (home / "chat.db").write_bytes(b"no database")
    assert complete("ask", "-s", "") == []


@each_row("shell", SHELLS)
def test_the_script_of_a_shell_is_printed(shell: str, run: Run):
    done = run("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert VARIABLE in done.out
    assert "%" not in done.out
    assert run("completion", "tcsh").code == 2


STARTS = {
    "bash": ("exec bash --norc -i", 'eval "$(tui-chat completion bash)"'),
    "zsh": (
        "exec zsh -f -i",
        'autoload -U compinit; compinit -D; eval "$(tui-chat completion zsh)"',
    ),
    "fish": ("exec fish --no-config -i", "tui-chat completion fish | source"),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a pty")
@each_row("shell", sorted(STARTS))
def test_a_real_shell_completes(shell: str, home: Path, filled: Run):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    start, source = STARTS[shell]
    program = Path(sys.executable).parent
    environ = {"PATH": f"{program}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
    environ |= {"PS1": "ready> ", "TERM": "xterm"}
    folders = f"--config-dir {home} --data-dir {home}"
    with TerminalApp(home, environ=environ, job_of=start, size=(200, 40)) as app:
        app.type(f"{source}; echo do''ne\r")
        app.until(lambda: app.shows("done"))
        app.type(f"tui-chat {folders} ask --preset mi\t")
        app.until(lambda: app.shows("mine"))
        app.type("--prof\t")
        app.until(lambda: app.shows("--profile"))
        app.type("k\t")
        app.until(lambda: app.shows("kim"))
        app.type("\x15")  # unlike Ctrl+C it loses nothing of what is typed next
        app.type(f"tui-chat {folders} export 0\t\t\t")  # the beginning that the ids share
        app.until(lambda: re.search(r"export 0[0-9a-f]{6}", app.text()))
        app.type("\x03")
