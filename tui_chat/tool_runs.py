"""Running a tool: a local command, kept away from the terminal and within bounds.

1. The command is started without a shell, in a session of its own: no terminal, no keys. What
   it prints is captured as text and never reaches the screen as it is.
2. The model's arguments come on its standard input, as a JSON object and nothing else. They are
   never put into the command line.
3. Variables that hold the keys of endpoints are not in its environment.
4. It ends with all that it started: after its time, or when the run is given up. What has left
   its session is not ended with it, but nobody waits for its output.
5. Whatever happens is told in the text that answers the call, so that the model can go on.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tui_chat.models.tool import Tool

_CHUNK = 65_536
_AFTERWARDS = 0.5
"""Seconds that output is still taken after the command has ended. What it wrote is in the pipe by
then; a process that has left its session may hold the pipe open for ever."""
_LOOK_AGAIN = 0.05
"""Seconds between two looks at a command that may have exited."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """How a run ended."""

    text: str
    """What answers the call."""
    ok: bool
    """Whether the command did what it was asked."""


async def run(
    tool: Tool,
    arguments: str,
    *,
    environ: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
) -> ToolRun:
    """Run a tool with the arguments that the model wrote.

    `hidden` names variables of `environ` (the program's own where None) that the command is not
    to see. Raises nothing: what went wrong is the run's text. Cancel the task to give it up.
    """
    fault = _fault(arguments)
    if fault:
        return ToolRun(f"The call was not made: {fault}", ok=False)
    there = os.environ if environ is None else environ
    try:
        process = await asyncio.create_subprocess_exec(
            *tool.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={name: value for name, value in there.items() if name not in hidden},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return ToolRun(f"The tool could not be started: {reason}.", ok=False)
    output = _Output(tool.most_output)
    reading = asyncio.ensure_future(_talk(process, arguments or "{}", output))
    ended = ""
    try:
        async with asyncio.timeout(tool.timeout):
            await _exit_of(process)
    except TimeoutError:
        ended = f"The tool was ended after {tool.timeout:g} seconds."
    except asyncio.CancelledError:
        reading.cancel()
        raise
    finally:
        _kill(process)  # and what it left running in the background
    await asyncio.wait((reading,), timeout=_AFTERWARDS)
    if not reading.done():
        reading.cancel()
        _let_go(process)
        ended = ended or _HELD
    elif error := reading.exception():
        raise error
    status = await process.wait()
    if status and ended in ("", _HELD):
        ended = f"The tool failed with status {status}."
    return ToolRun(_told(bytes(output.taken), output.is_cut, ended), ok=ended in ("", _HELD))


_HELD = (
    "The tool has ended, but a process that it started keeps its output open; what that process "
    "writes from now on is not read."
)


class _Output:
    """What a command has printed so far, of which at most `most` bytes are taken."""

    def __init__(self, most: int) -> None:
        self.taken = bytearray()
        self.is_cut = False
        self._most = most

    def add(self, chunk: bytes) -> None:
        """Take as much of a chunk as there is room for."""
        room = self._most - len(self.taken)
        self.taken += chunk[:room]
        self.is_cut = self.is_cut or len(chunk) > room


def _fault(arguments: str) -> str:
    """Return why the arguments cannot be handed over; empty where they can."""
    if not arguments.strip():
        return ""  # a tool without parameters
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not JSON ({error})."
    return "" if isinstance(found, dict) else "its arguments are not a JSON object."


async def _talk(process: asyncio.subprocess.Process, arguments: str, output: _Output) -> None:
    """Give the process its input, and take its output until that ends."""
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    with suppress(ConnectionError):  # it need not read what it is given
        stdin.write(arguments.encode("utf-8", "replace"))
        await stdin.drain()
    stdin.close()
    while chunk := await stdout.read(_CHUNK):
        output.add(chunk)


async def _exit_of(process: asyncio.subprocess.Process) -> None:
    """Wait until the command itself has exited. `Process.wait` waits until its pipes are closed as
    well, which a process that it started may put off.
    """
    waiting = asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None and not waiting.done():
            await asyncio.wait((waiting,), timeout=_LOOK_AGAIN)
    finally:
        waiting.cancel()


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Close our ends of the process's pipes, which others may hold open."""
    transport = getattr(process, "_transport", None)  # asyncio has no public way to it
    if transport is not None:
        transport.close()


def _told(output: bytes, cut: bool, ended: str) -> str:
    said = output.decode("utf-8", "replace").rstrip("\n")
    words = [said, "The rest of the output was cut off." if cut else "", ended]
    return "\n".join(word for word in words if word)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
