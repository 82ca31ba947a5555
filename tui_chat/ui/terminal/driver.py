"""Textual's driver for Unix terminals, reading with our keyboard."""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder

from textual._parser import ParseError
from textual.drivers.linux_driver import LinuxDriver

from tui_chat.ui.terminal.keyboard import Keyboard

READ = 65_536
"""Bytes to read at most at once."""
TICK = 0.1
"""Seconds between looks at what waits for a key to be complete."""

OTHER_KEYS = "\x1b[>4;1m"
"""Asks xterm, and tmux with `extended-keys on`, to tell Shift+Enter from Enter."""
NO_OTHER_KEYS = "\x1b[>4m"


class OurDriver(LinuxDriver):
    """Reads the terminal in a thread, as Textual's does, but pastes arrive whole."""

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        super().start_application_mode()
        if self._writer_thread is not None:  # None where we were put into the background
            self.write(OTHER_KEYS)

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        if self._writer_thread is not None:
            self.write(NO_OTHER_KEYS)
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read until told to end, and pass on what was read as events."""
        keyboard = Keyboard(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while True:
                ending = self.exit_event.is_set()
                if selector.select(TICK):
                    read = os.read(self.fileno, READ)
                    if not read:
                        break  # the terminal has gone
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
