"""The command line, called as a program would be, in this process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tui_chat.cli import main


@dataclass(frozen=True)
class Done:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["tui-chat", *map(str, words)])
        if not isinstance(sys.stdin, io.TextIOWrapper):  # pytest's, which refuses to be read
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call
