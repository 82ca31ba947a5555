"""`tui-chat` as a process of its own, forked from one that has imported it already.

Python takes up to half a second to import the program, and the suite starts it hundreds of times.
A fork (`tests.support.program_forks`) has its own arguments, environment, folder, streams, session
and end, as a started program has. Tests of the start itself, of what it imports and of how Python
opens its streams start Python.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any

ROOT = Path(__file__).parents[2]
PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT


class Program:
    """A running program, with the attributes and methods of `subprocess.Popen` that tests use. Its
    streams are bytes.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        umask: int = -1,
        start_new_session: bool = False,
        takes_terminal: bool = False,
    ) -> None:
        """Start `tui-chat` with these arguments. With `takes_terminal` it leads a session whose
        terminal is its standard input, as a shell starts it.
        """
        self.args = ["tui-chat", *map(str, arguments)]
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        files = self._open_streams(stdin, stdout, stderr)
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {
            "argv": self.args,
            "environ": dict(os.environ if env is None else env),
            "cwd": os.fspath(cwd or os.getcwd()),
            "umask": umask,
            "session": start_new_session or takes_terminal,
            "terminal": takes_terminal,
        }
        with other:
            descriptors = [*files, other.fileno()]
            socket.send_fds(_forks(), [json.dumps(request).encode()], descriptors)
        for descriptor in self._ours:
            os.close(descriptor)
        self.pid = int(self._connection.recv(100))

    def _open_streams(self, *wanted: int | None) -> list[int]:
        """Return the descriptors of the program's three streams; open our ends of pipes."""
        files: list[int] = []
        self._ours: list[int] = []
        for number, each in enumerate(wanted):
            if each == PIPE:
                read, write = os.pipe()
                theirs, ours = (read, write) if number == 0 else (write, read)
                stream = os.fdopen(ours, *(("wb",) if number == 0 else ("rb", 0)))
                setattr(self, ("stdin", "stdout", "stderr")[number], stream)
                self._ours.append(theirs)
            elif each == DEVNULL:
                theirs = os.open(os.devnull, os.O_RDWR)
                self._ours.append(theirs)
            elif each == STDOUT:
                theirs = files[1]
            else:
                theirs = number if each is None else each
            files.append(theirs)
        return files

    def poll(self) -> int | None:
        """Return the exit code, the negative number of the signal that ended it, or None while it
        runs.
        """
        return self.returncode if self._has_ended(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code. Raises `subprocess.TimeoutExpired`."""
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def _has_ended(self, timeout: float | None) -> bool:
        if self.returncode is None and select.select([self._connection], [], [], timeout)[0]:
            said = self._connection.recv(100)
            self._connection.close()
            self.returncode = int(said) if said else -signal.SIGKILL
        return self.returncode is not None

    def communicate(
        self, input: bytes | None = None, timeout: float | None = None
    ) -> tuple[bytes, bytes]:
        """Write `input`, read until the end, wait; return both outputs, empty where there is no
        pipe. Raises `subprocess.TimeoutExpired`, and may be called again after it.
        """
        if not hasattr(self, "_readers"):
            self._outputs: dict[str, bytes] = {}
            self._readers = [
                threading.Thread(target=self._read, args=(name,), daemon=True)
                for name in ("stdout", "stderr")
                if getattr(self, name) is not None
            ]
            if self.stdin is not None:
                write = threading.Thread(target=self._write, args=(input or b"",), daemon=True)
                self._readers.append(write)
            for each in self._readers:
                each.start()
        for each in self._readers:
            each.join(timeout)
            if each.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(timeout)
        return self._outputs.get("stdout", b""), self._outputs.get("stderr", b"")

    def _read(self, name: str) -> None:
        with getattr(self, name) as stream:
            self._outputs[name] = stream.read()

    def _write(self, data: bytes) -> None:
        assert self.stdin is not None
        try:
            self.stdin.write(data)
            self.stdin.close()
        except BrokenPipeError:
            pass  # it read no more

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM, unless it has ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def run_program(
    *arguments: object,
    input: str | bytes | None = None,
    text: bool = True,
    check: bool = False,
    timeout: float = 100,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run `tui-chat` to its end, as `subprocess.run` with `capture_output` does; `options` are
    those of `Program`. Standard input is empty unless there is an `input`.
    """
    options = {"stdout": PIPE, "stderr": PIPE} | options
    if input is not None:
        options["stdin"] = PIPE
    options.setdefault("stdin", DEVNULL)
    program = Program(arguments, **options)
    try:
        data = input.encode() if isinstance(input, str) else input
        outputs: Sequence[Any] = program.communicate(data, timeout)
    finally:
        program.kill()
    if text:
        outputs = [each.decode().replace("\r\n", "\n") for each in outputs]
    done = subprocess.CompletedProcess[Any](program.args, program.wait(), *outputs)
    if check:
        done.check_returncode()
    return done


@cache
def _forks() -> socket.socket:
    """Start the process that forks; return the socket on which it takes requests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # More than one of its messages, which have the environment, must fit.
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.program_forks", str(theirs.fileno())],
        cwd=ROOT,
        env={**os.environ, "TEXTUAL_ANIMATIONS": "none"},
        stdin=DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()

    def stop() -> None:
        ours.close()
        server.wait()

    atexit.register(stop)
    return ours
