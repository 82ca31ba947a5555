"""Runs the command of a tool in a process group of its own, without a terminal and within limits.

1. The command is started without a shell, in its own session: it has no terminal. Its output is
   captured as text and never reaches the screen directly.
2. The model's arguments are its standard input, a JSON object. They are never part of the command
   line.
3. It gets few variables of our environment, and those of `env`. What it writes of a variable with
   a value from ours is masked: it may be a key.
4. It is killed with all its child processes after its timeout, or when the run is cancelled. A
   process that has left its session survives, but its output is not awaited.
5. It is reaped after its group was killed: until then its id, which is the group's, belongs to no
   other process.
6. Any failure is described in the text that answers the call, so that the model can continue.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import IO, Protocol

from tui_chat.errors import ConfigError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.tool import CommandTool
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.workspace.programs import expanded, inherited, secret_values

if sys.platform == "win32":  # whose event loop needs pipes of its own kind
    from asyncio.windows_utils import Popen as _Popen
else:
    _Popen = subprocess.Popen[bytes]

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_REAP_SECONDS = 1.0
"""Seconds to wait for the end of a program that was killed. It takes less than a millisecond."""
_CHUNK = 65_536
_DRAIN_SECONDS = 0.5
"""Seconds to read output after the command has ended. Its own output is in the pipe by then; a
process that has left its session may keep the pipe open for ever."""
_FIRST_POLL_SECONDS, _POLL_SECONDS = 0.001, 0.05
"""Seconds between two checks if the command has exited, at first and at last."""


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


@dataclass(frozen=True, slots=True)
class ToolRun:
    """The result of a call."""

    text: str
    """The answer to the call."""
    ok: bool
    """True if it succeeded."""
    parts: tuple[MediaBlock, ...] = ()
    """Pictures and files of the answer."""


async def run(
    tool: CommandTool,
    arguments: str,
    *,
    environ: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
) -> ToolRun:
    """Run a tool with the model's arguments.

    `hidden` are names of variables of `environ` (None: the program's own) that hold keys, which no
    command gets. Raises nothing: a failure is in the result's text. Cancel the task to stop the
    command.
    """
    fault = argument_fault(arguments)
    if fault:
        return ToolRun(f"The tool was not called. {fault}", ok=False)
    environ = os.environ if environ is None else environ
    try:
        table = f"tools.{tool.name}"
        added = {name: expanded(value, table, environ, hidden) for name, value in tool.env}
    except ConfigError as error:
        return ToolRun(f"The tool could not be started: {error} {error.advice}", ok=False)
    try:
        process = ProcessGroup(tool.command, inherited(environ, hidden) | added)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return ToolRun(f"The tool could not be started: {reason}.", ok=False)
    output = _Output(tool.most_output)
    reading = asyncio.ensure_future(_exchange(process, arguments or "{}", output))
    ended = ""
    try:
        try:
            async with asyncio.timeout(tool.timeout):
                await _exit(process, reading)
        except TimeoutError:
            ended = f"The tool was stopped after {tool.timeout:g} seconds."
        finally:
            process.send(KILL, is_held=not reading.done())  # with its background processes
        await asyncio.wait((reading,), timeout=_DRAIN_SECONDS)
    finally:
        is_whole = reading.done() or not reading.cancel()
        process.close()
    if not is_whole:
        ended = ended or _PIPE_HELD_OPEN
    elif error := reading.exception():
        raise error
    if process.status and ended in ("", _PIPE_HELD_OPEN):
        ended = f"The tool failed with status {process.status}."
    masks = KeyMasks(secret_values(tool.env, environ))
    text = masks.mask_bytes(bytes(output.taken)).decode("utf-8", "replace").rstrip("\n")
    cut = "The rest of the output was cut off." if output.is_cut else ""
    return ToolRun("\n".join(filter(None, (text, cut, ended))), ok=ended in ("", _PIPE_HELD_OPEN))


_PIPE_HELD_OPEN = (
    "The tool has ended, but a process that it started keeps its output open; further output of "
    "that process is not read."
)


async def _exchange(process: ProcessGroup, arguments: str, output: _Output) -> None:
    """Write a command's input, and read its output to the end."""
    reader, writer = await process.output(), await process.input()
    with suppress(ConnectionError):  # it need not read its input
        writer.write(arguments.encode("utf-8", "replace"))
        await writer.drain()
    writer.close()
    while chunk := await reader.read(_CHUNK):
        output.add(chunk)


async def _exit(process: ProcessGroup, reading: asyncio.Future[None]) -> None:
    """Wait until the command itself has exited; a child may keep its pipes open for longer. It
    closes its output just before, as a rule, which ends `reading`.
    """
    pause = _FIRST_POLL_SECONDS
    while process.status is None:
        if reading.done():
            await asyncio.sleep(pause)
        else:
            await asyncio.wait((reading,), timeout=pause)
        pause = min(2 * pause, _POLL_SECONDS)


class _Output:
    """The output of a command so far, up to `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.taken = bytearray()
        self.is_cut = False
        self._limit = limit

    def add(self, chunk: bytes) -> None:
        """Add a chunk, up to the limit."""
        room = self._limit - len(self.taken)
        self.taken += chunk[:room]
        self.is_cut = self.is_cut or len(chunk) > room


def argument_fault(arguments: str) -> str:
    """Return why the arguments of a call are invalid, as a sentence; empty if they are valid."""
    if not arguments.strip():
        return ""  # a tool without parameters
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return f"The arguments are not JSON ({error})."
    return "" if isinstance(value, dict) else "The arguments are not a JSON object."
