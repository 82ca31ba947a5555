"""Standard streams that are closed, for which Python has None; and Ctrl+C at a bad moment."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Run
from tui_chat.cli import commands, main


def test_a_closed_output_is_told_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["tui-chat", "endpoints", "list"])
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err == "Error: the output cannot be written: it is closed\n"


def test_a_closed_input_is_an_empty_one(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    done = run("convert", "-", "--to", "gemini")
    assert (done.code, done.err.split(".")[0]) == (
        2,
        "Error: standard input: There is no request in it",
    )


def test_ctrl_c_before_a_command_runs_says_nothing(run: Run, monkeypatch: pytest.MonkeyPatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run", interrupted)
    done = run("endpoints", "list")
    assert (done.code, done.out, done.err) == (130, "", "")
