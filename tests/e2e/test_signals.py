"""Signals to the program in a terminal: what it saves, how it leaves the terminal, and its code."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.program import PIPE, Program
from tests.support.tables import each_row
from tests.support.terminal_app import (
    CTRL_Q,
    CTRL_Z,
    ENTER,
    TerminalApp,
    is_stopped,
    modes_left,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a pty and /proc")

LOREM = ("--endpoint", "loopback", "--model", "lorem:40:4000")
DRAFT = "Ω"
"""One key, so that all of it is shown or nothing, and a letter that no reply has."""


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "chat.db")) as connection:
        return connection.execute(sql).fetchall()


def drafts(folder: Path) -> set[object]:
    sql = "SELECT draft FROM sessions UNION SELECT value FROM settings WHERE key = 'draft'"
    return {text for (text,) in rows(folder, sql)}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[TerminalApp]:
    with TerminalApp(tmp_path, LOREM) as app:
        app.until(lambda: app.shows("Type a message") and database(tmp_path))
        app.read(0.5)
        yield app


def database(folder: Path) -> bool:
    path = folder / "chat.db"
    return path.exists() and path.stat().st_size > 0


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_keys_typed_before_the_first_frame_are_not_lost(tmp_path: Path, seconds: float) -> None:
    with TerminalApp(tmp_path, LOREM, imports=True) as app:
        app.type("typed-early")
        app.until(lambda: app.shows("typed-early") and database(tmp_path))
        app.read(seconds)
        app.type(CTRL_Q)
        assert app.wait() == 0
    assert drafts(tmp_path) == {"typed-early"}


def begin_reply(app: TerminalApp, folder: Path) -> None:
    """Send a message, wait until its reply is flushed, and type a draft until it is shown."""
    app.type(b"question")
    app.read(0.2)
    app.type(ENTER)
    app.until(lambda: bool(rows(folder, "SELECT 1 FROM reply_changes LIMIT 1")))
    shown = len(app.written)
    app.type(DRAFT.encode())
    app.until(lambda: app.shows(DRAFT, shown))


ENDED = [("user", "complete"), ("assistant", "stopped")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_program_as_quitting_does(
    app: TerminalApp, tmp_path: Path, number: int
) -> None:
    begin_reply(app, tmp_path)
    assert modes_left(app.read())
    app.signal(number)
    assert app.wait() == 128 + number
    assert rows(tmp_path, "SELECT message_role, status FROM messages ORDER BY seq") == ENDED
    assert drafts(tmp_path) - {""} == {DRAFT}
    assert modes_left(app.read()) == set()
    assert termios.tcgetattr(app.slave) == app.attributes
    assert not app.shows("Traceback")


def test_a_closed_terminal_loses_nothing(app: TerminalApp, tmp_path: Path) -> None:
    begin_reply(app, tmp_path)
    os.close(app.slave)
    app.slave = -1
    app.hang_up()
    assert app.process.wait(20) == 128 + signal.SIGHUP
    assert rows(tmp_path, "SELECT message_role, status FROM messages ORDER BY seq") == ENDED
    assert drafts(tmp_path) - {""} == {DRAFT}


def test_a_terminal_closed_without_a_signal_loses_nothing(tmp_path: Path) -> None:
    """`nohup` has SIGHUP ignored, and a pty of another session does not send one."""
    with TerminalApp(tmp_path, LOREM, job_of="trap '' HUP; \"$@\"; exit $?") as app:
        app.until(lambda: app.shows("Type a message") and database(tmp_path))
        app.read(0.5)
        begin_reply(app, tmp_path)
        os.close(app.slave)
        app.slave = -1
        app.hang_up()
        assert app.process.wait(20) == 128 + signal.SIGHUP
    assert rows(tmp_path, "SELECT message_role, status FROM messages ORDER BY seq") == ENDED
    assert drafts(tmp_path) - {""} == {DRAFT}


def test_a_blocked_terminal_does_not_prevent_exit(app: TerminalApp, tmp_path: Path) -> None:
    begin_reply(app, tmp_path)
    time.sleep(3)  # nobody reads what it writes
    app.signal(signal.SIGTERM)
    assert app.process.wait(30) == 128 + signal.SIGTERM


def test_the_second_signal_ends_at_once_and_restores_the_terminal(
    app: TerminalApp, tmp_path: Path
) -> None:
    begin_reply(app, tmp_path)
    with closing(sqlite3.connect(tmp_path / "chat.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that saving takes five seconds
        app.signal(signal.SIGTERM)
        app.read(0.5)
        assert app.process.poll() is None
        app.signal(signal.SIGTERM)
        assert app.process.wait(3) == 128 + signal.SIGTERM
    assert modes_left(app.read()) == set()
    assert termios.tcgetattr(app.slave) == app.attributes


def test_ctrl_z_stops_the_job_and_fg_resumes_it(tmp_path: Path) -> None:
    """A shell with job control is told that its job stopped, also with a program in between."""
    job = (
        'set -m; sh -c \'"$@"; exit $?\' between "$@"; echo "[left with $?]"; fg; echo "[code $?]"'
    )
    with TerminalApp(tmp_path, LOREM, job_of=job) as app:
        app.until(lambda: app.shows("Type a message") and database(tmp_path))
        app.read(0.5)
        begin_reply(app, tmp_path)
        app.type(CTRL_Z)
        app.until(lambda: app.shows("[left with 148]"))  # 128 and SIGTSTP
        at = app.written.index(b"[left with")
        assert modes_left(bytes(app.written[:at])) == set()
        app.until(lambda: app.written.count(b"\x1b[?1049h") == 2)
        app.until(lambda: b"question" in app.written[app.written.rindex(b"\x1b[?1049h") :])
        app.type(b" goes on")
        app.until(lambda: f"{DRAFT} goes on" in drafts(tmp_path))
        app.type(CTRL_Q)
        app.read(0.5)
        app.type(b"y")
        app.until(lambda: app.shows("[code 0]"))
        assert modes_left(app.read()) == set()


def test_ctrl_z_without_a_shell_does_not_stop_the_program(app: TerminalApp, tmp_path: Path) -> None:
    app.type(CTRL_Z)
    app.until(lambda: app.written.count(b"\x1b[?1049h") == 2)
    app.type(b"still here")
    app.until(lambda: "still here" in drafts(tmp_path))


def test_the_screen_is_redrawn_after_sigstop_and_sigcont(app: TerminalApp, tmp_path: Path) -> None:
    app.type(b"precious")
    app.until(lambda: "precious" in drafts(tmp_path))
    app.signal(signal.SIGSTOP)
    app.until(lambda: is_stopped(app.process.pid))
    app.read(0.1)
    at = len(app.written)
    app.signal(signal.SIGCONT)
    app.until(lambda: b"precious" in app.written[at:])
    app.type(b" words")  # one thread reads the keys, and not two
    app.until(lambda: "precious words" in drafts(tmp_path))
    app.signal(signal.SIGTERM)
    assert app.wait() == 128 + signal.SIGTERM
    assert modes_left(app.read()) == set()


@pytest.mark.parametrize("command", [(), ("inspect", "x.json")])
def test_a_dumb_terminal_is_refused_with_a_sentence(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "x.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    words = [str(tmp_path / word) if "." in word else word for word in command]
    with TerminalApp(tmp_path, words, environ={"TERM": "dumb"}) as app:
        assert app.wait() == 2
        assert app.shows("TERM=dumb")
        assert app.shows("Error: The screen needs a terminal")
        assert b"\x1b[" not in app.written


def test_a_signal_ends_an_open_editor_too(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho editing $$\nexec sleep 1000\n")
    editor.chmod(0o755)
    with TerminalApp(tmp_path, LOREM, environ={"EDITOR": str(editor), "VISUAL": ""}) as app:
        app.until(lambda: app.shows("Type a message") and database(tmp_path))
        app.read(0.5)
        app.type(DRAFT.encode())
        app.read(0.3)
        app.type(b"\x07")  # Ctrl+G
        app.until(lambda: app.shows("editing "))
        app.read(0.2)
        pid = int(app.text().rpartition("editing ")[2].split()[0])
        app.signal(signal.SIGTERM)
        assert app.wait() == 128 + signal.SIGTERM
        assert modes_left(app.read()) == set()
    assert not Path(f"/proc/{pid}").exists()
    assert drafts(tmp_path) - {""} == {DRAFT}


def test_redirected_stderr_stays_empty(tmp_path: Path) -> None:
    log = tmp_path / "errors"
    with TerminalApp(tmp_path, LOREM, job_of=f"exec \"$@\" 2>'{log}'") as app:
        app.until(lambda: app.shows("Type a message"))
        app.type(CTRL_Q)
        assert app.wait() == 0
    assert log.read_bytes() == b""


@each_row("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_ends_on_a_signal_without_a_traceback(tmp_path: Path, number: int) -> None:
    command = ("--data-dir", tmp_path, "read", "-", "--protocol", "anthropic")
    with Program(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        process.stdin.write(b"{")
        process.stdin.flush()
        while struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))[0]:
            assert process.poll() is None
            time.sleep(0.02)  # until it has read that, and waits for more
        process.send_signal(number)
        assert process.wait(20) == 128 + number
        assert process.stderr.read().strip() == b""
