"""Standard streams that are closed: Python has None for them."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Run
from tui_chat.cli import main


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
