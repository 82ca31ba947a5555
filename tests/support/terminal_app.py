"""The program in a terminal of its own, for tests that type, send signals and hang up.

`TerminalApp` starts `tui-chat` on a pseudo-terminal as a shell does: leader of a session, with
that terminal. It answers nothing that the program asks of a terminal, and keeps all it wrote.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.program import ROOT, Program

if sys.platform != "win32":
    import fcntl
    import pty
    import termios

MODES = re.compile(rb"\x1b\[\?([\d;]+)([hl])|\x1b\[([<>])(\d*)u|\x1b\[>4(;\d)?m")

ENTER = b"\r"
CTRL_N, CTRL_Q, CTRL_Z, ESCAPE = b"\x0e", b"\x11", b"\x1a", b"\x1b"

DEFAULT_ON = frozenset((7, 25))
"""Private modes that a terminal begins with: line wrap and the cursor."""


def modes_left(written: bytes) -> set[str]:
    """Return the modes that a program left other than it found them."""
    private: dict[int, bool] = {}
    kitty = other_keys = 0
    for match in MODES.finditer(written):
        if match[1]:
            for number in match[1].split(b";"):
                private[int(number)] = match[2] == b"h"
        elif match[3]:
            kitty += 1 if match[3] == b">" else -1
        else:
            other_keys = int((match[5] or b";0")[1:])
    left = {f"?{number}" for number, on in private.items() if on != (number in DEFAULT_ON)}
    return left | ({"kitty"} if kitty > 0 else set()) | ({"other keys"} if other_keys else set())


def own_time(pid: int) -> float:
    """Return the seconds of a clock that stands still while a program is ready and waits for a
    processor that others use. What it promises to do in some time it promises by this clock.
    """
    waited = 0
    for each in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread has ended
            waited += int(each.read_text().split()[1])
    return time.monotonic() - waited / 1e9


def restore_signals() -> None:
    """Undo what `nohup` or a background shell that started the tests ignores."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_python(
    slave: int, words: Sequence[str], env: Mapping[str, str], cwd: Path, job_of: str
) -> subprocess.Popen[bytes]:
    """Start the program in Python of its own, or a shell that starts it."""
    command = [sys.executable, "-m", "tui_chat", *words]
    if job_of:
        command = ["bash", "-c", job_of, "shell", *command]

    def take_terminal() -> None:
        restore_signals()
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    return subprocess.Popen(
        command,
        cwd=cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=env,
        preexec_fn=take_terminal,
        close_fds=True,
    )


class TerminalApp:
    """A running program and the other side of its terminal."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        size: tuple[int, int] = (100, 30),
        cwd: Path = ROOT,
        job_of: str = "",
        imports: bool = False,
    ) -> None:
        """Start it over the data in `folder`, in the folder `cwd`. `job_of` is a shell command line
        that has it as `"$@"`; empty starts it without a shell. With `imports` it takes the time
        that Python needs to import the program. Skip the test on Windows.
        """
        if sys.platform == "win32":
            pytest.skip("Windows has no pseudo-terminal of this kind")
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.written = bytearray()
        self.attributes = termios.tcgetattr(slave)
        folders = ("--data-dir", str(folder), "--config-dir", str(folder))
        words = (*folders, *arguments)
        env = {**os.environ, "TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
        env.update(environ or {})
        self.process: Program | subprocess.Popen[bytes]
        if job_of or imports:
            self.process = start_python(slave, words, env, cwd, job_of)
        else:
            self.process = Program(
                words,
                cwd=cwd,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=env,
                takes_terminal=True,
            )
        self.slave = slave

    def __enter__(self) -> TerminalApp:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()
        with contextlib.suppress(OSError):
            os.close(self.slave)

    def type(self, keys: bytes | str) -> None:
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal, as a window or a connection that goes away does."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def read(self, seconds: float = 0.0) -> bytes:
        """Read for so long; return all that was ever written."""
        until = time.monotonic() + seconds
        while self.master >= 0:
            left = max(0.0, until - time.monotonic())
            ready, _, _ = select.select([self.master], [], [], left)
            if not ready:
                break
            try:
                self.written += os.read(self.master, 1 << 16)
            except OSError:
                break
            if time.monotonic() >= until:
                break
        return bytes(self.written)

    def until(self, true: Callable[[], bool], seconds: float = 30) -> None:
        """Read until it is so."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(self.text()[-300:])
            self.read(0.02)

    def text(self, since: int = 0) -> str:
        """Return what was written since so many bytes, without escape sequences."""
        text = self.written[since:].decode(errors="replace")
        return re.sub(r"\x1b(\[[\d;?<>=$]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)", "", text)

    def shows(self, words: str, since: int = 0) -> bool:
        return words in self.text(since)

    def wait(self, seconds: float = 20) -> int:
        """Read until the program has ended; return its exit code."""
        self.until(lambda: self.process.poll() is not None, seconds)
        self.read(0.05)
        return self.process.wait()


def is_stopped(pid: int) -> bool:
    """True if a process is stopped, as Ctrl+Z does it."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "T"


__all__ = ["CTRL_N", "CTRL_Q", "CTRL_Z", "ENTER", "ESCAPE", "ROOT", "TerminalApp", "is_stopped",
           "modes_left", "own_time", "signal"]  # fmt: skip
