"""Textual's driver for a browser, made safe for `tui-chat serve`.

1. Pastes arrive whole, because `TerminalParser` reads the input.
2. The app ends when its server does, even if that was killed, and keeps the draft.

The server talks with the app in the packets of `textual.drivers.web_driver` and textual-serve.
"""

from __future__ import annotations

import os
import signal
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.drivers import web_driver
from textual.drivers._byte_stream import ByteStream

from tui_chat.ui.terminal.input_parser import TerminalParser

_HANDLED = (signal.SIGINT, signal.SIGTERM)


class WebDriver(web_driver.WebDriver):
    """Draws the app in a browser."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType]  Textual says App
        self._write = self._write_all
        self._is_gone = False
        """True once the server cannot be written to."""

    def start_application_mode(self) -> None:
        """Start drawing. Signals stay with the app, whose handler saves the draft."""
        before = [signal.getsignal(number) for number in _HANDLED]
        super().start_application_mode()
        self._color_page()
        app = self._app
        app.call_later(lambda: app.theme_changed_signal.subscribe(app, self._color_page))
        for number, handler in zip(_HANDLED, before, strict=True):
            with suppress(NotImplementedError):  # Windows, where Textual handles none
                self._loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _color_page(self, _: object = None) -> None:
        """Give the page around the terminal the background of the theme."""
        color = self._app.theme_variables.get("background", "")
        if color.startswith("#"):
            self.write(f"\x1b]11;{color}\x07")

    def _write_all(self, data: bytes) -> int:
        """Write a packet; drop it if the server is gone, which `run_input_thread` notices too."""
        left = memoryview(data)
        while left and not self._is_gone:
            try:
                left = left[os.write(self.fileno, left) :]
            except OSError:
                self._is_gone = True
        return len(data)

    def run_input_thread(self) -> None:
        """Read packets and post their events until told to stop or until the server is gone."""
        parser, packets = TerminalParser(self._debug), ByteStream()
        decode = getincrementaldecoder("utf-8")("replace").decode
        for data in self._input_reader:
            for kind, payload in packets.feed(data) if data else ():
                if kind == "M":
                    self._on_meta(kind, payload)
                elif text := decode(payload):  # empty after half a character
                    for event in parser.feed(text):
                        self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
        if not self.exit_event.is_set():
            self._end(signal.SIGHUP if hasattr(signal, "SIGHUP") else signal.SIGTERM)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Do what the server wants, such as a resize."""
        if packet_type == "quit":
            self._end(signal.SIGTERM)
        else:
            super().on_meta(packet_type, payload)

    def _end(self, number: signal.Signals) -> None:
        """End the app as a signal does: the draft and what arrived of a reply are saved."""
        end = getattr(self._app, "end_by_signal", None)
        if end is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(end, number)
