"""Completion of the command line, answered for every shell and tried in real ones."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.tables import each_row
from tests.support.terminal_app import TerminalApp
from tui_chat.cli.completion import SHELLS, VARIABLE

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Return a function that completes the last of some words in a shell."""

    def call(*words: str, shell: str = "bash") -> list[str]:
        folders = ("--config-dir", str(tmp_path), "--data-dir", str(tmp_path))
        line = ["tui-chat", *folders, *words]
        monkeypatch.setenv(VARIABLE, f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", "\n".join(line))
        monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        done = run()
        monkeypatch.delenv(VARIABLE)
        assert (done.code, done.err) == (0, "")
        return [line for line in done.out.splitlines() if line]

    return call


def test_commands_and_options(complete: Complete):
    assert "plain,build" in complete("bui")
    assert "plain,--preset" in complete("ask", "--pre")
    assert complete("completion", "f") == ["plain,fish"]


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
def test_a_real_shell_completes(shell: str, tmp_path: Path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    start, source = STARTS[shell]
    program = Path(sys.executable).parent
    environ = {"PATH": f"{program}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    environ |= {"PS1": "ready> ", "TERM": "xterm"}
    folders = f"--config-dir {tmp_path} --data-dir {tmp_path}"
    with TerminalApp(tmp_path, environ=environ, job_of=start, size=(200, 40)) as app:
        app.type(f"{source}; echo do''ne\r")
        app.until(lambda: app.shows("done"))
        app.type(f"tui-chat {folders} ask --prof\t")
        app.until(lambda: app.shows("--profile"))
        app.type("\x03")
