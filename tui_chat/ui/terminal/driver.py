"""Textual's driver for Unix terminals: our keyboard, a terminal that may go away, and signals.

1. Pastes arrive whole, since our keyboard reads them.
2. A terminal that has gone takes no output and no exception comes of it: the app is told, saves
   and ends. One that takes no output any more cannot keep an app from ending, either.
3. Stop and continue are handled by the event loop. In a signal handler they would write to a
   queue that the interrupted code may have locked.
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
from queue import Full
from threading import Thread
from typing import Any, cast

from textual._parser import ParseError
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from tui_chat.ui.terminal.keyboard import Keyboard

READ = 65_536
"""Bytes to read at most at once."""
TICK = 0.1
"""Seconds between looks at what waits for a key to be complete."""

OTHER_KEYS = "\x1b[>4;1m"
"""Asks xterm, and tmux with `extended-keys on`, to tell Shift+Enter from Enter."""
NO_OTHER_KEYS = "\x1b[>4m"
NO_PIXELS = "\x1b[?1016l"
"""Ends mouse reports in pixels, which Textual begins and does not end."""

RESET = (
    "\x18"  # ends whatever sequence was being written
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    f"{NO_PIXELS}{NO_OTHER_KEYS}\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)
"""Ends every mode of the terminal that is used here."""

ENDING_SECONDS = 2.0
"""How long an app that ends waits for a terminal that takes no output."""


class TerminalFile:
    """A terminal as a file to write to. Once it has gone, what is written goes nowhere."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._waiting: list[str] = []
        self.is_gone = False

    def write(self, text: str) -> None:
        """Take a text; it is written with the next `flush`."""
        self._waiting.append(text)

    def flush(self) -> None:
        """Write what was taken, waiting for as long as the terminal does."""
        text, self._waiting = "".join(self._waiting), []
        data = memoryview(text.encode(self._encoding, "replace"))
        while data and not self.is_gone:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another program made it so; it is shared
                select.select((), (self._descriptor,), (), TICK)
            except OSError:
                self.is_gone = True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor


class OurDriver(LinuxDriver):
    """Takes the terminal over and gives it back, whatever becomes of either."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]  Textual says App
        # Not the error stream, as Textual does: somebody may have sent that into a file.
        self._terminal = TerminalFile(1, getattr(sys.__stdout__, "encoding", None) or "utf-8")
        self._file = cast("Any", self._terminal)
        self._is_on = False
        """True while the terminal is ours."""
        self._gives_up: float | None = None
        """When output that the terminal does not take is dropped; None to wait for ever."""

    # Taking over and giving back

    def start_application_mode(self) -> None:
        """Take the terminal over, unless the app is in the background."""
        before = self._writer_thread
        super().start_application_mode()
        self._is_on = self._writer_thread is not before
        if self._is_on:
            self.write(OTHER_KEYS)

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        if self._is_on:
            self.write(NO_OTHER_KEYS + NO_PIXELS)
        super().stop_application_mode()
        self._is_on = False

    def write(self, data: str) -> None:
        """Have a text written, in its turn. Nothing is written while the terminal is not ours."""
        writer = self._writer_thread
        while writer is not None and writer.is_alive() and not self._terminal.is_gone:
            try:
                writer._queue.put(data, timeout=TICK)  # pyright: ignore[reportPrivateUsage]
            except Full:
                if self._gives_up is not None and time.monotonic() > self._gives_up:
                    self._terminal.is_gone = True
            else:
                return

    def close(self) -> None:
        """Wait until all is written, but not for ever where the app is to end."""
        writer = self._writer_thread
        if writer is None:
            return
        if self._gives_up is None and not self._terminal.is_gone:
            super().close()
            return
        with suppress(Full):
            writer._queue.put(None, timeout=ENDING_SECONDS)  # pyright: ignore[reportPrivateUsage]
            writer.join(ENDING_SECONDS)

    def hurry(self) -> None:
        """Wait for the terminal for a moment only, from now on: the app is to end."""
        self._gives_up = time.monotonic() + ENDING_SECONDS

    def restore_at_once(self) -> None:
        """Give the terminal back without the writer's help, from any thread, within half a
        second: the program ends at once.
        """
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

    # Stopping and going on

    def _sigtstp_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop_process)

    def _sigcont_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._go_on)

    def _stop_process(self) -> None:
        """Give the terminal back and stop, with all programs of this job, until told to go on."""
        if self._auto_restart and self._is_on:
            self.suspend_application_mode()
            self._must_signal_resume = True
        # The system's own way to stop: a program without a shell that could bring it back, such
        # as a terminal's only one, is not stopped by it.
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        time.sleep(0.05)  # it may be another thread that is interrupted
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        signal.signal(signal.SIGCONT, self._sigcont_application)
        self._go_on()

    def _go_on(self) -> None:
        """Take the terminal over again, after a stop that was announced or was not."""
        if not self._auto_restart or not (self._is_on or self._must_signal_resume):
            return
        if self._is_on:  # whoever had it meanwhile may have changed it
            self.suspend_application_mode()
            self._must_signal_resume = True
        self.resume_application_mode()

    # Reading

    def run_input_thread(self) -> None:
        """Read until told to end, and pass on what was read as events."""
        keyboard = Keyboard(self._debug)
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
                        self._tell_gone()
                        break
                    if text := decode(read):  # half a character is none yet
                        for event in keyboard.feed(text):
                            self.process_message(event)
                for event in keyboard.tick():
                    self.process_message(event)
                if ending:
                    break
        try:
            for event in keyboard.feed(""):
                self.process_message(event)
        except (EOFError, ParseError):
            pass

    def _tell_gone(self) -> None:
        """Tell the app that the terminal has gone."""
        if not self.exit_event.is_set():
            with suppress(RuntimeError):  # the loop has ended
                end = getattr(self._app, "end_by_signal", None)
                if end is not None:
                    self._loop.call_soon_threadsafe(end, signal.SIGHUP)
