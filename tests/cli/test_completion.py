"""Completion of the command line, answered for every shell and tried in real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.tables import each_row
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
