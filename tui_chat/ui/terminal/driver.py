"""Textual's driver for Unix terminals, with our parser, and safe if the terminal goes away.

1. Pastes arrive whole, because `TerminalParser` reads the input.
2. Output to a closed terminal is dropped without an exception; the app is told, saves and ends.
3. Stop and continue signals are handled by the event loop. In a signal handler they would write to
   a queue that the interrupted code may have locked.

The private members of Textual's driver used here (`_writer_thread` and its queue, `_file`, the
handlers of SIGTSTP and SIGCONT, `_must_signal_resume`, `_auto_restart`) have no public equivalent.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import sys
import termios
import time
from codecs import getincrementaldecoder
from contextlib import suppress
from threading import Thread
from typing import Any, cast

from textual._parser import ParseError
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from tui_chat.ui.terminal.input_parser import TerminalParser

READ = 65_536
"""Maximum bytes of one read."""
TICK = 0.1
"""Seconds between checks for keys that are not complete yet."""

OTHER_KEYS = "\x1b[>4;1m"
"""Has xterm, and tmux with `extended-keys on`, distinguish Shift+Enter from Enter."""
NO_OTHER_KEYS = "\x1b[>4m"
NO_PIXELS = "\x1b[?1016l"
"""Ends mouse reports in pixels, which Textual starts and does not end."""

RESET = (
    "\x18"  # ends whatever sequence was being written
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    f"{NO_PIXELS}{NO_OTHER_KEYS}\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)
"""Ends every terminal mode that Textual or this driver starts."""


class TerminalFile:
    """A terminal as a file to write to. Output to a closed terminal is dropped."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting: list[str] = []
        self.is_gone = False

    def write(self, text: str) -> None:
        """Buffer a text for the next `flush`."""
        self._waiting.append(text)

    def flush(self) -> None:
        """Write the buffer, waiting as long as the terminal does."""
        text, self._waiting = "".join(self._waiting), []
        data = memoryview(text.encode(self._encoding, "replace"))
        while data and not self.is_gone:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another program made the shared terminal non-blocking
                select.select((), (self._descriptor,), (), TICK)
            except OSError:
                self.is_gone = True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor


class TerminalDriver(LinuxDriver):
    """Takes over the terminal and restores it, even if the app or the terminal fails."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]  Textual says App
        # Not the error stream, as in Textual: it may be redirected to a file.
        self._terminal = TerminalFile(1, getattr(sys.__stdout__, "encoding", None) or "utf-8")
        self._file = cast("Any", self._terminal)
        self._is_on = False
        """True while the driver controls the terminal."""

    # Taking over and giving back

    def start_application_mode(self) -> None:
        """Take over the terminal, unless the app is in the background."""
        before = self._writer_thread
        super().start_application_mode()
        self._is_on = self._writer_thread is not before
        if self._is_on:
            self.write(OTHER_KEYS)

    def stop_application_mode(self) -> None:
        """Restore the terminal."""
        if self._is_on:
            self.write(NO_OTHER_KEYS + NO_PIXELS)
        super().stop_application_mode()
        self._is_on = False

    def write(self, data: str) -> None:
        """Queue a text for the writer; dropped while the driver does not control the terminal."""
        writer = self._writer_thread
        if writer is not None and writer.is_alive():  # one that ended would let its queue fill up
            super().write(data)

    def restore_at_once(self) -> None:
        """Restore the terminal without the writer thread, from any thread, before a sudden end."""
        if not self._is_on:
            return
        writing = Thread(target=self._write_reset, daemon=True)
        writing.start()
        writing.join(0.5)
        if self.attrs_before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    def _write_reset(self) -> None:
        with suppress(OSError):
            os.write(self._terminal.fileno(), RESET.encode())

    # Stop and continue

    def _sigtstp_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop_process)

    def _sigcont_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._continue_process)

    def _stop_process(self) -> None:
        """Restore the terminal and stop, with all processes of this job, until SIGCONT."""
        if self._auto_restart and self._is_on:
            self.suspend_application_mode()
            self._must_signal_resume = True
        # The default handler does not stop a process that no shell could continue, such as the
        # only process of a terminal.
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        time.sleep(0.05)  # it may be another thread that is interrupted
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        signal.signal(signal.SIGCONT, self._sigcont_application)
        self._continue_process()

    def _continue_process(self) -> None:
        """Take over the terminal again after a stop, even one that was not announced."""
        if not self._auto_restart or not (self._is_on or self._must_signal_resume):
            return
        if self._is_on:  # another program may have changed its modes
            self.suspend_application_mode()
            self._must_signal_resume = True
        self.resume_application_mode()

    # Reading

    def run_input_thread(self) -> None:
        """Read input and post its events until told to stop."""
        parser = TerminalParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while True:
                ending = self.exit_event.is_set()
                if selector.select(TICK):
                    try:
                        read = os.read(self.fileno, READ)
                    except OSError:
                        read = b""
                    if not read:
                        self._report_closed_terminal()
                        break
                    if text := decode(read):  # empty after half a character
                        for event in parser.feed(text):
                            self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
                if ending:
                    break
        try:
            for event in parser.feed(""):
                self.process_message(event)
        except (EOFError, ParseError):
            pass

    def _report_closed_terminal(self) -> None:
        """Tell the app that the terminal was closed."""
        if not self.exit_event.is_set():
            with suppress(RuntimeError):  # the loop is closed
                end = getattr(self._app, "end_by_signal", None)
                if end is not None:
                    self._loop.call_soon_threadsafe(end, signal.SIGHUP)
