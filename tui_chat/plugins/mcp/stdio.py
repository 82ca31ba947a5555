"""A server as a child process, one message a line.

1. It is started without a shell, in its own process group, with an environment of its own.
2. Lines of standard output that are no message are skipped and counted. A line of more than
   `MESSAGE_SIZE` ends the server. The last lines of standard error are kept.
3. If the process dies, all waiting calls fail at once, even if a child of it keeps the pipes open.
4. It is ended by closing its input; two seconds later by SIGTERM to its group, two more by SIGKILL.
   What it leaves behind without a pipe is killed with its end. An app that quits does not wait: a
   small process does that for it. If the app itself is killed, the system closes the input.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tui_chat.errors import ProviderError, ReplyCut, TooLarge, Unreachable
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.mcp.messages import (
    MESSAGE_SIZE,
    Answer,
    MessageId,
    cancellation,
    line_of,
    messages_in,
)
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.plugins.mcp.transport import Receiver
from tui_chat.providers.key_mask import KeyMasks
from tui_chat.workspace.process_group import KILL, ProcessGroup

PATIENCE = 2.0
"""Seconds that a server has to end by itself, and again after SIGTERM."""
STDERR_LINES = 200
_STDERR_LENGTH = 1_000
"""Characters of a line of standard error that are kept."""
_CHUNK = 65_536
_POLL_SECONDS = 0.05
_CHECK_SECONDS = 0.5
"""Seconds between two checks if a process has died whose pipes a child of it keeps open."""
_DRAIN_SECONDS = 0.5
"""Seconds to read what a process wrote before it died."""

# Runs after us: waits until the group has ended, and ends it by force as `close` does.
_REAPER = """
for kind in TERM KILL; do
  i=0
  while [ $i -lt 20 ]; do kill -s 0 -- "-$1" 2>/dev/null || exit 0; sleep 0.1; i=$((i+1)); done
  kill -s $kind -- "-$1" 2>/dev/null
done
"""


class StdioTransport:
    """The process of a server, and its pipes."""

    def __init__(
        self,
        name: str,
        process: ProcessGroup,
        pipes: tuple[asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamReader],
        receive: Receiver,
        ended: Callable[[], None],
        masks: KeyMasks,
    ) -> None:
        """`pipes` are its input, output and errors. `ended` is called when the process has died, or
        is ended for what it sent. `masks` hide the keys of its environment where it repeats them.
        """
        self._name = name
        self._process = process
        self._stdin, self._stdout, self._stderr = pipes
        self._receive = receive
        self._ended = ended
        self._masks = masks
        self._waiting: dict[MessageId, asyncio.Future[Answer]] = {}
        self._end: ProviderError | None = None
        """The reason for which no more answers come."""
        self.stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self.noise = 0
        self._reading = {
            asyncio.ensure_future(self._read_output()),
            asyncio.ensure_future(self._read_errors()),
        }
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        settings: ServerSettings,
        environment: Mapping[str, str],
        receive: Receiver,
        ended: Callable[[], None] = lambda: None,
        masks: KeyMasks | None = None,
    ) -> StdioTransport:
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
        try:
            pipes = await process.input(), await process.output(), await process.errors()
        except asyncio.CancelledError:
            process.send(KILL, is_held=False)
            process.close()
            raise
        return cls(settings.name, process, pipes, receive, ended, masks or KeyMasks())

    @property
    def fault(self) -> ProviderError | None:
        if self._end is None and self._process.status is not None:
            self._fail(self._death())
        return self._end

    async def exchange(
        self, message: dict[str, Any], headers: Sequence[tuple[str, str]] = ()
    ) -> Answer:
        del headers  # HTTP has them
        if self.fault is not None:
            raise self.fault
        number = message["id"]
        self._waiting[number] = answer = asyncio.get_running_loop().create_future()
        try:
            self._write(message)
            await self._drain()
            while not answer.done():
                await asyncio.wait((answer,), timeout=_CHECK_SECONDS)
                if self._process.status is not None and not answer.done():
                    await asyncio.wait((answer,), timeout=_DRAIN_SECONDS)
                    self._fail(self._death())
            return answer.result()
        except asyncio.CancelledError:
            if message["method"] not in ("initialize", "server/discover"):
                self._write(cancellation(number))
            raise
        finally:
            del self._waiting[number]

    async def send(self, message: dict[str, Any]) -> None:
        self._write(message)
        await self._drain()

    def _write(self, message: dict[str, Any]) -> None:
        if not self._stdin.is_closing():
            self._stdin.write(line_of(message))

    async def _drain(self) -> None:
        with suppress(ConnectionError):  # its death is noticed by reading
            await self._stdin.drain()

    async def _read_output(self) -> None:
        line = bytearray()
        while chunk := await self._stdout.read(_CHUNK):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line += part
                self._take(bytes(line))
                line.clear()
            line += rest
            if len(line) > MESSAGE_SIZE:
                size = MESSAGE_SIZE // 1_000_000
                self._fail(
                    TooLarge(
                        f"The MCP server “{self._name}” sent a line of more than {size} MB, and "
                        "was ended."
                    )
                )
                break
            await asyncio.sleep(0)  # a flood must not stop the screen
        else:
            for _ in range(round(_DRAIN_SECONDS / _POLL_SECONDS)):
                if self._process.status is None:  # known soon after its pipes have closed
                    await asyncio.sleep(_POLL_SECONDS)
            self._fail(self._death())

    def _take(self, line: bytes) -> None:
        """Pass on the messages of a line."""
        if not line.strip():
            return
        try:
            messages = tuple(messages_in(self._masks.mask_bytes(line)))
        except ValueError:
            self.noise += 1
            return
        for message in messages:
            if not isinstance(message, Answer):
                self._receive(message)
                continue
            answer = None if message.id is None else self._waiting.get(message.id)
            if answer is None or answer.done():
                self.noise += 1
            else:
                answer.set_result(message)

    async def _read_errors(self) -> None:
        line = bytearray()
        while chunk := await self._stderr.read(_CHUNK):
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

    def _fail(self, error: ProviderError) -> None:
        """Tell all waiting calls, and end what is left of the server."""
        if self._end is None:
            self._end = error
            self._ending = asyncio.ensure_future(self._end_group())
            self._ended()
        self._fail_waiting(error)

    def _fail_waiting(self, error: ProviderError) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # its call may be cancelled, and never look

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
        for task in self._reading:
            task.cancel()
        self._process.close_pipes()

    def _stop_using(self) -> None:
        if self._end is None:
            self._end = ReplyCut(f"The MCP server “{self._name}” was stopped.")
        self._fail_waiting(self._end)

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
        for task in self._reading:
            task.cancel()
        self._process.close()

    @property
    def _is_held(self) -> bool:
        """True while a process of the group holds the output."""
        return not all(task.done() for task in self._reading)

    @property
    def _has_ended(self) -> bool:
        """True if the process has ended, and no other one of its group holds its output."""
        return self._process.status is not None and not self._is_held
