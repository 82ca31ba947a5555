"""The terminal on which the user decides about held requests: a line for each, and keys.

1. A key acts on the oldest request; digits before it choose another one by its number.
2. While the editor has the terminal, nothing is printed on it and Ctrl+C is the editor's.
3. Text that was edited and cannot be sent is there again when the editor is opened again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tui_chat.errors import InputError
from tui_chat.files import write_private
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import short_number
from tui_chat.plugins.tap.call_output import hold_words
from tui_chat.plugins.tap.held_request import editable_text, edited_body
from tui_chat.plugins.tap.pause import HeldRequest, HoldDecision, Pauses

KEYS = (
    "s sends it on, e edits it, a answers it by hand, d drops it; S sends all and holds no more; "
    "Enter lists them. A number before the key chooses another one than the oldest."
)
_ENDING_SECONDS = 1.0
"""Seconds that the editor has to leave the terminal if the tap ends before it."""


class PauseTerminal:
    """Shows held requests, and reads the keys that decide about them."""

    def __init__(
        self, pauses: Pauses, write: Callable[[str], object], editor: Sequence[str]
    ) -> None:
        """`write` prints a line, and `editor` is the command of the user's editor."""
        self._pauses = pauses
        self._write = write
        self._editor = editor
        self._keys: asyncio.Queue[str] = asyncio.Queue()
        self._digits = ""
        self._texts: dict[tuple[int, str], str] = {}
        """Texts that could not be sent, by the number of the request and the key."""
        self._mode: list[Any] | None = None
        """The terminal's own mode; None if it is not changed."""
        self._postponed: list[Callable[[], object]] = []
        self.is_editing = False
        """True while the editor has the terminal."""

    def show(self, line: str) -> None:
        """Print a line, after the editor has left the terminal."""
        self.after_editor(partial(self._write, line))

    def after_editor(self, print_it: Callable[[], object]) -> None:
        """Call what prints something, after the editor has left the terminal."""
        if self.is_editing:
            self._postponed.append(print_it)
        else:
            print_it()

    def show_change(self, held: HeldRequest) -> None:
        """Say that a request is held, or that another than the user ended that."""
        if not held.hold.end:
            self.show(held_line(held))
            if len(self._pauses.requests) == 1:
                self.show(f"      {KEYS}")
            return
        for key in ("e", "a"):
            self._texts.pop((held.number, key), None)
        if held.hold.end in ("expired", "client disconnected"):
            self.show(f"Request {held.number}: {hold_words(held.hold)}")

    async def run(self) -> None:
        """Read keys until cancelled."""
        loop = asyncio.get_running_loop()
        with self._keyboard(loop):
            while True:
                await self._press(await self._keys.get())

    # --- keys -------------------------------------------------------------------------------

    @contextmanager
    def _keyboard(self, loop: asyncio.AbstractEventLoop) -> Generator[None]:
        """Read keys as they are pressed; where the terminal cannot do that, after Enter."""
        try:
            import termios
        except ImportError:
            threading.Thread(target=self._read_lines, args=(loop,), daemon=True).start()
            yield
            return
        descriptor = sys.stdin.fileno()
        self._mode = termios.tcgetattr(descriptor)
        self._take_keys()
        loop.add_reader(descriptor, self._read_keys, loop, descriptor)
        loop.add_signal_handler(signal.SIGCONT, self._take_keys)  # the shell has changed the mode
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGCONT)
            loop.remove_reader(descriptor)
            self._give_keys_back()

    def _take_keys(self) -> None:
        """Have the terminal pass keys on at once, without showing them."""
        if self._mode is not None and not self.is_editing:
            import tty

            tty.setcbreak(sys.stdin.fileno())

    def _give_keys_back(self) -> None:
        if self._mode is not None:
            import termios

            with suppress(termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._mode)

    def _read_keys(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        data = b"" if self.is_editing else os.read(descriptor, 1024)
        if not data and not self.is_editing:
            loop.remove_reader(descriptor)
        for key in data.decode("utf-8", "replace"):
            self._keys.put_nowait(key)

    def _read_lines(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(OSError, RuntimeError):
            for line in sys.stdin:
                for key in line.strip() or "\n":
                    loop.call_soon_threadsafe(self._keys.put_nowait, key)

    async def _press(self, key: str) -> None:
        if key.isascii() and key.isdigit():
            self._digits = (self._digits + key)[-9:]
            return
        digits, self._digits = self._digits, ""
        if key == "S":
            self._pauses.stop()
            self.show("All held requests are sent; no more are held.")
        elif key in "\r\nl":
            self._list()
        elif key in "sead":
            requests = self._pauses.requests
            number = int(digits) if digits else next(iter(requests), 0)
            held = requests.get(number)
            if held is None:
                self.show(f"No request {digits} is held." if digits else "No request is held.")
            else:
                await self._act(key, held)
        elif key.isprintable():
            self.show(KEYS)

    def _list(self) -> None:
        for held in self._pauses.requests.values():
            self.show(held_line(held))
        if not self._pauses.requests:
            self.show("No request is held.")

    async def _act(self, key: str, held: HeldRequest) -> None:
        try:
            match key:
                case "s":
                    self._decide(held, HoldDecision("sent"))
                case "d":
                    self._decide(held, HoldDecision("dropped"))
                case "e":
                    await self._edit(held)
                case _:
                    await self._answer(held)
        except InputError as error:
            self.show(" ".join(filter(None, (str(error), error.advice))))

    def _decide(self, held: HeldRequest, decision: HoldDecision) -> None:
        if not held.decide(decision):
            self.show(f"Request {held.number} is not held any more; nothing was changed.")
            return
        words = {
            "sent": "sent as it came",
            "edited": "sent as edited",
            "answered": "answered by hand",
            "dropped": "dropped",
        }
        self.show(f"Request {held.number}: {words[decision.end]}.")

    # --- the editor -------------------------------------------------------------------------

    async def _edit(self, held: HeldRequest) -> None:
        text = self._texts.get((held.number, "e")) or editable_text(held.call.body)
        edited = await self._in_editor(held, text, "request.json")
        self._texts[held.number, "e"] = edited
        try:
            body = await asyncio.to_thread(edited_body, held.call, edited)
        except InputError as error:
            sentence = f"Request {held.number} still waits. {error}"
            raise InputError(sentence, advice="e opens it again.") from error
        if body is None:
            self.show(f"Request {held.number} still waits: nothing was changed.")
        else:
            self._decide(held, HoldDecision("edited", body))

    async def _answer(self, held: HeldRequest) -> None:
        text = self._texts.get((held.number, "a"), "")
        answer = (await self._in_editor(held, text, "answer.md")).removesuffix("\n")
        self._texts[held.number, "a"] = answer
        if not answer.strip():
            self.show(f"Request {held.number} still waits: the answer was empty.")
            return
        self._decide(held, HoldDecision("answered", answer.encode()))

    async def _in_editor(self, held: HeldRequest, text: str, name: str) -> str:
        """Return a text after the user has edited it. Raises InputError if the editor fails."""
        held.extend()
        self.is_editing = True
        try:
            with tempfile.TemporaryDirectory(prefix="tui-chat-") as folder:
                path = Path(folder, name)
                write_private(text.encode("utf-8", "replace").decode(), path)
                self._give_keys_back()
                await self._run_editor(path)
                return await asyncio.to_thread(path.read_text, "utf-8", "replace")
        finally:
            self.is_editing = False
            self._take_keys()
            postponed, self._postponed = self._postponed, []
            for print_it in postponed:
                print_it()

    async def _run_editor(self, path: Path) -> None:
        name = self._editor[0]
        try:
            process = await asyncio.create_subprocess_exec(*self._editor, str(path))
        except OSError as error:
            raise InputError(
                f"{name} cannot be started: {error.strerror}.",
                advice="Set EDITOR to the command of your editor.",
            ) from error
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:  # the tap ends: the editor must leave the terminal
                with suppress(ProcessLookupError):
                    process.terminate()
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _ENDING_SECONDS)
        if code:
            raise InputError(f"{name} ended with {code}; the request still waits.")


def held_line(held: HeldRequest) -> str:
    """Return a held request as a line."""
    call, composed = held.call, held.call.composed
    budget = composed.envelope.budget if composed is not None else None
    rest = held.remaining
    end = datetime.now().astimezone() + timedelta(seconds=rest)
    patience = held.client_patience
    parts = (
        f"Held {held.number}",
        call.program.name or "unknown program",
        call.model or "unknown model",
        f"{short_number(budget.total)} tokens" if budget is not None else "",
        f"waits {held.waiting:,.0f} s" if held.waiting >= 1 else "",
        f"sent on at {end:%H:%M:%S}, in {rest:,.0f} s",
        f"its program gives up after {patience:,.0f} s" if patience is not None else "",
    )
    return one_line(" · ".join(filter(None, parts)), 300)
