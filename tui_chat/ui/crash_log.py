"""The file with the traceback of the error that ended the app last."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from traceback import format_exc

from textual.app import App

from tui_chat.errors import InputError, TuiChatError
from tui_chat.models.sanitize import sanitize
from tui_chat.ui.notifications import show_error

CRASH_LOG = "crash.log"
"""Its name in the data directory."""


class CrashLog:
    """Writes tracebacks, without the values of variables: among those are what was typed and what
    providers sent.
    """

    def __init__(self, app: App[None], folder: Path) -> None:
        self._app = app
        self._file = folder / CRASH_LOG

    def write(self) -> str:
        """Write the traceback of the current exception; return a sentence that says where it is."""
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self._file, "w", encoding="utf-8", opener=_open_privately) as log:
                log.write(sanitize(format_exc()))
        except OSError:
            return "The details could not be written to the data directory."
        return f"The details are in {sanitize(str(self._file))}; please report it."

    @contextmanager
    def report_errors(self, sentence: str) -> Generator[None]:
        """Show an exception of any kind in a notification instead of ending the app; `sentence`
        says what failed. For code that depends on a session's content: if one session cannot be
        shown, the others must stay usable.
        """
        try:
            yield
        except TuiChatError as error:
            show_error(self._app, error)
        except Exception:
            show_error(self._app, InputError(sentence, advice=self.write()))


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)
