"""Running a tool: a local command, kept away from the terminal and within bounds.

1. The command is started without a shell, in a session of its own: no terminal, no keys. What
   it prints is captured as text and never reaches the screen as it is.
2. The model's arguments come on its standard input, as a JSON object and nothing else. They are
   never put into the command line.
3. Variables that hold the keys of endpoints are not in its environment.
4. It ends with all that it started: after its time, or when the run is given up.
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

from tui_chat.model.tool import Tool

_CHUNK = 65_536


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
    reading = asyncio.ensure_future(_spoken(process, arguments or "{}", tool.most_output))
    ended = ""
    try:
        async with asyncio.timeout(tool.timeout):
            await process.wait()
    except TimeoutError:
        ended = f"The tool was ended after {tool.timeout:g} seconds."
    except asyncio.CancelledError:
        reading.cancel()
        raise
    finally:
        _kill(process)  # and what it left running in the background
    output, cut = await reading
    status = await process.wait()
    if not ended and status:
        ended = f"The tool failed with status {status}."
    return ToolRun(_told(output, cut, ended), ok=not ended)


def _fault(arguments: str) -> str:
    """Return why the arguments cannot be handed over; empty where they can."""
    if not arguments.strip():
        return ""  # a tool without parameters
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not JSON ({error})."
    return "" if isinstance(found, dict) else "its arguments are not a JSON object."


async def _spoken(
    process: asyncio.subprocess.Process, arguments: str, most: int
) -> tuple[bytes, bool]:
    """Give the process its input and take its output; and whether there was more of it."""
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    with suppress(ConnectionError):  # it need not read what it is given
        stdin.write(arguments.encode("utf-8", "replace"))
        await stdin.drain()
    stdin.close()
    output = bytearray()
    size = 0
    while chunk := await stdout.read(_CHUNK):
        size += len(chunk)
        output += chunk[: max(most - len(output), 0)]
    return bytes(output), size > most


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
