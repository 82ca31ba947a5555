"""The driver of Unix terminals: what is written while another program has the terminal."""

from __future__ import annotations

from io import StringIO
from threading import Thread

from textual.app import App
from textual.drivers._writer_thread import WriterThread

from tui_chat.ui.terminal.driver import TerminalDriver


async def test_what_is_written_after_the_terminal_was_given_back_blocks_nothing() -> None:
    driver = TerminalDriver(App[None]())
    shown = StringIO()
    driver._writer_thread = WriterThread(shown)
    driver._writer_thread.start()
    driver.write("before")
    driver.close()
    writing = Thread(target=lambda: [driver.write("x") for _ in range(100)], daemon=True)
    writing.start()
    writing.join(5)
    assert not writing.is_alive()
    assert shown.getvalue() == "before"
