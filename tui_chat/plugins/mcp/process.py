"""A server as a child process: its lines, its death and its end.

1. It is started without a shell, in its own process group, with an environment of its own.
2. A line of more than `MESSAGE_SIZE` ends the server. The last lines of standard error are kept.
3. A death is noticed even if a child of the process keeps the pipes open.
4. It is ended by closing its input; two seconds later by SIGTERM to its group, two more by SIGKILL.
   What it leaves behind without a pipe is killed with its end. An app that quits does not wait: a
   small process does that for it. If the app itself is killed, the system closes the input.

The package `mcp` starts processes too, but reads lines of any length, inherits variables of its own
choice, and waits up to six seconds when it ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from tui_chat.errors import ProviderError, ReplyCut, TooLarge, Unreachable
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.workspace.tool_runner import KILL, ProcessGroup

MESSAGE_SIZE = 16_000_000
"""Maximum bytes of a line."""
PATIENCE = 2.0
"""Seconds that a server has to end by itself, and again after SIGTERM."""
STDERR_LINES = 200
_STDERR_LENGTH = 1_000
"""Characters of a line of standard error that are kept."""
_CHUNK = 65_536
_POLL_SECONDS = 0.05
_CHECK_SECONDS = 0.5
"""Seconds between two checks if a process has died whose pipes a child of it keeps open."""

# Runs after us: waits until the group has ended, and ends it by force as `close` does.
_REAPER = """
for kind in TERM KILL; do
  i=0
  while [ $i -lt 20 ]; do kill -s 0 -- "-$1" 2>/dev/null || exit 0; sleep 0.1; i=$((i+1)); done
  kill -s $kind -- "-$1" 2>/dev/null
done
"""


class ServerProcess:
    """The process of a server, and its pipes."""

    def __init__(self, name: str, process: ProcessGroup, masks: KeyMasks) -> None:
        self._name = name
        self._process = process
        self._masks = masks
        """Hide the keys of its environment where it repeats them."""
        self._end: ProviderError | None = None
        self.stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._is_read = False
        """True once its output has ended, or is no longer read."""
        self._reading: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, settings: ServerSettings, environment: Mapping[str, str], masks: KeyMasks
    ) -> ServerProcess:
        """Start the program of expanded settings. Raises Unreachable. If it is cancelled, the
        program may have started, and is killed.
        """
        try:
            process = ProcessGroup(
                (settings.command, *settings.args),
                environment,
                folder=settings.cwd or None,
                stderr=subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Unreachable(
                f"The MCP server “{settings.name}” could not be started: {reason}.",
                advice=f"Check `command` in [mcp.{settings.name}]. Nothing is installed for you.",
                sent=False,
            ) from None
        started = cls(settings.name, process, masks)
        try:
            started._stdin = await process.input()
            started._stdout = await process.output()
            started._reading = asyncio.ensure_future(started._read_errors(await process.errors()))
        except asyncio.CancelledError:
            process.send(KILL, is_held=False)
            process.close()
            raise
        return started

    _stdin: asyncio.StreamWriter
    _stdout: asyncio.StreamReader

    @property
    def fault(self) -> ProviderError | None:
        """Why no more can be sent to it; None while it runs."""
        if self._end is None and self._process.status is not None:
            self._end = self._death()
        return self._end

    async def write(self, line: bytes) -> None:
        """Write a line to its input. What cannot be written is ignored: reading notices why."""
        with suppress(ConnectionError, RuntimeError):
            if not self._stdin.is_closing():
                self._stdin.write(line)
                await self._stdin.drain()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of its output, without the keys that it hides, until it has ended."""
        line = bytearray()
        try:
            while chunk := await self._read():
                *ended, rest = chunk.split(b"\n")
                for part in ended:
                    line += part
                    yield self._masks.mask_bytes(bytes(line))
                    line.clear()
                line += rest
                if len(line) > MESSAGE_SIZE:
                    sentence = f"The MCP server “{self._name}” sent a line of more than 16 MB, and "
                    self._end = TooLarge(sentence + "was ended.")
                    break
                await asyncio.sleep(0)  # a flood must not stop the screen
        finally:
            self._is_read = True
        for _ in range(round(_CHECK_SECONDS / _POLL_SECONDS)):
            if self.fault is None:  # known soon after its pipes have closed
                await asyncio.sleep(_POLL_SECONDS)
        self._end = self.fault or self._death()
        self._ending = asyncio.ensure_future(self._end_group())

    async def _read(self) -> bytes:
        """Return a piece of its output; none at its end, or soon after its death."""
        was_dead = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    return await self._stdout.read(_CHUNK)
            if was_dead:
                return b""
            was_dead = self._process.status is not None

    async def _read_errors(self, stderr: asyncio.StreamReader) -> None:
        line = bytearray()
        while chunk := await stderr.read(_CHUNK):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                self._note(line + part[:_STDERR_LENGTH])
                line.clear()
            line += rest[: _STDERR_LENGTH - len(line)]
            await asyncio.sleep(0)
        self._note(line)

    def _note(self, line: bytearray) -> None:
        if text := line.decode("utf-8", "replace").rstrip()[:_STDERR_LENGTH]:
            self.stderr.append(self._masks.mask_text(text))

    def _death(self) -> ReplyCut:
        status = self._process.status
        how = "closed its output" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            with suppress(ValueError):
                how = f"was killed by {signal.Signals(-status).name}"
        last = f" Its last words: {one_line(self.stderr[-1], 200)}" if self.stderr else ""
        return ReplyCut(f"The MCP server “{self._name}” {how}.{last}")

    # The end

    async def close(self) -> None:
        """Close its input, and wait until the server has ended, by force in the end."""
        self._stop_using()
        await self._end_group()

    def leave(self) -> None:
        """Close its input, and leave the rest to a process that does not wait for us."""
        self._stop_using()
        self._close_input()
        if self._ending is not None:
            self._ending.cancel()
        if self._has_ended:
            self._kill_rest()
            return
        if hasattr(os, "killpg") and (self._process.status is None or self._is_held):
            with suppress(OSError):
                subprocess.Popen(  # noqa: S603  of our own words and a number
                    ("/bin/sh", "-c", _REAPER, "sh", str(self._process.pid)),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
        self._stop_reading()
        self._process.close_pipes()

    def _stop_using(self) -> None:
        if self._end is None:
            self._end = ReplyCut(f"The MCP server “{self._name}” was stopped.")

    def _close_input(self) -> None:
        with suppress(OSError, RuntimeError):
            self._stdin.close()

    async def _end_group(self) -> None:
        """End the process and all of its group."""
        self._close_input()
        for kind in (None, signal.SIGTERM):
            if kind is not None:
                self._process.send(kind, is_held=self._is_held)
            for _ in range(round(PATIENCE / _POLL_SECONDS)):
                if self._has_ended:
                    break
                await asyncio.sleep(_POLL_SECONDS)
            else:
                continue
            break
        self._kill_rest()

    def _kill_rest(self) -> None:
        """Kill what is left of the group, and reap the process."""
        self._process.send(KILL, is_held=self._is_held)
        self._stop_reading()
        self._process.close()

    def _stop_reading(self) -> None:
        self._is_read = True
        if self._reading is not None:
            self._reading.cancel()

    @property
    def _is_held(self) -> bool:
        """True while a process of the group holds the output or the errors."""
        return not self._is_read or (self._reading is not None and not self._reading.done())

    @property
    def _has_ended(self) -> bool:
        """True if the process has ended, and no other one of its group holds its output."""
        return self._process.status is not None and not self._is_held
