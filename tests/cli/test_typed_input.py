"""What is typed on a terminal for a command that reads the standard input, and its arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.tables import each_row
from tests.support.terminal_app import TerminalApp

READERS = [
    ("ask", "-", "--model", "echo"),
    ("build", "-"),
    ("build", "--history", "-"),
    ("build", "--preset", "-"),
    ("convert", "-", "--to", "gemini"),
]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a pty and /proc")


@on_linux
@each_row("words", READERS)
def test_one_ctrl_d_ends_the_input(words: tuple[str, ...], tmp_path: Path):
    with TerminalApp(tmp_path, words) as app:
        app.type("[]\r\x04")
        assert app.wait() in (0, 2)


@on_linux
@each_row("words", READERS)
def test_one_ctrl_c_ends_the_command(words: tuple[str, ...], tmp_path: Path):
    with TerminalApp(tmp_path, words) as app:
        call = Path(f"/proc/{app.process.pid}/syscall")
        app.until(lambda: call.read_text().startswith("0 0x0 "))  # reads the standard input
        app.type("\x03")
        assert app.wait() == 130


@each_row(
    ("words", "advice"),
    [
        (("hello",), "`tui-chat ask TEXT` sends a message."),
        (("Why is the sky blue?",), "`tui-chat ask TEXT` sends a message."),
        (("help",), "`tui-chat --help`"),
    ],
)
def test_what_is_no_command_has_advice(words: tuple[str, ...], advice: str, run: Run):
    done = run(*words)
    assert done.code == 2
    assert advice in done.err


def test_the_version_has_a_short_option(run: Run):
    assert run("-V").out == run("--version").out
