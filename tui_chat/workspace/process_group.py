"""A program in a session and a process group of its own.

It is reaped after its group was killed: until then its id, which is the group's, belongs to no
other process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Protocol

if sys.platform == "win32":  # whose event loop needs pipes of its own kind
    from asyncio.windows_utils import Popen as _Popen
else:
    _Popen = subprocess.Popen[bytes]

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_REAP_SECONDS = 1.0
"""Seconds to wait for the end of a program that was killed. It takes less than a millisecond."""


class _Closable(Protocol):
    def close(self) -> None:
        """Close it."""


class ProcessGroup:
    """A program that was started with pipes, and what it starts itself."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: str | None = None,
        stderr: int = subprocess.STDOUT,
    ) -> None:
        """Start it. Raises OSError, ValueError."""
        self._process = _Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        self._pipes = dict[IO[bytes], _Closable]()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                self._pipes[pipe] = pipe

    @property
    def pid(self) -> int:
        """The id of the program and of its group."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status of the program, minus the signal that killed it; None while it runs."""
        if self._process.returncode is not None or not hasattr(os, "waitid"):
            return self._process.poll()  # Windows; macOS before Python 3.13
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            ended = os.waitid(os.P_PID, self.pid, options)
        except ChildProcessError:
            return self._process.poll()
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    async def output(self) -> asyncio.StreamReader:
        """Return the reader of its standard output."""
        return await self._reader(self._process.stdout)

    async def errors(self) -> asyncio.StreamReader:
        """Return the reader of its standard error, if it was started with one of its own."""
        return await self._reader(self._process.stderr)

    async def _reader(self, pipe: IO[bytes] | None) -> asyncio.StreamReader:
        assert pipe is not None
        reader = asyncio.StreamReader()
        self._pipes[pipe], _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        return reader

    async def input(self) -> asyncio.StreamWriter:
        """Return the writer of its standard input."""
        loop, pipe = asyncio.get_running_loop(), self._process.stdin
        assert pipe is not None
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
        )
        self._pipes[pipe] = transport
        return asyncio.StreamWriter(transport, protocol, None, loop)

    def send(self, kind: signal.Signals, *, is_held: bool) -> None:
        """Send a signal to the program and its group. Where it was reaped, this needs `is_held`:
        that a process of it still holds its output.
        """
        with suppress(ProcessLookupError, PermissionError):
            if not hasattr(os, "killpg"):
                self._process.send_signal(kind)
            elif self._process.returncode is None or is_held:
                os.killpg(self.pid, kind)

    def close(self) -> None:
        """Reap the program, which was killed, and close its pipes."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_SECONDS)
        self.close_pipes()

    def close_pipes(self) -> None:
        """Close our ends of its pipes, whose other ends may stay open."""
        for pipe in self._pipes.values():
            with suppress(OSError):
                pipe.close()
